from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import best_assignments, energy, quadratic, random_affinity

from lapmodes.graph.laplacian import balanced, build_graph, empty_graph
from lapmodes.solve.assignments import Momentum, Sweeps, row_steps, solve_assignments
from lapmodes.solve.objective import certify, scale_of


@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_gap_is_certified(problem, lam):
    graph, B, Z0 = problem
    Z = solve_assignments(graph, B, lam, Z0, tol=1e-8, max_iter=100_000).Z
    G = 2 * lam * (graph.laplacian @ Z) - B
    gap = np.sum(G * Z) - np.sum(G.min(axis=1))
    assert gap <= 1e-8 * B.max(axis=1).sum()


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    log_lam=st.floats(-4, 3),
    density=st.floats(0, 1),
    log_scale=st.floats(-3, 3),
    normalized=st.booleans(),
    single=st.booleans(),
    balance=st.sampled_from([0.0, 0.3, 5.0]),
)
def test_certificate_is_honest(seed, n, k, log_lam, density, log_scale, normalized, single, balance):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    W = (10**log_scale * random_affinity(rng, n, density)).astype(dtype)
    graph = balanced(build_graph(W, "normalized" if normalized else "unnormalized"), balance)
    B, lam = rng.random((n, k)).astype(dtype) ** 4, 10.0**log_lam
    Z0 = rng.dirichlet(np.ones(k), n).astype(dtype)
    found = solve_assignments(graph, B, lam, Z0, tol=1e-4, max_iter=3000)
    L, exact_B = quadratic(graph), B.astype(float)
    best = energy(L, exact_B, lam, best_assignments(L, exact_B, lam))
    reached = energy(L, exact_B, lam, found.Z.astype(float))
    slack = 1e-8 * (1 + scale_of(B)) + 1e-6 * lam * np.abs(L).sum() * single
    assert found.energy == pytest.approx(reached, rel=1e-12, abs=slack)
    assert best >= found.energy - found.gap - slack
    assert best <= found.energy + slack
    assert found.energy <= energy(L, exact_B, lam, Z0.astype(float)) + slack
    assert (found.Z >= 0).all()
    assert np.abs(found.Z.sum(axis=1, dtype=float) - 1).max() <= 4 * np.finfo(dtype).eps * k


@pytest.mark.parametrize("K", [1, 3, 8, 9, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_is_the_sum_of_the_largest_above_zero_or_the_least(K, dtype):
    B = np.random.default_rng(K).normal(size=(700, K)).astype(dtype)
    expected = (B.max(axis=1) - np.minimum(B.min(axis=1), 0)).sum(dtype=float)
    assert scale_of(B) == scale_of(B, threads=2) == pytest.approx(expected, rel=1e-6)


def test_agrees_with_an_interior_point_solver(problem):
    graph, B, Z0 = problem
    Z = solve_assignments(graph, B, 0.3, Z0, tol=1e-12, max_iter=200_000).Z
    np.testing.assert_allclose(Z, best_assignments(graph.laplacian.toarray(), B, 0.3), atol=1e-5)


@pytest.mark.parametrize("make", [lambda B: (0.0, None), lambda B: (1.0, empty_graph(len(B), B.dtype))])
def test_without_smoothing_each_point_takes_its_best_cluster(problem, make):
    graph, B, Z0 = problem
    lam, other = make(B)
    found = solve_assignments(other or graph, B, lam, Z0)
    np.testing.assert_array_equal(found.Z, np.eye(4)[B.argmax(axis=1)])
    assert found.gap == 0


def test_isolated_and_nearly_isolated_rows_reach_their_corner():
    W = sp.csr_array(np.array([[0, 1, 0, 0], [1, 0, 1e-12, 0], [0, 1e-12, 0, 0], [0, 0, 0, 0]], dtype=float))
    B = np.array([[1.0, 0.0], [0.9, 0.0], [0.0, 0.4], [0.0, 1e-3]])
    found = solve_assignments(build_graph(W), B, 1.0, np.full((4, 2), 0.5), tol=1e-9)
    np.testing.assert_allclose(found.Z, [[1, 0], [1, 0], [0, 1], [0, 1]], atol=1e-6)


def test_permuting_clusters_or_points_permutes_the_answer(problem):
    graph, B, Z0 = problem
    solve = lambda g, b: solve_assignments(g, b, 0.5, Z0, tol=1e-10, max_iter=100_000).Z  # noqa: E731
    Z = solve(graph, B)
    columns, rows = np.random.default_rng(0).permutation(4), np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(solve(graph, np.ascontiguousarray(B[:, columns])), Z[:, columns], atol=1e-4)
    turned = build_graph(graph.affinity[rows][:, rows])
    np.testing.assert_allclose(solve(turned, np.ascontiguousarray(B[rows])), Z[rows], atol=1e-4)


def test_scaling_objective_leaves_the_answer(problem):
    graph, B, Z0 = problem
    one = solve_assignments(graph, B, 0.5, Z0, tol=1e-10, max_iter=100_000).Z
    two = solve_assignments(graph, 1e-6 * B, 0.5e-6, Z0, tol=1e-10, max_iter=100_000).Z
    np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lam", [1.0, 1e3])
def test_balance_forbids_collapse_however_large_lam_is(lam, dtype):
    rng = np.random.default_rng(0)
    blocks = sp.block_diag([random_affinity(rng, 40, 0.3) for _ in range(3)]).tolil()
    blocks[0, 40] = blocks[40, 0] = blocks[40, 80] = blocks[80, 40] = 1
    graph = build_graph(sp.csr_array(blocks, dtype=dtype))
    B = np.zeros((120, 3), dtype=dtype)
    B[:40, 0], B[40:80, 1], B[80:, 2] = 1, 0.5, 0.2
    Z0 = np.full_like(B, 1 / 3)
    alone, even = (solve_assignments(balanced(graph, b), B, lam, Z0, max_iter=50_000) for b in (0, 1))
    assert even.converged
    np.testing.assert_array_equal(np.bincount(even.Z.argmax(axis=1)), [40, 40, 40])
    if lam > 1:
        assert (alone.Z.argmax(axis=1) == 0).all()


def test_balance_pulls_masses_together(problem):
    graph, B, Z0 = problem
    B = B * [1, 2, 3, 4]
    spread = []
    for balance in (0, 0.1, 1, 10):
        Z = solve_assignments(balanced(graph, balance), B, 0.1, Z0, tol=1e-8, max_iter=100_000).Z
        spread.append((graph.diagonal @ Z).std())
    assert (np.diff(spread) < 0).all()


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    W = sp.random_array((3000, 3000), density=2e-3, rng=rng, format="csr")
    graph, B = balanced(build_graph(W + W.T), 1.0), rng.random((3000, 40))
    found = [solve_assignments(graph, B, 1.0, np.full_like(B, 1 / 40), threads=t).Z for t in (1, 2)]
    np.testing.assert_array_equal(*found)


def test_long_chain_is_solved_to_its_certificate():
    n = 2000
    W = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1])
    B = np.zeros((n, 2))
    B[0, 0] = B[-1, 1] = 1
    found = solve_assignments(build_graph(W), B, 1.0, np.full((n, 2), 0.5), tol=1e-3, max_iter=50_000)
    assert found.converged
    assert found.gap <= 1e-3 * 2


