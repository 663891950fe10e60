from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from lapmodes import _native


def int32(values):
    return np.ascontiguousarray(values, dtype=np.int32)


def neighbor_lists(rng, n, k):
    return int32([rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)])


def random_edges(rng, n, count):
    return int32(rng.integers(0, n, count)), int32(rng.integers(0, n, count))


def spanning_tree(start, end, n):
    kept, labels = np.empty(start.size, dtype=bool), np.empty(n, dtype=np.int32)
    _native.spanning_forest(start, end, kept, labels)
    return kept, labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stable_order(dtype):
    values = np.random.default_rng(0).normal(size=2000).round(1).astype(dtype)
    values[:3] = -np.inf, np.inf, -0.0
    order = np.empty(values.size, dtype=np.int32)
    _native.stable_order(values, order)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


def test_each_edge_is_listed_first_once():
    index = neighbor_lists(np.random.default_rng(0), 40, 6)
    first = np.empty(index.shape, dtype=bool)
    _native.first_listed_edges(index, first)
    pairs = [frozenset((i, int(j))) for i, row in enumerate(index) for j in row]
    chosen = [pair for pair, is_first in zip(pairs, first.ravel(), strict=True) if is_first]
    assert len(chosen) == len(set(chosen))
    assert set(chosen) == set(pairs)


def test_shared_neighbors():
    rng = np.random.default_rng(0)
    neighbors = np.sort(neighbor_lists(rng, 30, 7), axis=1)
    graph = sp.random_array((30, 30), density=0.3, rng=rng, format="csr")
    counts = np.empty(graph.nnz)
    _native.shared_neighbors(neighbors, graph.indptr.astype(np.int64), int32(graph.indices), counts)
    row, column = sp.coo_array(graph).coords
    expected = [len(set(neighbors[i]) & set(neighbors[j])) for i, j in zip(row, column, strict=True)]
    np.testing.assert_array_equal(counts, expected)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(0, 80))
def test_components_and_spanning_forest_agree_with_scipy(seed, n, edges):
    rng = np.random.default_rng(seed)
    start, end = random_edges(rng, n, edges)
    length = np.sort(rng.uniform(1, 2, edges))
    graph = sp.coo_array((length, (start, end)), shape=(n, n)).tocsr()
    labels = np.empty(n, dtype=np.int32)
    _native.components(graph.indptr.astype(np.int64), int32(graph.indices), labels)
    count, expected = connected_components(graph, directed=False)
    np.testing.assert_array_equal(labels, expected)
    kept, trees = spanning_tree(start, end, n)
    np.testing.assert_array_equal(trees, expected)
    assert kept.sum() == n - count


def test_spanning_forest_is_the_shortest():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(30) for j in range(i)], dtype=np.int32)
    length = rng.random(len(pairs))
    order = np.argsort(length)
    start, end = int32(pairs[order, 0]), int32(pairs[order, 1])
    kept, _ = spanning_tree(start, end, 30)
    full = sp.csr_array((length, (pairs[:, 0], pairs[:, 1])), shape=(30, 30))
    assert length[order][kept].sum() == pytest.approx(minimum_spanning_tree(full).sum())


@pytest.mark.parametrize("K", [1, 2, 5])
def test_linkage_without_a_bound_on_the_gini_index_is_single_linkage(K):
    X = np.random.default_rng(K).normal(size=(50, 2))
    pairs = np.array([(i, j) for i in range(50) for j in range(i)])
    order = np.argsort(np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1))
    start, end = int32(pairs[order, 0]), int32(pairs[order, 1])
    kept, labels = spanning_tree(start, end, 50)
    _native.even_linkage(start[kept], end[kept], None, K, 1.0, labels)
    expected = fcluster(linkage(X, "single"), K, "maxclust")
    assert len({*zip(labels, expected, strict=True)}) == len({*labels}) == K


def density_labels(density, K, mass_power=0.0):
    """Labels of points on a line, each joined to the next."""
    n = density.size
    start, end = np.arange(n - 1), np.arange(1, n)
    saddle = np.minimum(density[start], density[end])
    order = np.argsort(-saddle, kind="stable")
    labels = np.empty(n, dtype=np.int32)
    _native.density_modes(int32(start[order]), int32(end[order]), saddle[order], density, None, K, mass_power, labels)
    return labels


def test_density_modes_are_the_most_prominent():
    # Heights 5, 3 and 4 above saddles at 2.5 and 1: prominences infinite, 0.5 and 3.
    density = np.array([0.0, 5.0, 2.5, 3.0, 1.0, 4.0, 0.0])
    np.testing.assert_array_equal(density_labels(density, 1), 0)
    two = density_labels(density, 2)
    assert two[1] == two[2] == two[3] != two[5]
    assert len(set(density_labels(density, 3)[[1, 3, 5]])) == 3


def test_many_points_make_up_for_prominence():
    broad, narrow = np.array([2.0, 2.2, 2.4, 2.5, 2.4, 2.2, 2.0]), np.array([2.7])
    density = np.concatenate([broad, [1.9], [9.0], [1.9], narrow])
    by_height, by_mass = density_labels(density, 2), density_labels(density, 2, mass_power=1.0)
    assert by_height[-1] != by_height[8] == by_height[3]
    assert by_mass[3] != by_mass[8] == by_mass[-1]


def test_edges_out_of_range_are_refused():
    labels = np.empty(3, dtype=np.int32)
    for bad in (-1, 3):
        with pytest.raises(ValueError, match="from 0 to n - 1"):
            _native.spanning_forest(int32([0]), int32([bad]), np.empty(1, dtype=bool), labels)
