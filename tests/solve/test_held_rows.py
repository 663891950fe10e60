"""Held rows: the problem over the free rows against the whole one, solved exactly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import dense_laplacian, energy, random_affinity, simplex_qp

from lapmodes.graph.laplacian import build_graph
from lapmodes.solve.alternate import hold_rows, solve_free_rows
from lapmodes.solve.assignments import solve_assignments
from lapmodes.solve.terms import DenseTerm


def best_with_held(L, B, lam, known):
    """The exact minimum over the free rows, by blocks of L."""
    n, K = B.shape
    Z, free = np.zeros((n, K)), known < 0
    Z[~free] = np.eye(K)[known[~free]]
    if free.any():
        P = 2 * lam * sp.kron(sp.csr_matrix(L[np.ix_(free, free)]), sp.eye(K))
        q = 2 * lam * L[np.ix_(free, ~free)] @ Z[~free] - B[free]
        Z[free] = simplex_qp(P, q.ravel(), int(free.sum()), K)
    return Z


@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 14),
    K=st.integers(1, 4),
    lam=st.sampled_from([0.1, 1.0, 10.0]),
    share=st.floats(0, 1),
    laplacian=st.sampled_from(["unnormalized", "normalized"]),
)
def test_held_step_is_the_constrained_minimum(seed, n, K, lam, share, laplacian):
    rng = np.random.default_rng(seed)
    graph, B = build_graph(random_affinity(rng, n), laplacian), rng.random((n, K))
    known = np.where(rng.random(n) < share, rng.integers(0, K, n), -1)
    Z0, rows = np.full((n, K), 1 / K), hold_rows(graph, known, K, float)
    found = solve_free_rows(graph, DenseTerm(B), lam, Z0, rows, tol=1e-7)
    L = dense_laplacian(graph)
    best = energy(L, B, lam, best_with_held(L, B, lam, known))
    np.testing.assert_array_equal(found.Z[rows.held], np.eye(K)[known[rows.held]])
    assert found.energy == pytest.approx(energy(L, B, lam, found.Z))
    assert best - 1e-7 * (1 + lam) <= found.energy <= best + found.gap + 1e-7 * (1 + lam)
    assert found.certified


def test_nothing_held_is_the_ordinary_step(problem):
    graph, B, Z0 = problem
    held = hold_rows(graph, np.full(60, -1), 4, float)
    one, two = solve_free_rows(graph, DenseTerm(B), 0.5, Z0, held), solve_assignments(graph, B, 0.5, Z0)
    np.testing.assert_array_equal(one.Z, two.Z)
    assert one.energy == pytest.approx(two.energy)


def test_free_rows_whose_neighbours_are_all_held_are_still_smoothed():
    """Without an edge between free rows each has its own quadratic term, and is no corner."""
    graph = build_graph(sp.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    known, B = np.array([-1, 0, 1]), np.zeros((3, 2))
    found = solve_free_rows(graph, DenseTerm(B), 1.0, np.eye(2)[[0, 0, 1]], hold_rows(graph, known, 2, float))
    np.testing.assert_allclose(found.Z[0], [0.5, 0.5], atol=1e-3)
