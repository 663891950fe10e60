from __future__ import annotations

import numpy as np
import pytest
from reference import random_affinity

from lapmodes.graph.laplacian import build_graph


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
