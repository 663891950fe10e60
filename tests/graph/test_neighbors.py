"""Exact neighbours, whatever the index, and the order of those that are equally far."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lapmodes.graph.neighbors import TreeIndex, make_index, search_neighbors


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact(d, sparse, dtype):
    X = np.random.default_rng(0).normal(size=(200, d)).astype(dtype)
    found = make_index(sp.csr_array(X) if sparse else X, 2).query_self(6)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :6], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-5)


def test_a_point_is_never_its_own_neighbour_even_among_duplicates():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    found = make_index(X, 1).query_self(5)
    assert not (found.indices == np.arange(100)[:, None]).any()
    assert (found.distances == 0).all()


def test_no_more_neighbours_than_points():
    found = make_index(np.arange(4.0)[:, None], 1).query_self(10)
    assert found.indices.shape == (4, 3)


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_rows_themselves_are_asked_for_like_any_others(d, sparse):
    X = np.random.default_rng(0).normal(size=(9, d))
    X = sp.csr_array(X) if sparse else X
    index = make_index(X, 1)
    for k in (3, 9, 20):
        found, copy = index.query(X, k), index.query(X.copy(), k)
        np.testing.assert_array_equal(found.indices, copy.indices)
        np.testing.assert_array_equal(found.indices[:, 0], np.arange(9))


def test_query_counts_its_steps():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    done = []
    make_index(X, 2).query(X, 1, lambda n: done.append(n))
    assert sum(done) == 20_000 and len(done) > 1


@pytest.mark.parametrize("k", [5, 100])
def test_a_row_that_fills_most_of_the_data_is_searched_rightly(k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X[rng.permutation(3000)[:2700]] = X[0]
    found = TreeIndex(X, 1).query_self(k)
    assert not (found.indices == np.arange(3000)[:, None]).any()
    assert all(len(set(row)) == k for row in found.indices.tolist())
    true = np.sort(np.linalg.norm(X[:, None, :] - X[None], axis=2), axis=1)[:, 1 : k + 1]
    np.testing.assert_allclose(found.distances, true, atol=1e-12)


def test_distances_far_from_the_origin_do_not_cancel():
    X = 1e4 + 3 * np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    found = make_index(X, 1).query_self(3)
    D = cdist(X.astype(float), X.astype(float))
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("d", [3, 20])
def test_new_points_and_the_rows_themselves_are_answered_alike(d, sparse):
    """A row's own neighbours are its nearest but one."""
    X = np.random.default_rng(0).normal(size=(150, d))
    index = make_index(sp.csr_array(X) if sparse else X, 1)
    found, own = index.query(sp.csr_array(X) if sparse else X.copy(), 5), index.query_self(4)
    np.testing.assert_array_equal(found.indices, np.column_stack([np.arange(150), own.indices]))
    np.testing.assert_allclose(found.distances[:, 1:], own.distances)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_equal_distances_are_in_the_order_of_the_rows_after_any_rotation(scale):
    rng = np.random.default_rng(1)
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)[rng.permutation(144)]
    angle = 0.7
    turned = scale * X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one, two = (search_neighbors(each, make_index(each, 1), 12) for each in (X, turned))
    np.testing.assert_array_equal(one.indices, two.indices)
    assert (one.indices != np.arange(144)[:, None]).all()
    np.testing.assert_allclose(two.distances, scale * one.distances)


@pytest.mark.parametrize("k", [3, 12, 142, 143, 200])
@pytest.mark.parametrize("d", [2, 15])
def test_searched_neighbours_are_the_nearest_and_equals_come_by_number(k, d):
    X = np.random.default_rng(k).integers(0, 3, size=(144, d)).astype(float)
    found = search_neighbors(X, make_index(X, 1), k)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    assert found.indices.shape == (144, min(k, 143))
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, : min(k, 143)], rtol=1e-9)
    tied = np.diff(found.distances, axis=1) == 0
    assert (np.diff(found.indices.astype(int), axis=1)[tied] > 0).all()
    assert all(len(set(row)) == len(row) for row in found.indices.tolist())
