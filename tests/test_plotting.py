import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapmodes import KModes, LaplacianKModes, fit_path, select
from lapmodes.metrics import assignment_entropy
from lapmodes.plotting import (
    PALETTE,
    cluster_colors,
    plot_assignment_matrix,
    plot_assignments,
    plot_clusters,
    plot_convergence,
    plot_crowding,
    plot_density,
    plot_map,
    plot_modes,
    plot_path,
    plot_selection,
    plot_sizes,
    plot_uncertainty,
)
from lapmodes.plotting.clusters import montage
from lapmodes.plotting.plane import _densities, _grid_lines
from lapmodes.plotting.style import in_plane

ON_POINTS = [plot_clusters, plot_assignments, plot_density, plot_map, plot_uncertainty, plot_crowding]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module", name="X")
def three_blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(centre, 0.3, size=(40, 2)) for centre in ([0, 0], [3, 0], [0, 3])])


@pytest.fixture(scope="module")
def model(X):
    return LaplacianKModes(3, bandwidth=0.5, random_state=0, n_jobs=1).fit(X)


@pytest.mark.parametrize("plot", ON_POINTS)
def test_plots_return_the_given_axes(plot, model, X, ax):
    assert plot(model, X, ax=ax) is ax
    assert ax.get_aspect() == 1.0


def test_clusters_are_points_and_modes(model, X, ax):
    points, modes = plot_clusters(model, X, ax).collections
    assert_allclose(points.get_offsets(), X)
    assert_allclose(points.get_facecolors()[:, :3], cluster_colors(3)[model.labels_])
    assert_allclose(modes.get_offsets(), model.cluster_centers_)


def test_an_embedding_shows_modes_at_the_exemplars(X, ax):
    wide = np.column_stack([X, X[:, 0]])
    model = KModes(3, bandwidth=0.5, random_state=0, n_jobs=1).fit(wide)
    modes = plot_clusters(model, X, ax).collections[1]
    assert_allclose(modes.get_offsets(), X[model.exemplars_])


def test_assignments_mix_the_colours(model, X, ax):
    (points,) = plot_assignments(model, X, ax).collections
    shown = points.get_facecolors()[:, :3]
    assert_allclose(shown, model.assignments_ @ cluster_colors(3), atol=1e-12)
    pure = model.assignments_.max(axis=1) > 1 - 1e-12
    assert pure.any()
    assert_allclose(shown[pure], cluster_colors(3)[model.labels_[pure]])


@pytest.mark.parametrize(("cluster", "n_clusters_drawn"), [(1, 1), (None, 3)])
def test_density_draws_the_asked_clusters(model, X, ax, cluster, n_clusters_drawn):
    drawn = plot_density(model, X, cluster, ax, resolution=30).collections
    assert len(drawn) == 1 + 2 * n_clusters_drawn  # the points, then a fill and lines each
    with_points = len(drawn)
    bare = plot_density(model, X, cluster, Figure().subplots(), show_points=False, resolution=30).collections
    assert len(bare) == with_points - 1


def test_density_lines_surround_their_cluster(model, X, ax):
    k = int(model.labels_[0])
    lines = plot_density(model, X, k, ax, show_points=False, resolution=60).collections[1]
    assert_allclose(lines.get_edgecolors()[0, :3], cluster_colors(3)[k])
    vertices = np.concatenate([path.vertices for path in lines.get_paths()])
    assert_allclose(vertices.mean(axis=0), X[model.labels_ == k].mean(axis=0), atol=0.3)


def test_map_shows_what_new_points_get(model, X, ax):
    image = plot_map(model, X, ax, resolution=40).images[0]
    left, right, bottom, top = image.get_extent()
    rows, columns = image.get_array().shape[:2]
    assert max(rows, columns) == 40
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = bottom + (np.arange(rows) + 0.5) * (top - bottom) / rows
    new = np.column_stack([np.tile(x, rows), np.repeat(y, columns)])
    expected = (model.predict_proba(new) @ cluster_colors(3)).reshape(rows, columns, 3)
    assert_allclose(image.get_array(), expected, atol=1e-6)


