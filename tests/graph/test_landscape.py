"""The weightings that candidates see."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from lapmodes.graph.landscape import settled_neighbors, shared, survey, thinned, without_hubs
from lapmodes.graph.neighbors import NeighborIndex


def test_graphs_are_symmetric_and_connected():
    X = np.random.default_rng(0).normal(size=(120, 3))
    X[60:] += 50
    landscape = survey(X, NeighborIndex(X, 1).query_self(20), 10, 1)
    for graph in landscape.graphs:
        W = graph.affinity
        assert abs(W - W.T).max() < 1e-12
        assert connected_components(W, directed=False)[0] == 1


def test_shared_weights_are_jaccard_indices():
    X = np.random.default_rng(1).normal(size=(50, 2))
    near = NeighborIndex(X, 1).query_self(6)
    around = [set(row) | {i} for i, row in enumerate(near.indices.tolist())]
    W = shared(near).tocoo()
    expected = [len(around[i] & around[j]) / len(around[i] | around[j]) for i, j in zip(W.row, W.col, strict=True)]
    np.testing.assert_allclose(W.data, expected)
    assert all(j in around[i] or i in around[j] for i, j in zip(W.row, W.col, strict=True))


def test_thinned_is_the_landscape_of_the_rows_left():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    rows = np.sort(rng.choice(300, 270, replace=False))
    whole = survey(X, NeighborIndex(X, 1).query_self(20), 10, 1)
    thin = thinned(X, whole, rows, 1)
    fresh = NeighborIndex(X[rows], 1).query_self(10)
    np.testing.assert_array_equal(thin.neighbors.indices[:, :10], fresh.indices)
    np.testing.assert_allclose(thin.neighbors.distances[:, :10], fresh.distances)
    few = thinned(X, whole, rows[::9], 1)  # too few neighbours left
    np.testing.assert_array_equal(few.neighbors.indices[:, :10], NeighborIndex(X[rows[::9]], 1).query_self(10).indices)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_equal_distances_are_in_the_order_of_the_rows_after_any_rotation(scale):
    rng = np.random.default_rng(1)
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)[rng.permutation(144)]
    angle = 0.7
    turned = scale * X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one, two = (settled_neighbors(each, NeighborIndex(each, 1), 12) for each in (X, turned))
    np.testing.assert_array_equal(one.indices, two.indices)
    assert (one.indices != np.arange(144)[:, None]).all()
    np.testing.assert_allclose(two.distances, scale * one.distances)


def test_without_hubs_no_point_is_everyones_neighbour():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 60))
    X[0] = 0  # nearer to all others than they are to each other
    near = NeighborIndex(X, 1).query_self(20)
    fair = without_hubs(near, 10)
    most, fewer = (np.bincount(each.indices.ravel(), minlength=500) for each in (near.first(10), fair))
    assert most[0] > 300
    assert fewer[0] < 0.6 * most[0]
    assert fewer.std() < most.std()
    assert (np.diff(fair.distances, axis=1) >= 0).all()
