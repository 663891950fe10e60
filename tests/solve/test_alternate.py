from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import energy, kernel

from lapmodes.graph.affinity import make_affinity, symmetric_weights
from lapmodes.graph.laplacian import build_graph
from lapmodes.graph.neighbors import NeighborIndex
from lapmodes.solve.alternate import Settings, alternate
from lapmodes.solve.points import as_points
from lapmodes.solve.start import from_modes


def knn_graph(X, k=5):
    neighbors = NeighborIndex(X, 1).query_self(k)
    return build_graph(symmetric_weights(make_affinity("binary", k, neighbors, 1.0), neighbors))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([0.0, 0.01, 0.3, 5.0]),
    sigma=st.sampled_from([1e-3, 0.3, 1.0, 10.0, np.inf]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_objective_never_rises(seed, lam, sigma, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2)).astype(dtype)
    points = as_points(X, 1)
    found = alternate(points, knn_graph(X), from_modes(points, X[:4].copy()), lam, sigma, Settings(max_iter=30))
    objective = found.history["objective"]
    slack = 4 * np.finfo(dtype).eps * np.abs(objective[:-1])
    assert np.all(np.diff(objective) <= slack)


@pytest.mark.parametrize("adaptive", [False, True])
def test_solution_reports_its_own_objective_and_gap(adaptive):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    sigma = rng.uniform(0.4, 1, 100) if adaptive else 0.7
    points, graph = as_points(X, 1), knn_graph(X)
    found = alternate(points, graph, from_modes(points, X[:3].copy()), 0.1, sigma, Settings())
    B = kernel(X, found.C, sigma)
    assert found.objective == pytest.approx(energy(graph.laplacian, B, 0.1, found.Z))
    assert 0 <= found.gap <= 1e-4 * B.max(axis=1).sum()
    assert found.converged


def test_step_can_stop_the_work():
    X = np.random.default_rng(0).normal(size=(100, 2))
    points = as_points(X, 1)
    found = alternate(
        points, knn_graph(X), from_modes(points, X[:3].copy()), 0.1, 0.7, Settings(tol=0), step=lambda n, info: True
    )
    assert found.n_iter == 1 and not found.converged