def test_frames_with_column_names_are_drawn_without_a_warning(X, ax):
    frame = pd.DataFrame(X, columns=["a", "b"])
    plot_map(KModes(3, bandwidth=0.5, random_state=0, n_jobs=1).fit(frame), frame, ax, resolution=10)


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_convergence_has_objective_and_gap(X, ax, lam):
    model = LaplacianKModes(3, lam=lam, bandwidth=0.5, random_state=0, n_jobs=1).fit(X)
    assert plot_convergence(model, ax) is ax
    objective, gap = (side.lines[0].get_ydata() for side in ax.figure.axes)
    assert_allclose(objective, model.history_["objective"])
    assert_allclose(gap, model.history_["gap"])


@pytest.mark.parametrize("n_clusters", [1, 2, len(PALETTE), len(PALETTE) + 1, 30])
def test_colours_are_distinct(n_clusters):
    colors = cluster_colors(n_clusters)
    assert colors.shape == (n_clusters, 3)
    assert len(np.unique(colors, axis=0)) == n_clusters


@pytest.fixture(scope="module")
def wide():
    """Three groups in five dimensions, most of whose spread lies in two directions."""
    rng = np.random.default_rng(0)
    centres = 4 * np.array([[0, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 2, 0, 0, 1]])
    return centres[np.repeat(range(3), 40)] + 0.3 * rng.standard_normal((120, 5))


@pytest.fixture(scope="module")
def wide_model(wide):
    return LaplacianKModes(3, random_state=0, n_jobs=1).fit(wide)


@pytest.mark.parametrize("plot", ON_POINTS)
@pytest.mark.parametrize("form", [np.asarray, csr_array, pd.DataFrame])
def test_more_than_two_columns_are_projected(plot, form, wide, ax):
    """Every picture shows the places that PCA gives, and its axes say how much of the variance they show."""
    X = form(wide)
    if form is pd.DataFrame:
        X.columns = list("abcde")
    plot(LaplacianKModes(3, random_state=0, n_jobs=1).fit(X), X, ax=ax)
    pca = PCA(2).fit(wide)
    shown = next(each.get_offsets() for each in ax.collections if len(each.get_offsets()) == len(wide))
    expected = pca.transform(wide)
    assert_allclose(np.sort(np.abs(shown), axis=0), np.sort(np.abs(expected), axis=0), atol=1e-6)
    shares = [f"{share:.0%} of the variance" for share in pca.explained_variance_ratio_]
    assert [ax.get_xlabel().split(", ")[1], ax.get_ylabel().split(", ")[1]] == shares


def test_modes_are_projected_with_the_points(wide, wide_model, ax):
    points, modes = (each.get_offsets() for each in plot_clusters(wide_model, wide, ax).collections)
    nearest = np.linalg.norm(points[:, None] - modes, axis=2).argmin(axis=1)
    assert (nearest == wide_model.labels_).all()


def test_directions_are_projected_as_the_model_sees_them(wide, ax):
    model = LaplacianKModes(3, metric="cosine", random_state=0, n_jobs=1).fit(wide)
    points, modes = (each.get_offsets() for each in plot_clusters(model, 7 * wide, ax).collections)
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    assert_allclose(np.abs(points), np.abs(PCA(2).fit_transform(unit)), atol=1e-9)
    assert np.abs(modes).max() <= np.abs(points).max()


