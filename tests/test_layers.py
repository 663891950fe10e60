"""Several levels at once: a tree of clusters, ids that last, and one cluster divided."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from reference import dense_laplacian, kernel
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

import lapmodes
from lapmodes import InputWarning, KModes, LaplacianKModes, _rows, fit_layers, select, sub_cluster
from lapmodes._n_clusters import TABLE, Selection
from lapmodes.graph.laplacian import build_graph
from lapmodes.layers import suggest_levels

PLACES = [(0, 0), (0, 9), (40, 0), (40, 9), (40, 18), (80, 0), (80, 9)]
GROUP = np.array([0, 0, 1, 1, 1, 2, 2])


@pytest.fixture(scope="module")
def planted():
    """Three groups of two or three heaps."""
    rng = np.random.default_rng(0)
    X = np.concatenate([0.8 * rng.normal(size=(40, 2)) + place for place in PLACES])
    return X, np.repeat(np.arange(7), 40)


@pytest.fixture(scope="module")
def heap():
    """No clusters at all, so that the borders of levels are anywhere."""
    return np.random.default_rng(1).normal(size=(300, 3))


@pytest.fixture(scope="module")
def layers(planted):
    return fit_layers(planted[0], [3, 7, 14], random_state=0)


@pytest.fixture(scope="module")
def cut(heap):
    return fit_layers(heap, [2, 4, 9], random_state=0)


def certified_gap(model, X):
    """The gap of the assignments, computed anew from what a user sees."""
    B = kernel(X, model.cluster_centers_, model.bandwidth_) + model.prior_weight * model.prior_
    G = 2 * model.lam_ * dense_laplacian(build_graph(model.graph_)) @ model.assignments_ - B
    return float((G * model.assignments_).sum() - G.min(axis=1).sum()), float(B.max(axis=1).sum())


def test_a_planted_tree_is_found(planted, layers):
    _, heaps = planted
    assert layers.n_clusters == (3, 7, 14)
    assert adjusted_rand_score(GROUP[heaps], layers.labels[:, 0]) == 1
    assert adjusted_rand_score(heaps, layers.labels[:, 1]) == 1
    for k, parent in enumerate(layers.parents[0]):
        assert set(GROUP[heaps[layers.labels[:, 1] == k]]) == set(GROUP[heaps[layers.labels[:, 0] == parent]])
    np.testing.assert_array_equal(layers.consistency, 1)


def test_every_level_is_certified(planted, layers):
    for model in layers.models:
        gap, scale = certified_gap(model, planted[0])
        assert gap <= model.gap_ + 1e-9 * scale <= 1.1e-4 * scale
        assert model.status_ == "converged"


def test_the_reference_does_not_depend_on_other_levels(heap, cut):
    assert cut.reference == cut.n_clusters[cut.agreement.argmax()]
    alone = fit_layers(heap, [cut.reference], random_state=0)
    np.testing.assert_array_equal(alone.labels[:, 0], cut[cut.reference].labels_)
    np.testing.assert_array_equal(alone.models[0].cluster_centers_, cut[cut.reference].cluster_centers_)
    assert alone.parents == () and alone.consistency.size == 0 and "parent" not in str(alone)


def test_sparse_assignments_give_the_same_levels(heap, cut):
    sparse = fit_layers(heap, [2, 4, 9], sparse_assignments=True, random_state=0)
    assert np.mean(sparse.labels == cut.labels) > 0.99
    for one, two in zip(sparse.models, cut.models, strict=True):
        assert abs(one.objective_ - two.objective_) <= one.gap_ + two.gap_ + 1e-4 * abs(two.objective_)


def test_parents_hold_most_of_the_samples(cut):
    for level, (coarser, finer) in enumerate(pairwise(cut.labels.T)):
        common = np.array(
            [[np.sum((finer == k) & (coarser == j)) for j in range(coarser.max() + 1)] for k in np.unique(finer)]
        )
        np.testing.assert_array_equal(cut.parents[level], common.argmax(axis=1))
        held = np.mean(cut.parents[level][finer] == coarser)
        assert cut.consistency[level] == pytest.approx(held)
        assert held >= 0.95
        assert set(cut.parents[level]) == set(range(coarser.max() + 1)), "each coarser cluster has a part"


def test_nested_levels_are_nested_and_certified(heap, cut):
    assert cut.consistency.min() < 1, "there is something to mend"
    found = fit_layers(heap, [2, 4, 9], nested=True, random_state=0)
    for parents, (coarser, finer) in zip(found.parents, pairwise(found.labels.T), strict=True):
        np.testing.assert_array_equal(parents[finer], coarser)
    np.testing.assert_array_equal(found.consistency, 1)
    assert found.nested and not cut.nested
    np.testing.assert_array_equal(found[found.reference].labels_, cut[cut.reference].labels_)
    for one, two in zip(found.models, cut.models, strict=True):
        assert np.mean(one.labels_ == two.labels_) > 0.9
        assert one.status_ == "converged" and np.unique(one.labels_).size == one.n_clusters_


def test_ids_are_samples_of_their_clusters_and_outlast_the_random_state(planted, layers):
    other = fit_layers(planted[0], [3, 7, 14], random_state=7)
    for level, ids in enumerate(layers.ids):
        np.testing.assert_array_equal(layers.labels[ids, level], np.arange(ids.size))
    np.testing.assert_array_equal(layers.same_ids(other)[:2], 1)
    np.testing.assert_array_equal(layers.same_ids(layers), 1)
    kept = np.isin(layers.ids[0], layers.ids[1])
    assert kept.all(), "one part of each cluster keeps its id"


def test_ids_are_of_the_densest_samples(heap, cut):
    distance = np.sort(np.linalg.norm(heap[:, None] - heap, axis=2), axis=1)[:, 1:11]
    width = np.square(distance).mean(axis=1)
    for own, ids in zip(cut.labels.T, cut.ids, strict=True):
        assert ids.tolist() == [np.flatnonzero(own == k)[width[own == k].argmin()] for k in range(ids.size)]


def test_the_table_is_the_tree_from_the_top_down(cut):
    table, levels = cut.table, list(cut.n_clusters)
    above = [-1] * len(levels)
    for row in table:
        level = levels.index(row["n_clusters"])
        assert row["parent"] == (above[level - 1] if level else -1)
        assert row["size"] == np.sum(cut.labels[:, level] == row["cluster"])
        assert row["exemplar"] == cut.models[level].exemplars_[row["cluster"]]
        above[level] = row["cluster"]
    for K in levels:
        assert table["size"][table["n_clusters"] == K].sum() == len(cut.labels)


def test_it_can_be_read(layers):
    text = str(layers)
    for row in layers.table:
        assert f"cluster {row['cluster']}, around sample {row['id']}: {row['size']} samples" in text
    assert "7 clusters of 40 to 40" in text
    assert repr(layers) == "Layers of [3, 7, 14] clusters of 280 samples"
    many = fit_layers(np.arange(200.0)[:, None] % 97, [2, 45], random_state=0)
    assert str(many).endswith("and 7 more clusters; the attribute 'table' has them all")


def test_models_share_the_graph_and_the_points(layers):
    first = layers.models[0]
    for model in layers.models[1:]:
        assert model.graph_ is first.graph_ and model.training_points_ is first.training_points_


def test_weights_zeros_and_copies(planted):
    """Samples that are left out or equal to others have labels and ids, too."""
    X, heaps = planted
    X, weight = np.concatenate([X, X[:30]]), np.ones(310)
    weight[:5] = 0
    found = fit_layers(X.astype(np.float32), [3, 7], sample_weight=weight, random_state=0)
    assert found.labels.shape == (310, 2)
    np.testing.assert_array_equal(found.labels[:30], found.labels[280:])
    assert adjusted_rand_score(heaps, found.labels[:280, 1]) == 1


def test_on_a_given_graph(planted):
    X, heaps = planted
    W = csr_array(kneighbors_graph(X, 8))
    found = fit_layers(X, [3, 7], graph=W.maximum(W.T), random_state=0)
    assert adjusted_rand_score(heaps, found.labels[:, 1]) == 1
    degree = np.asarray(found[3].graph_.sum(axis=1)).ravel()
    for k, sample in enumerate(found.ids[0]):
        assert degree[sample] == degree[found.labels[:, 0] == k].max()


def test_the_number_of_threads_does_not_matter(heap):
    one, two = (fit_layers(heap, [2, 5], n_jobs=jobs, random_state=0) for jobs in (1, 3))
    np.testing.assert_array_equal(one.labels, two.labels)


def test_auto_takes_the_numbers_that_select_finds_stable(planted):
    X, _ = planted
    found = fit_layers(X, random_state=0)
    assert list(found.n_clusters) == suggest_levels(select(X, random_state=0))
    assert {3, 7} <= set(found.n_clusters)


def test_auto_says_when_there_are_no_clear_clusters(heap):
    assert select(heap, random_state=0).verdict == "none"
    with pytest.warns(InputWarning, match="X has no clear clusters: levels of .* cut through a heap"):
        fit_layers(heap, random_state=0)


@pytest.mark.parametrize(
    ("stability", "best", "expected"),
    [
        ([0.9, 0.8, 0.7, 1.0, 0.9, 0.8, 0.9, 0.8], 5, [2, 5, 8]),
        ([0.9, 0.8, 0.95, 1.0, 0.9, 0.8, 0.7, 0.74], 5, [2, 5]),
        ([0.4, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3], 2, [2]),
    ],
)
def test_levels_are_peaks_of_the_stability_that_lie_apart(stability, best, expected):
    table = np.zeros(len(stability), dtype=TABLE)
    table["n_clusters"], table["stability"] = np.arange(2, 2 + len(stability)), stability
    assert suggest_levels(Selection(best, table, {"stability": best}, {})) == expected


@pytest.mark.parametrize("seed", range(5))
def test_no_coarser_cluster_is_without_a_part_and_as_little_as_possible_is_lost(seed):
    common = np.random.default_rng(seed).integers(0, 20, size=(5, 3)) * [[1, 1, 0.1]]
    parents = _rows.parents_of(common)
    assert set(parents) == {0, 1, 2}
    covering = [[*first] for first in np.ndindex(3, 3, 3, 3, 3) if set(first) == {0, 1, 2}]
    best = max(common[np.arange(5), each].sum() for each in covering)
    assert common[np.arange(5), parents].sum() == pytest.approx(best)


def test_votes_are_kept_within_the_coarser_cluster():
    """A row that has none left takes those of its neighbours, or the largest part."""
    votes = np.array([[0.6, 0.0, 0.4], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    W = csr_array(np.diag([1.0, 1.0, 1.0, 0.0], 1) + np.diag([1.0, 1.0, 1.0, 0.0], -1))
    kept = _rows.keep_within(votes, np.array([0, 0, 1]), np.array([0, 0, 0, 0, 1]), W).toarray()
    np.testing.assert_allclose(kept[:2], [[1, 0, 0], [2 / 7, 5 / 7, 0]])
    np.testing.assert_allclose(kept[2:4], [[2 / 7, 5 / 7, 0]] * 2)
    np.testing.assert_allclose(kept[4], [0, 0, 1])


def test_one_cluster_divided(planted):
    X, heaps = planted
    model = LaplacianKModes(3, random_state=0).fit(X)
    k = model.labels_[-1]
    before = model.assignments_.copy()
    finer = sub_cluster(model, k)
    assert finer.n_clusters_ == finer.n_clusters == 4
    others = model.labels_ != k
    np.testing.assert_array_equal(finer.labels_[others], model.labels_[others])
    assert set(finer.labels_[~others]) == {k, 3}
    assert adjusted_rand_score(heaps[~others], finer.labels_[~others]) == 1
    gap, scale = certified_gap(finer, X)
    assert gap <= finer.gap_ + 1e-9 * scale <= 1.1e-4 * scale
    np.testing.assert_array_equal(model.assignments_, before)
    assert sub_cluster(model, model.labels_[80], "auto").n_clusters_ == 5


def test_a_divided_model_is_whole(planted, tmp_path):
    X, _ = planted
    finer = sub_cluster(LaplacianKModes(3, metric="cosine", random_state=0).fit(X + 9), 1, random_state=5)
    finer.save(tmp_path / "model.npz")
    again = lapmodes.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X + 9.1), finer.predict(X + 9.1))
    np.testing.assert_array_equal(sub_cluster(again, 0).labels_, sub_cluster(finer, 0).labels_)
    np.testing.assert_allclose(finer.prior_.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["graph", "K-modes", "sparse", "known"])
def test_models_of_all_kinds_are_divided(planted, kind):
    X, heaps = planted
    given = {}
    model = KModes(3, random_state=0) if kind == "K-modes" else LaplacianKModes(3, random_state=0)
    if kind == "graph":
        W = csr_array(kneighbors_graph(X, 8))
        given["graph"] = W.maximum(W.T)
    if kind == "sparse":
        model.set_params(sparse_assignments=True)
    if kind == "known":
        given["partial_labels"] = np.where(np.arange(280) % 20 == 0, GROUP[heaps], -1)
    model.fit(X, **given)
    k = model.labels_[-1]
    finer = sub_cluster(model, k)
    inside = GROUP[heaps] == 2
    assert adjusted_rand_score(heaps[inside], finer.labels_[inside]) == 1
    np.testing.assert_array_equal(finer.labels_[~inside], model.labels_[~inside])
    assert type(finer) is type(model) and finer.status_ == "converged"


def test_a_share_is_divided_whole():
    rng = np.random.default_rng(0)
    shares, votes = rng.dirichlet(np.ones(3), 9), rng.dirichlet(np.ones(2), 9)
    for each in (shares, csr_array(shares)):
        wide = _rows.divided_column(each, np.array([1, 3]), votes).toarray()
        np.testing.assert_allclose(wide[:, [0, 2]], shares[:, [0, 2]])
        np.testing.assert_allclose(wide[:, [1, 3]], shares[:, [1]] * votes)


@pytest.mark.parametrize("given", [5, "many", [], [3, 1], [2.5, 4], [True, 3], None])
def test_levels_that_are_none(given):
    with pytest.raises(ValueError, match=r"'n_clusters' parameter of fit_layers must be 'auto' or a list of ints"):
        fit_layers(np.eye(5), given)


def test_bad_input_is_named(planted, layers):
    X, _ = planted
    for parameters, words in (
        ({"init": "k-means"}, "leave 'init' out"),
        ({"n_init": 3}, "leave 'n_init' out"),
        ({"lam": 0}, "leave 'lam' at 'auto'"),
        ({"nested": True, "sparse_assignments": True}, "nested=True .* 'sparse_assignments'"),
        ({"n_clusters": [3, 900]}, "n_samples=280 should be >= n_clusters=900"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_layers(X, **({"n_clusters": [2, 3]} | parameters))
    with pytest.raises(KeyError, match=r"no level of 5 clusters, only \[3, 7, 14\]"):
        layers[5]
    with pytest.raises(ValueError, match="same numbers of clusters"):
        layers.same_ids(fit_layers(X, [3, 7], random_state=0))
    model = layers[3]
    for arguments, words in (
        ((3,), "an int from 0 to 2"),
        ((0, 1), "'auto' or an int of at least 2"),
        ((0, 900), "too few"),
    ):
        with pytest.raises(ValueError, match=words):
            sub_cluster(model, *arguments)


def test_the_picture_has_a_bar_for_each_cluster_below_its_parent(layers):
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    assert layers.plot(ax) is ax
    bars = {(round(bar.get_y() + bar.get_height() / 2), i): bar for i, bar in enumerate(ax.patches)}
    assert [bar.get_width() for bar in bars.values()] == [
        row["size"] for K in layers.n_clusters for row in layers.table if row["n_clusters"] == K
    ]
    for level in range(1, 3):
        edges = {bar.get_x() for (at, _), bar in bars.items() if at == level - 1}
        assert edges <= {bar.get_x() for (at, _), bar in bars.items() if at == level}
    assert [each.get_text() for each in ax.get_yticklabels()] == ["3 clusters", "7 clusters", "14 clusters"]
    plt.close("all")
