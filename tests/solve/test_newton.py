"""Newton steps on faces: never worse, exact on the right face, and taken only where they pay."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import best_assignments, dense_laplacian, energy, random_affinity

from lapmodes.graph.laplacian import build_graph
from lapmodes.solve import newton
from lapmodes.solve.assignments import solve_assignments
from lapmodes.solve.newton import Newton


def chain(n):
    W = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1])
    B = np.zeros((n, 3))
    B[0, 0] = B[-1, 1] = B[n // 2, 2] = 1
    return build_graph(W), B


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    log_lam=st.floats(-3, 3),
    density=st.floats(0, 1),
    single=st.booleans(),
)
def test_a_step_stays_on_the_simplex_and_does_not_raise_the_energy(seed, n, k, log_lam, density, single):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    graph, lam = build_graph(random_affinity(rng, n, density).astype(dtype)), 10.0**log_lam
    B = rng.random((n, k)).astype(dtype)
    Z = rng.dirichlet(np.full(k, 0.3), n).astype(dtype)
    new = Newton(graph, B, lam).step(Z)
    L, exact_B = dense_laplacian(graph), B.astype(float)
    before, after = (energy(L, exact_B, lam, each.astype(float)) for each in (Z, new))
    slack = 20 * np.finfo(dtype).eps * (1 + lam * np.abs(L).sum() + n)
    assert after <= before + slack
    assert new.dtype == dtype
    assert (new >= 0).all()
    assert np.abs(new.sum(axis=1, dtype=float) - 1).max() <= 4 * np.finfo(dtype).eps * k


def test_a_graph_without_edges_has_no_curvature():
    rng = np.random.default_rng(0)
    graph = build_graph(random_affinity(rng, 12, 0.0))
    B, Z = rng.random((12, 5)), rng.dirichlet(np.full(5, 0.3), 12)
    new = Newton(graph, B, 0.1).step(Z)
    assert (B * new).sum() >= (B * Z).sum()


def test_one_step_solves_a_problem_whose_zeros_are_known(problem, monkeypatch):
    graph, B, _ = problem
    monkeypatch.setattr(newton, "REDUCTION", 1e-9)
    best = best_assignments(dense_laplacian(graph), B, 0.3)
    support = best > 1e-5
    found = Newton(graph, B, 0.3).step(support / support.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, best, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_long_chain_needs_few_sweeps(dtype, monkeypatch):
    graph, B = chain(3000)
    graph, B = graph.astype(dtype), B.astype(dtype)
    Z0 = np.full_like(B, 1 / 3)
    with_steps = solve_assignments(graph, B, 1.0, Z0, max_iter=20_000)
    monkeypatch.setattr(newton, "SHARE", np.inf)
    without = solve_assignments(graph, B, 1.0, Z0, max_iter=20_000)
    assert with_steps.certified
    assert 3 * with_steps.n_iter < without.n_iter
    assert abs(with_steps.energy - without.energy) <= with_steps.gap + without.gap


def test_threads_do_not_change_a_bit():
    graph, B = chain(3000)
    found = [solve_assignments(graph, B, 1.0, np.full_like(B, 1 / 3), threads=t).Z for t in (1, 2)]
    np.testing.assert_array_equal(*found)


def looks(values):
    """The proven gaps after each sweep, as they grow longer."""
    gaps = list(enumerate(values, 1))
    return (gaps[:i] for i in range(1, len(gaps) + 1))


def test_no_step_where_the_sweeps_are_quick_or_a_factor_is_dear(problem):
    graph, B, _ = problem
    quick, slow = Newton(graph, B, 1.0), Newton(graph, B, 1.0)
    assert not any(quick.pays(gaps, 1e-4) for gaps in looks(np.geomspace(1, 1e-4, 1000)))
    assert any(slow.pays(gaps, 1e-4) for gaps in looks(np.linspace(1, 0.9, 1000)))
    rng = np.random.default_rng(0)
    dense = build_graph(random_affinity(rng, 400, 0.3))
    assert Newton(dense, rng.random((400, 2)), 1.0).cost > Newton(*chain(400), 1.0).cost
