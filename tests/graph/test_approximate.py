"""Approximate neighbours: groups list what all distances list, cells find nearly all, axes only where they show it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lapmodes.graph import approximate, neighbors
from lapmodes.graph.approximate import (
    Cells,
    CellSearch,
    Groups,
    Projection,
    Shortlists,
    every_pair,
    nearest,
    picked,
    search,
)
from lapmodes.graph.neighbors import DenseIndex


def brute(Q, X, k, own=False):
    D = cdist(Q.astype(float), X.astype(float))
    if own:
        np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 60),
    d=st.integers(1, 40),
    groups=st.integers(1, 5),
    threads=st.integers(1, 3),
    single=st.booleans(),
    shift=st.sampled_from([0.0, 1e3]),
)
def test_lists_are_those_of_all_distances(seed, n, d, groups, threads, single, shift):
    rng = np.random.default_rng(seed)
    X = (shift + rng.standard_normal((n, d))).astype(np.float32 if single else np.float64)
    rows = Groups.of(X, [part for part in np.array_split(rng.permutation(n), groups) if part.size])
    lists = Shortlists.empty(n, 3, X.dtype)
    search(rows, rows, every_pair(rows, rows), lists, threads, lambda share: None)
    np.testing.assert_allclose(np.sqrt(lists.sqdist), brute(X, X, 3, own=True), rtol=1e-4 if single else 1e-9)
    assert not (lists.index == np.arange(n)[:, None]).any()


def test_guests_and_hosts_are_offered_to_each_other():
    X = np.random.default_rng(0).standard_normal((40, 5))
    hosts = Groups.of(X, [np.arange(20)])
    guests = Groups.of(X, [np.arange(20, 40)])
    lists = Shortlists.empty(40, 4, X.dtype)
    search(guests, hosts, np.zeros((1, 2), dtype=int), lists, 1, lambda share: None)
    np.testing.assert_allclose(np.sqrt(lists.sqdist[20:]), brute(X[20:], X[:20], 4))
    np.testing.assert_allclose(np.sqrt(lists.sqdist[:20]), brute(X[:20], X[20:], 4))


@pytest.mark.parametrize("d", [3, 64, 300])
def test_other_points_may_be_the_same(d):
    X = np.random.default_rng(0).standard_normal((50, d)).astype(np.float32)
    queries, rows = Groups.consecutive(X.copy()), Groups.consecutive(X)
    assert (nearest(queries, rows, every_pair(queries, rows), 1, 2)[:, 0] == np.arange(50)).all()


def test_equals_are_listed_by_number():
    X = np.zeros((30, 4))
    rows = Groups.of(X, [np.arange(30)[::-1].copy()])
    lists = Shortlists.empty(30, 3, X.dtype)
    search(rows, rows, every_pair(rows, rows), lists, 2, lambda share: None)
    assert (lists.index[5] == [0, 1, 2]).all() and (lists.index[1] == [0, 2, 3]).all()


@pytest.mark.parametrize("further", [False, True])
def test_the_nearest_candidates_are_picked(further):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 90)).astype(np.float32)
    candidates = np.array(
        [rng.choice(np.delete(np.arange(80), i), 9, replace=False) for i in range(80)], dtype=np.int32
    )
    lists = picked(X, X, candidates, 4, 2, further=further)
    for i in range(80):
        those = set(candidates[i].tolist()) | (
            set(candidates[candidates[i]].ravel().tolist()) - {i} if further else set()
        )
        among = sorted(those, key=lambda j: np.square(X[i] - X[j]).sum())
        assert lists.index[i].tolist() == among[:4]


def test_candidates_must_exist():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="rows of X"):
        picked(X, X, np.full((3, 1), 7, dtype=np.int32), 1, 1)


@pytest.fixture
def always_cells(monkeypatch):
    """Cells even for small data."""
    monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    monkeypatch.setattr(approximate, "CELL_ROWS", 50)


def clustered(n=3000, d=20, dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(12, d)) * 3)[rng.integers(12, size=n)].astype(dtype) + rng.normal(size=(n, d)).astype(
        dtype
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_find_nearly_all_and_say_how_many(always_cells, dtype):
    X = clustered(dtype=dtype)
    found = DenseIndex(X, 2).query_self(10)
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
    found = DenseIndex(X, 2).query(Q, 5)
    truth = np.argsort(cdist(Q, X), axis=1)[:, :5]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(truth, found.indices, strict=True)]) > 0.97


@pytest.mark.parametrize("exact", [True, False])
def test_neighbours_do_not_depend_on_threads(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = clustered()
    one, three = (DenseIndex(X, threads).query_self(7) for threads in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.distances, three.distances)


@pytest.mark.parametrize("exact", [True, False])
def test_nine_tenths_of_the_points_are_duplicates(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = clustered()[np.random.default_rng(1).integers(300, size=3000)]
    found = DenseIndex(X, 2).query_self(5)
    copies = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    many = np.bincount(copies)[copies] > 5
    assert (found.distances[many] == 0).mean() > 0.99
    assert not (found.indices == np.arange(3000)[:, None]).any()
    assert all(len(set(row)) == 5 for row in found.indices.tolist())


def test_high_dimensional_search_counts_its_steps(always_cells):
    done = []
    DenseIndex(clustered(), 2).query_self(3, lambda n: done.append(n))
    assert sum(done) == 3000 and len(done) > 10


@pytest.mark.parametrize("threads", [1, 3])
def test_one_row_fills_most_of_the_cells(always_cells, threads):
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros((4500, 20)), 1 + rng.standard_normal((500, 20))]).astype(np.float32)
    found = DenseIndex(X, threads).query_self(5)
    assert (found.distances[:4500] == 0).all() and found.recall > 0.98
    assert not (found.indices == np.arange(5000)[:, None]).any()
    assert (found.indices == DenseIndex(X, 2).query_self(5).indices).all()


def test_the_estimator_reports_the_recall(always_cells):
    from lapmodes import LaplacianKModes

    model = LaplacianKModes(12, init="k-means", random_state=0).fit(clustered(1500))
    assert 0.9 < model.neighbor_recall_ <= 1
    assert LaplacianKModes(2, random_state=0).fit(clustered(200, d=3)).neighbor_recall_ == 1


@pytest.mark.parametrize("seed", [0, 1])
def test_cells_are_a_partition_into_parts_of_bounded_size(seed):
    X = clustered(3500)
    cells = Cells.of(X, seed)
    assert np.array_equal(np.sort(cells.rows.order), np.arange(3500))
    sizes = np.diff(cells.rows.starts)
    assert sizes.min() > 0 and sizes.max() <= 2 * approximate.CELL_ROWS
    centers = [X[rows].mean(axis=0) for rows in np.split(cells.rows.order, cells.rows.starts[1:-1])]
    np.testing.assert_allclose(cells.centers, centers, rtol=1e-4, atol=1e-4)


def test_shuffled_rows_have_the_same_neighbours(always_cells):
    """The search sorts rows for the cache; nobody sees it."""
    X = clustered()
    order = np.random.default_rng(1).permutation(len(X))
    plain, mixed = (DenseIndex(rows, 1).query_self(5) for rows in (X, np.ascontiguousarray(X[order])))
    same = plain.distances[order] == mixed.distances
    assert same.mean() > 0.95
    np.testing.assert_array_equal(plain.indices[order][same], order[mixed.indices][same])


def low_rank(n=4000, d=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) + 0.01 * rng.standard_normal((n, d))
    return X.astype(np.float32)


def test_axes_are_taken_where_they_show_who_is_near():
    assert Projection.worthwhile(low_rank(), 1, 0) is not None
    assert Projection.worthwhile(np.random.default_rng(0).standard_normal((4000, 200)), 1, 0) is None
    assert Projection.worthwhile(low_rank(d=100), 1, 0) is None


@pytest.mark.parametrize("new", [False, True])
def test_neighbours_are_measured_in_all_dimensions(monkeypatch, new):
    monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = low_rank()
    Q = X[:300] + np.float32(0.01)
    found = DenseIndex(X, 2).query(Q, 6) if new else DenseIndex(X, 2).query_self(6)
    rows = Q if new else X
    D = cdist(rows, X)
    if not new:
        np.fill_diagonal(D, np.inf)
    truth = np.argsort(D, axis=1)[:, :6]
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(truth, found.indices, strict=True)])
    assert recall > 0.97 and abs(recall - found.recall) < 0.02
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-4)


def test_the_search_is_along_the_axes():
    search = CellSearch(low_rank(), 1)
    assert search._compared.shape[1] == 64 and search._X.shape[1] == 200