@pytest.mark.parametrize("bandwidth", [0.5, "entropic"])
def test_a_projected_density_is_the_density_of_the_projected_points(X, bandwidth, ax):
    """Points of a plane, turned into three dimensions: the picture is that of the plane."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0][:2]
    flat = PCA(2).fit_transform(X)
    space = flat @ turn
    common = {"bandwidth": bandwidth, "random_state": 0, "n_jobs": 1}
    flat_model = LaplacianKModes(3, **common).fit(flat)
    plane = in_plane(LaplacianKModes(3, **common).fit(space), space)
    x, y = _grid_lines(plane.points, 30)
    signs = np.sign((plane.points * flat).sum(axis=0))
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2) * signs
    expected = flat_model.density(places).reshape(len(y), len(x), 3)
    assert_allclose(_densities(plane, x, y), expected, rtol=1e-4, atol=1e-6 * expected.max())


def test_the_map_of_a_projection_is_the_plane_of_its_axes(wide, wide_model, ax):
    image = plot_map(wide_model, wide, ax, resolution=20).images[0]
    left, right, bottom, top = image.get_extent()
    rows, columns = image.get_array().shape[:2]
    first = [[left + (right - left) / columns / 2, bottom + (top - bottom) / rows / 2]]
    plane = in_plane(wide_model, wide)
    corner = wide_model.predict_proba(plane.principal.lift(np.array(first))) @ cluster_colors(3)
    assert_allclose(image.get_array()[0, 0], corner[0], atol=1e-6)


@pytest.mark.parametrize("plot", ON_POINTS)
def test_a_pipeline_is_drawn_as_its_last_step(plot, wide):
    scaled = StandardScaler().fit_transform(wide)
    model = LaplacianKModes(3, random_state=0, n_jobs=1)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(wide)
    ours, theirs = plot(pipeline, wide, ax=Figure().subplots()), plot(model.fit(scaled), scaled, ax=Figure().subplots())
    assert ours.get_xlabel() == theirs.get_xlabel() != ""
    for one, other in zip(ours.collections, theirs.collections, strict=True):
        assert_allclose(one.get_offsets(), other.get_offsets())


@pytest.mark.parametrize("plot", [plot_sizes, plot_modes, plot_assignment_matrix, plot_convergence])
def test_pictures_without_points_take_a_pipeline_too(plot, wide):
    frame = pd.DataFrame(wide, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), LaplacianKModes(3, random_state=0, n_jobs=1)).fit(frame)
    ax = plot(pipeline, ax=Figure().subplots())
    assert ax.has_data()
    if plot is plot_modes:
        assert [label.get_text() for label in ax.get_xticklabels()] == list("abcde")


def test_an_embedding_of_a_pipelines_points_is_drawn_as_it_is(wide, ax):
    pipeline = make_pipeline(StandardScaler(), LaplacianKModes(3, random_state=0, n_jobs=1)).fit(wide)
    points, modes = plot_clusters(pipeline, wide[:, :2], ax).collections
    assert_allclose(points.get_offsets(), wide[:, :2])
    assert_allclose(modes.get_offsets(), wide[pipeline[-1].exemplars_, :2])


def test_texts_go_through_the_steps_of_their_pipeline(ax):
    texts = [
        "goal match team",
        "match coach goal",
        "team coach goal",
        "oven flour bread",
        "bread oven sugar",
        "flour sugar",
    ]
    pipeline = make_pipeline(TfidfVectorizer(), LaplacianKModes(2, metric="cosine", random_state=0, n_jobs=1)).fit(
        texts
    )
    assert len(plot_clusters(pipeline, texts, ax).collections[0].get_offsets()) == len(texts)


@pytest.mark.parametrize("plot", [plot_density, plot_map])
def test_an_embedding_has_no_density_and_no_map(plot, wide, wide_model, ax):
    with pytest.raises(ValueError, match=r"fitted on, with 5 columns\. Got an embedding in two columns"):
        plot(wide_model, wide[:, :2], ax=ax)


@pytest.mark.parametrize(("columns", "message"), [(3, r"the 5 columns .* Got shape \(120, 3\)"), (1, "the 5 columns")])
def test_other_columns_than_those_of_the_fit_are_refused(wide, wide_model, ax, columns, message):
    with pytest.raises(ValueError, match=message):
        plot_clusters(wide_model, wide[:, :columns], ax)


def test_one_column_is_left_to_a_histogram(X, ax):
    with pytest.raises(ValueError, match="at least two columns"):
        plot_clusters(KModes(2, random_state=0, n_jobs=1).fit(X[:, :1]), X[:, :1], ax)


def test_points_that_are_all_the_same_are_drawn(ax):
    X = np.ones((30, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KModes(2, bandwidth=1.0, random_state=0, n_jobs=1).fit(X)
    assert plot_clusters(model, X, ax).get_xlabel().endswith("0% of the variance")


def test_other_points_than_those_of_the_fit_are_refused(model, X, ax):
    with pytest.raises(ValueError, match=r"must be the 120 points that the model was fitted on\. Got 7"):
        plot_clusters(model, X[:7], ax)


@pytest.mark.parametrize("cluster", [-1, 3, 1.0])
def test_unknown_cluster_is_refused(model, X, ax, cluster):
    with pytest.raises(ValueError, match="'cluster' must be None or an int from 0 to 2"):
        plot_density(model, X, cluster, ax)


def test_missing_matplotlib_names_the_extra(model, X, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'lapmodes\[plot\]'"):
        plot_clusters(model, X)


def test_uncertain_points_are_drawn_on_top(model, X, ax):
    (points,) = plot_uncertainty(model, X, ax).collections
    values = points.get_array()
    assert (np.diff(values) >= 0).all()
    assert_allclose(np.sort(assignment_entropy(model.assignments_)), values)


def test_remote_points_are_drawn_on_top(X, ax):
    far = np.vstack([X, [[30.0, 30.0]]])
    model = LaplacianKModes(3, bandwidth=0.5, random_state=0, n_jobs=1).fit(far)
    (points,) = plot_crowding(model, far, ax).collections
    assert_allclose(points.get_offsets()[-1], [30.0, 30.0])


def test_crowding_of_an_embedding_is_that_of_the_features(X, ax):
    wide = np.column_stack([X, 9 * np.arange(len(X)) % 7])
    wide[5] = 40
    model = LaplacianKModes(3, bandwidth=0.5, random_state=0, n_jobs=1).fit(wide)
    (points,) = plot_crowding(model, X, ax, features=wide).collections
    assert_allclose(points.get_offsets()[-1], X[5])
    with pytest.raises(ValueError, match="'features' must be the points"):
        plot_crowding(model, X, Figure().subplots())


def test_sizes_are_the_counts(model, ax):
    assert [bar.get_width() for bar in plot_sizes(model, ax).patches] == np.bincount(model.labels_).tolist()


def test_modes_are_lines_or_pictures(model, ax):
    lines = plot_modes(model, ax=ax, feature_names=["u", "v"]).lines
    assert_allclose([line.get_ydata() for line in lines], model.cluster_centers_)
    picture = plot_modes(model, (1, 2), Figure().subplots()).images[0].get_array()
    assert picture.size >= model.cluster_centers_.size
    with pytest.raises(ValueError, match="must have 2 pixels"):
        plot_modes(model, (3, 3), Figure().subplots())


@pytest.mark.parametrize("n", [1, 2, 7, 10])
@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 3)])
def test_montage_holds_every_picture(n, shape):
    pictures = np.random.default_rng(0).random((n, *shape))
    assert np.isin(pictures, montage(pictures)).all()


def test_assignment_matrix_is_sorted(model, ax):
    shown = plot_assignment_matrix(model, ax).images[0].get_array()
    assert_allclose(np.sort(shown.argmax(axis=0)), shown.argmax(axis=0))
    assert_allclose(shown.sum(axis=0), 1, atol=1e-6)


def test_path_shows_changes_and_objective(X, ax):
    models = list(fit_path(X, 3, bandwidth=0.5, n_steps=4, random_state=0, n_jobs=1))
    assert plot_path(iter(models), ax) is ax
    expected = [0, *((a.labels_ != b.labels_).sum() for a, b in pairwise(models))]
    assert [bar.get_height() for bar in ax.patches] == expected
    objectives = ax.figure.axes[1].lines[0].get_ydata()
    assert_allclose(objectives, [model.objective_ for model in models if np.isfinite(model.bandwidth_)])


def test_selection_shows_every_criterion_and_marks_the_chosen(X, ax):
    found = select(X, range(2, 5), random_state=0, n_jobs=1)
    assert plot_selection(found, ax) is ax
    *criteria, mark = ax.lines
    assert len(criteria) == len(found.preferred)
    assert all(line.get_xdata().tolist() == [2, 3, 4] for line in criteria)
    assert set(mark.get_xdata()) == {found.n_clusters}
