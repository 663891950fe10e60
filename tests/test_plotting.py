import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

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


@pytest.mark.parametrize("plot", ON_POINTS)
def test_three_features_cannot_be_drawn(plot, ax):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = KModes(2, bandwidth=1.0, random_state=0, n_jobs=1).fit(X)
    with pytest.raises(ValueError, match=r"'X' must have shape \(n_samples, 2\)"):
        plot(model, X, ax=ax)
    assert not ax.collections


@pytest.mark.parametrize("plot", [plot_density, plot_map])
def test_an_embedding_has_no_density_and_no_map(plot, ax):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = KModes(2, bandwidth=1.0, random_state=0, n_jobs=1).fit(X)
    with pytest.raises(ValueError, match=r"model fitted on 2 features\. Got one fitted on 3"):
        plot(model, X[:, :2], ax=ax)


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
