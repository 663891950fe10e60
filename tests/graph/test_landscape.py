"""The weightings that candidates see."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from lapmodes.graph.landscape import shared, survey
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
