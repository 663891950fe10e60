from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lapmodes.graph.affinity import make_affinity, symmetric_weights
from lapmodes.graph.laplacian import build_graph
from lapmodes.graph.neighbors import NeighborIndex
from lapmodes.solve.points import as_points
from lapmodes.solve.spectral import smooth_vectors
from lapmodes.solve.start import make_start


def graph_of(X, k=8):
    neighbors = NeighborIndex(X, 1).query_self(k)
    return build_graph(symmetric_weights(make_affinity("adaptive", k, neighbors, 1.0), neighbors))


@pytest.mark.parametrize("init", ["k-means", "k-means++", "random", "spectral"])
def test_named_starts_are_valid_and_repeatable(blobs, init):
    X, y = blobs
    points, graph = as_points(X, 1), graph_of(X)
    one, two = (make_start(points, graph, init, 3, np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(one.C, two.C)
    np.testing.assert_array_equal(one.Z.sum(axis=1), 1)
    assert one.C.shape == (3, 2)
    if init in ("k-means", "spectral"):
        assert adjusted_rand_score(y, one.Z.argmax(axis=1)) == 1


def test_given_assignments_alone_get_modes_among_their_points(blobs):
    X, y = blobs
    Z = np.eye(3)[y]
    start = make_start(as_points(X, 1), graph_of(X), (None, Z), 3, np.random.RandomState(0))
    for k, mode in enumerate(start.C):
        assert (X[y == k] == mode).all(axis=1).any()


@pytest.mark.parametrize("n", [300, 3000])
def test_smooth_vectors_are_eigenvectors(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    graph = graph_of(X)
    U = smooth_vectors(graph, 4, np.random.RandomState(0))
    root = 1 / np.sqrt(graph.degrees)
    S = (root[:, None] * graph.affinity.toarray()) * root
    values = np.sort(np.linalg.eigvalsh(S))[-4:]
    found = np.sort(np.linalg.eigvalsh(U.T @ S @ U))
    np.testing.assert_allclose(found, values, atol=1e-6)
