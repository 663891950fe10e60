"""Rows of many columns in the plane."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from lapmodes import KModes, LaplacianKModes
from lapmodes.plotting import layout
from lapmodes.plotting.layout import choose_rows, graph_among, kept_neighbors, lay_out, place_neighbors, principal_axes


@pytest.fixture(params=["openTSNE", "NumPy alone"])
def method(request, monkeypatch):
    """With openTSNE, and without."""
    if request.param == "openTSNE":
        pytest.importorskip("openTSNE")
    else:
        monkeypatch.setattr(layout, "find_spec", lambda name: None)
    return request.param


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:400]
    return LaplacianKModes(10, random_state=0, n_jobs=1).fit(X), X


def names(X):
    return [f"column {i}" for i in range(X.shape[1])]


def ring(n):
    """A graph in which each row has a neighbour on both sides."""
    i = np.arange(n)
    half = sp.csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return sp.csr_array(half + half.T)


def test_neighbours_stay_neighbours_far_better_than_on_principal_components(digits, method):
    model, X = digits
    near, flat = lay_out(model, X, model.cluster_centers_, names(X), np.arange(len(X)))
    assert (near.name, flat.name) == ("neighbours", "components")
    kept = [kept_neighbors(X, each.positions, 10) for each in (near, flat)]
    assert kept[0] > 0.5 and kept[0] > 1.5 * kept[1]
    assert f"{100 * kept[0]:.0f}\u202f% are also among the nearest" in near.caption
    assert ("the extra “map”" in near.caption) == (method == "NumPy alone")


def test_the_map_is_the_same_each_time_and_says_how_far_it_is(digits, method):
    model, X = digits
    rows, calls = np.arange(len(X)), []
    first = lay_out(model, X, model.cluster_centers_, names(X), rows, lambda *call: calls.append(call))[0]
    np.testing.assert_array_equal(
        first.positions, lay_out(model, X, model.cluster_centers_, names(X), rows)[0].positions
    )
    done = [call[1] for call in calls]
    assert {(call[0], call[2], call[3]) for call in calls} == {("map", layout.STEPS, "")}
    assert done == sorted(done) and done[-1] == layout.STEPS


def test_modes_are_drawn_at_the_rows_nearest_to_them(digits):
    model, X = digits
    near = lay_out(model, X, model.cluster_centers_, names(X), np.arange(len(X)))[0]
    np.testing.assert_array_equal(near.modes, near.positions[model.exemplars_])


@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_columns_are_drawn_as_they_are(told_rows, d):
    X = told_rows[:, :d]
    model = KModes(2, random_state=0, n_jobs=1).fit(X)
    (drawn,) = lay_out(model, X, model.cluster_centers_, ("a", "b")[:d], np.arange(90))
    assert drawn.name == "columns"
    np.testing.assert_array_equal(drawn.positions[:, :d], X)
    np.testing.assert_array_equal(drawn.modes[:, :d], model.cluster_centers_)


@pytest.mark.parametrize("sparse", [False, True])
def test_principal_axes_are_sklearns(told_rows, sparse):
    pca = PCA(2).fit(told_rows)
    found = principal_axes(sp.csr_array(told_rows) if sparse else told_rows)
    np.testing.assert_allclose(np.abs(found.axes.T), np.abs(pca.components_), atol=1e-10)
    np.testing.assert_allclose(found.shares, pca.explained_variance_ratio_)
    places = found.project(told_rows)
    np.testing.assert_allclose(found.lift(places), pca.inverse_transform(pca.transform(told_rows)), atol=1e-10)


def test_principal_axes_of_few_sparse_rows_with_many_columns():
    X = sp.random_array((5, 900), density=0.2, rng=np.random.default_rng(0)).tocsr()
    pca = PCA(2).fit(X.toarray())
    np.testing.assert_allclose(np.abs(principal_axes(X).axes.T), np.abs(pca.components_), atol=1e-6)


def parts():
    """Graphs that are in pieces."""
    lone = sp.block_diag([ring(40), ring(30), sp.csr_array((5, 5))], format="csr")
    pairs = sp.block_diag([ring(50), *[sp.csr_array([[0, 1.0], [1, 0]])] * 12], format="csr")
    return {
        "two and lone rows": lone,
        "many pairs": pairs,
        "no edge": sp.csr_array((60, 60)),
        "all pairs": sp.block_diag([sp.csr_array([[0, 1.0], [1, 0]])] * 20, format="csr"),
    }


@pytest.mark.parametrize("kind", parts())
def test_graphs_in_pieces_give_maps_on_which_no_row_is_lost(kind, method):
    graph = sp.csr_array(parts()[kind])
    X = np.random.default_rng(0).normal(size=(graph.shape[0], 5))
    placed, _ = place_neighbors(graph, X, np.arange(len(X)), X[:, :2])
    assert np.isfinite(placed).all()
    radius = np.hypot(*(placed - np.median(placed, axis=0)).T)
    assert radius.max() < 20 * np.median(radius)


def test_equal_rows_can_be_drawn(method):
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 4)), 30, axis=0)
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(X)
    for each in lay_out(model, X, model.cluster_centers_, names(X), np.arange(len(X))):
        assert np.isfinite(each.positions).all()


@pytest.mark.parametrize("coarse", [2, 20])
def test_links_between_drawn_rows_stay_within_components_and_find_near_rows(monkeypatch, coarse):
    monkeypatch.setattr(layout, "COARSE", coarse)
    n = 600
    graph = sp.csr_array(sp.block_diag([ring(n), ring(n)]))
    rows = np.sort(np.random.default_rng(0).choice(2 * n, 200, replace=False))
    links = graph_among(graph, rows).tocoo()
    first, second = rows[links.coords[0]], rows[links.coords[1]]
    assert ((first < n) == (second < n)).all()
    around = np.abs(first - second) % n
    assert links.nnz > 50 and np.minimum(around, n - around).max() <= 4 * (1 if coarse == 20 else 12)


def test_the_strongest_links_of_each_row_are_kept():
    graph = sp.random_array((60, 60), density=0.3, rng=np.random.default_rng(0)).tocsr()
    kept = layout.strongest(graph, 9).toarray()
    for row, left in zip(graph.toarray(), kept, strict=True):
        np.testing.assert_array_equal(np.sort(left[left > 0]), np.sort(row[row > 0])[-9:])
        assert set(np.flatnonzero(left)) <= set(np.flatnonzero(row))


def test_tiny_pieces_are_tied_to_the_nearest_row():
    X = np.arange(12.0)[:, None] ** 2
    graph = sp.csr_array(sp.block_diag([ring(10), sp.csr_array((2, 2))]))
    tied = layout.tie_small_parts(graph, X)
    assert connected_components(tied)[0] == 1
    assert tied[[10]].indices.tolist() == [9] and abs(tied - tied.T).nnz == 0


def test_a_choice_of_rows_has_some_of_each_cluster_and_is_the_same_each_time():
    labels = np.repeat([0, 1, 2], [9_000, 40, 3])
    rows = choose_rows(labels, 500, np.array([17, 8_999]))
    counts = np.bincount(labels[rows])
    assert counts[0] < 600 and counts[1] >= layout.FROM_EACH and counts[2] == 3
    assert {17, 8_999} <= set(rows.tolist()) and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, choose_rows(labels, 500, np.array([17, 8_999])))
    assert choose_rows(labels, 10_000).size == labels.size


def test_kept_neighbours_are_all_of_a_faithful_map_and_few_of_a_random_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    turned = X @ [[0.6, -0.8], [0.8, 0.6]]
    assert kept_neighbors(np.column_stack([X, np.zeros(700)]), 3 * turned, 10) == 1
    assert kept_neighbors(X, rng.normal(size=(700, 2)), 10) < 0.05
    assert kept_neighbors(np.zeros((50, 3)), rng.normal(size=(50, 2)), 10) == 1  # equal rows are all as near
