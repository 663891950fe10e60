from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes.graph.laplacian import build_graph


def random_affinity(rng, n, density=0.4):
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return sp.csr_array(W + W.T)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + 0.5 * rng.standard_normal((180, 2))
    return X, y


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    graph = build_graph(random_affinity(rng, 60, 0.1))
    B = rng.random((60, 4))
    return graph, B, np.full((60, 4), 0.25)