@pytest.mark.parametrize("K", [1, 2, 5, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_settled_rows_may_be_left_out(K, dtype):
    """Sweeps that leave out settled rows give the same bits as those that do not, and do leave rows out."""
    rng = np.random.default_rng(K)
    n = 700
    graph = build_graph((random_affinity(rng, n, 0.01) + sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)).astype(dtype))
    B = (rng.random((n, K)) ** 4).astype(dtype)
    Z0 = np.eye(K, dtype=dtype)[B.argmax(axis=1)]
    step = row_steps(graph, 0.003, B)
    lazy, eager = (Sweeps(graph, B, 0.003, Z0.copy(), step, threads) for threads in (2, 1))
    for i in range(40):
        for sweeps in (lazy, eager):
            sweeps.sweep(i % 7 / 7, certifies=sweeps is eager)
        np.testing.assert_array_equal(lazy.Z, eager.Z)
        assert lazy.uphill == eager.uphill
    asleep = lazy.number - lazy.touched.astype(int) > 5
    assert asleep.mean() > 0.05


@pytest.mark.parametrize("K", [1, 2, 6, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shares_of_settled_rows_stay_in_the_certificate(K, dtype):
    """A certificate that looks only at rows touched since the last one is that of the whole iterate."""
    rng = np.random.default_rng(K)
    n = 700
    graph = build_graph((random_affinity(rng, n, 0.01) + sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)).astype(dtype))
    B = (rng.random((n, K)) ** 4).astype(dtype)
    sweeps = Sweeps(graph, B, 0.003, np.full_like(B, 1 / K), row_steps(graph, 0.003, B), 2)
    for i in range(40):
        found = sweeps.sweep(i % 7 / 7, certifies=i % 5 in (0, 3))
        if i == 20:
            sweeps.restart(np.full_like(B, 1 / K))
        elif found is not None:
            expected = certify(graph, B, 0.003, sweeps.before)
            assert found.energy == pytest.approx(expected.energy, rel=1e-5)
            assert found.gap == pytest.approx(expected.gap, rel=1e-3, abs=1e-5)


def test_bold_steps_give_way_to_proven_ones():
    momentum = Momentum()
    assert momentum.keeps_bold(1.0)
    momentum.follow(False)
    assert momentum.value == 0.5
    momentum.follow(True)
    assert not momentum.keeps_bold(2.0)
    values = []
    for _ in range(4):
        values.append(momentum.value)
        momentum.follow(False)
    assert values[:2] == [0, 0]
    assert 0.2 < values[2] < values[3] < 0.6
