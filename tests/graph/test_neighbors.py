from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lapmodes._progress import no_step
from lapmodes.graph import cells, neighbors
from lapmodes.graph.neighbors import NeighborIndex, TreeSearcher


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact(d, sparse, dtype):
    X = np.random.default_rng(0).normal(size=(200, d)).astype(dtype)
    found = NeighborIndex(sp.csr_array(X) if sparse else X, 2).query_self(6)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :6], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-5)


def test_a_point_is_never_its_own_neighbour_even_among_duplicates():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    found = NeighborIndex(X, 1).query_self(5)
    assert not (found.indices == np.arange(100)[:, None]).any()
    assert (found.distances == 0).all()


def test_no_more_neighbours_than_points():
    found = NeighborIndex(np.arange(4.0)[:, None], 1).query_self(10)
    assert found.indices.shape == (4, 3)


def test_query_counts_its_steps():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    done = []
    NeighborIndex(X, 2).query(X, 1, lambda n: done.append(n))
    assert sum(done) == 20_000 and len(done) > 1


@pytest.fixture
def always_cells(monkeypatch):
    """Cells even for small data."""
    monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    monkeypatch.setattr(cells, "CELL_ROWS", 50)


def clustered(n=3000, d=20, dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(12, d)) * 3)[rng.integers(12, size=n)].astype(dtype) + rng.normal(size=(n, d)).astype(
        dtype
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_find_nearly_all_and_say_how_many(always_cells, dtype):
    X = clustered(dtype=dtype)
    found = NeighborIndex(X, 2).query_self(10)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    truth = np.argsort(D, axis=1)[:, :10]
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(truth, found.indices, strict=True)])
    assert recall > 0.97
    assert abs(recall - found.recall) < 0.02
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-5)
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_cells_answer_new_points(always_cells):
    X, Q = clustered()[:2500], clustered()[2500:]
    found = NeighborIndex(X, 2).query(Q, 5)
    truth = np.argsort(cdist(Q, X), axis=1)[:, :5]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(truth, found.indices, strict=True)]) > 0.97


@pytest.mark.parametrize("exact", [True, False])
def test_neighbours_do_not_depend_on_threads(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = clustered()
    one, three = (NeighborIndex(X, threads).query_self(7) for threads in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.distances, three.distances)


@pytest.mark.parametrize("exact", [True, False])
def test_nine_tenths_of_the_points_are_duplicates(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = clustered()[np.random.default_rng(1).integers(300, size=3000)]
    found = NeighborIndex(X, 2).query_self(5)
    copies = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    many = np.bincount(copies)[copies] > 5
    assert (found.distances[many] == 0).mean() > 0.99
    assert not (found.indices == np.arange(3000)[:, None]).any()
    assert all(len(set(row)) == 5 for row in found.indices.tolist())


def test_distances_far_from_the_origin_do_not_cancel():
    X = clustered(500) + np.float32(1e4)
    found = NeighborIndex(X, 1).query_self(3)
    D = cdist(X.astype(float), X.astype(float))
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-4)


def test_high_dimensional_search_counts_its_steps(always_cells):
    done = []
    NeighborIndex(clustered(), 2).query_self(3, lambda n: done.append(n))
    assert sum(done) == 3000 and len(done) > 10


def test_the_estimator_reports_the_recall(always_cells):
    from lapmodes import LaplacianKModes

    model = LaplacianKModes(12, init="k-means", random_state=0).fit(clustered(1500))
    assert 0.9 < model.neighbor_recall_ <= 1
    assert LaplacianKModes(2, random_state=0).fit(clustered(200, d=3)).neighbor_recall_ == 1


def test_edges_of_both_ends_are_listed_once():
    near = NeighborIndex(clustered(400, d=5), 1).query_self(6)
    start, end, length = near.edges()
    pairs = set(zip(np.minimum(start, end).tolist(), np.maximum(start, end).tolist(), strict=True))
    rows = np.repeat(np.arange(400), 6)
    assert len(pairs) == start.size
    assert pairs == {(min(i, j), max(i, j)) for i, j in zip(rows.tolist(), near.indices.ravel().tolist(), strict=True)}
    X = clustered(400, d=5)
    np.testing.assert_allclose(np.linalg.norm(X[start] - X[end], axis=1), length, rtol=1e-5)


@pytest.mark.parametrize("k", [5, 100])
def test_a_row_that_fills_most_of_the_data_is_searched_quickly_and_rightly(k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X[rng.permutation(3000)[:2700]] = X[0]
    searcher = TreeSearcher(X, 1)
    found = searcher.query_self(k, no_step)
    assert searcher._tree.n < 500  # not one leaf of thousands
    assert not (found.indices == np.arange(3000)[:, None]).any()
    assert all(len(set(row)) == k for row in found.indices.tolist())
    true = np.sort(np.linalg.norm(X[:, None, :] - X[None], axis=2), axis=1)[:, 1 : k + 1]
    np.testing.assert_allclose(found.distances, true, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_one_row_fills_most_of_the_cells(always_cells, threads):
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros((4500, 20)), 1 + rng.standard_normal((500, 20))]).astype(np.float32)
    found = NeighborIndex(X, threads).query_self(5)
    assert (found.distances[:4500] == 0).all() and found.recall > 0.98
    assert not (found.indices == np.arange(5000)[:, None]).any()
    assert (found.indices == NeighborIndex(X, 2).query_self(5).indices).all()
