"""The objective: kernel values, nearest modes and certificates against short formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import best_assignments, dense_laplacian, energy, kernel, random_affinity, squared_distances

from lapmodes._records import Points
from lapmodes.graph.laplacian import build_graph
from lapmodes.solve import objective
from lapmodes.solve.objective import certify, inverse_width, kernel_values, nearest_mode, nearest_points, row_blocks


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sigma", [0.7, np.inf, "each"])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_values_follow_the_formula(sparse, sigma, weighted):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(90, 4)), rng.normal(size=(6, 4))
    width = rng.uniform(0.5, 2, 90) if isinstance(sigma, str) else sigma
    weight = rng.random(90) if weighted else None
    squared = bool(np.isinf(width).all())
    B = kernel_values(Points(sp.csr_array(X) if sparse else X), C, width, weight, squared=squared)
    np.testing.assert_allclose(B, kernel(X, C, width) * (1 if weight is None else weight[:, None]), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-300, 1e-30, np.array([1e-200, 1.0]), 1.0, 1e30, np.inf])
def test_no_width_overflows(dtype, sigma):
    h = inverse_width(sigma, dtype)
    assert h.dtype == dtype and np.isfinite(h).all() and (h >= 0).all()
    B = kernel_values(Points(np.array([[0.0], [1.0]], dtype)), np.zeros((1, 1), dtype), sigma)
    assert B[0, 0] == 1 and np.isfinite(B).all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), K=st.integers(1, 9), entries=st.integers(1, 60))
def test_nearest_modes_and_points_whatever_the_blocks(seed, n, K, entries):
    rng = np.random.default_rng(seed)
    X, C = (rng.integers(0, 4, size=(rows, 2)).astype(float) for rows in (n, K))  # with ties
    D = squared_distances(X, C)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objective, "BLOCK_ENTRIES", entries)
        blocks = [rows for rows, _ in row_blocks(Points(X), K)]
        assert [i for rows in blocks for i in range(rows.start, rows.stop)] == list(range(n))
        np.testing.assert_array_equal(nearest_mode(Points(X), C), D.argmin(axis=1))
        np.testing.assert_array_equal(nearest_points(Points(X), C), D.argmin(axis=0))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    K=st.integers(1, 5),
    lam=st.sampled_from([0.0, 0.1, 1.0, 50.0]),
)
def test_certificate_of_any_assignment_bounds_its_distance_to_the_optimum(seed, n, K, lam):
    rng = np.random.default_rng(seed)
    graph, B = build_graph(random_affinity(rng, n)), rng.normal(size=(n, K))
    Z, L = rng.dirichlet(np.full(K, 0.4), n), dense_laplacian(graph)
    proof = certify(graph, B, lam, Z)
    best = energy(L, B, lam, best_assignments(L, B, lam))
    assert proof.energy == pytest.approx(energy(L, B, lam, Z))
    assert best - 1e-7 * (1 + lam) <= proof.energy <= best + proof.gap + 1e-7 * (1 + lam)


def test_certificate_of_the_optimum_is_tight(problem):
    graph, B, _ = problem
    best = best_assignments(dense_laplacian(graph), B, 0.3)
    assert certify(graph, B, 0.3, best).gap <= 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_spread_is_the_root_mean_square_distance_to_the_mean(dtype, sparse):
    X = (3 + np.random.default_rng(0).normal(size=(20_000, 7))).astype(dtype)
    exact = np.sqrt(X.astype(float).var(axis=0).sum())
    assert Points(sp.csr_array(X) if sparse else X).spread == pytest.approx(exact, rel=1e-4)
    assert Points(np.full((5, 2), dtype(0.1))).spread == pytest.approx(0, abs=1e-7)
