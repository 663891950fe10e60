"""The Z-step: certificates against an interior-point solver, for dense and sparse rows alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import best_assignments, dense_laplacian, energy, random_affinity

from lapmodes._records import Points, Problem
from lapmodes._rows import one_hot
from lapmodes.graph.laplacian import build_graph, empty_graph
from lapmodes.solve.assignments import DenseSweeps, Momentum, solve_assignments
from lapmodes.solve.modes import shift_modes
from lapmodes.solve.newton import Newton
from lapmodes.solve.objective import certify
from lapmodes.solve.terms import DenseTerm, linear_term


@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_gap_is_certified(problem, lam):
    graph, B, Z0 = problem
    Z = solve_assignments(graph, B, lam, Z0, tol=1e-8, max_iter=100_000).Z
    G = 2 * lam * (graph.laplacian @ Z) - B
    gap = np.sum(G * Z) - np.sum(G.min(axis=1))
    assert gap <= 1e-8 * B.max(axis=1).sum()


@settings(max_examples=1000)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    log_lam=st.floats(-4, 3),
    density=st.floats(0, 1),
    log_scale=st.floats(-3, 3),
    normalized=st.booleans(),
    single=st.booleans(),
    max_iter=st.sampled_from([1, 10, 3000]),
)
def test_certificate_is_honest(seed, n, k, log_lam, density, log_scale, normalized, single, max_iter):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    W = (10**log_scale * random_affinity(rng, n, density)).astype(dtype)
    graph = build_graph(W, "normalized" if normalized else "unnormalized")
    B, lam = rng.random((n, k)).astype(dtype) ** 4, 10.0**log_lam
    Z0 = rng.dirichlet(np.ones(k), n).astype(dtype)
    found = solve_assignments(graph, B, lam, Z0, tol=1e-4, max_iter=max_iter)
    L, exact_B = dense_laplacian(graph), B.astype(float)
    best = energy(L, exact_B, lam, best_assignments(L, exact_B, lam))
    reached = energy(L, exact_B, lam, found.Z.astype(float))
    slack = 1e-8 * (1 + DenseTerm(B).scale) + 1e-6 * lam * np.abs(L).sum() * single
    assert found.energy == pytest.approx(reached, rel=1e-12, abs=slack)
    assert best >= found.energy - found.gap - slack
    assert best <= found.energy + slack
    assert found.energy <= energy(L, exact_B, lam, Z0.astype(float)) + slack
    assert found.certified == (found.gap <= 1e-4 * DenseTerm(B).scale)
    assert found.n_iter <= max_iter
    assert (found.Z >= 0).all()
    assert np.abs(found.Z.sum(axis=1, dtype=float) - 1).max() <= 4 * np.finfo(dtype).eps * k


def test_agrees_with_an_interior_point_solver(problem):
    graph, B, Z0 = problem
    Z = solve_assignments(graph, B, 0.3, Z0, tol=1e-12, max_iter=200_000).Z
    np.testing.assert_allclose(Z, best_assignments(dense_laplacian(graph), B, 0.3), atol=1e-5)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_without_smoothing_or_edges_each_point_takes_its_best_cluster(edges, sparse):
    rng = np.random.default_rng(1)
    posed, C = random_problem(rng, 20, 5, 1.0, float)
    graph, lam = (posed.graph, 0.0) if edges else (empty_graph(20, float), 1.0)
    start = one_hot(np.zeros(20, dtype=int), 5, float, sparse=sparse)
    found = solve_assignments(graph, linear_term(posed, C, sparse=sparse, kept=2), lam, start)
    B = linear_term(posed, C, sparse=False).B
    np.testing.assert_array_equal(found.Z.toarray() if sparse else found.Z, np.eye(5)[B.argmax(axis=1)])
    assert found.energy == pytest.approx(-B.max(axis=1).sum())
    assert found.gap == 0 and found.certified


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


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    W = sp.random_array((3000, 3000), density=2e-3, rng=rng, format="csr")
    graph, B = build_graph(W + W.T), rng.random((3000, 40))
    one, two = (solve_assignments(graph, B, 1.0, np.full_like(B, 1 / 40), threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one.Z, two.Z)
    assert (one.energy, one.gap) == (two.energy, two.gap)


def test_long_chain_is_solved_to_its_certificate():
    n = 2000
    W = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1])
    B = np.zeros((n, 2))
    B[0, 0] = B[-1, 1] = 1
    found = solve_assignments(build_graph(W), B, 1.0, np.full((n, 2), 0.5), tol=1e-3, max_iter=50_000)
    assert found.certified
    assert found.gap <= 1e-3 * 2


# Dense sweeps: rows that cannot have changed are left out


def quiet_sweeps(K, dtype, threads):
    """Weak smoothing: most rows rest soon."""
    rng = np.random.default_rng(K)
    n = 700
    graph = build_graph((random_affinity(rng, n, 0.01) + sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)).astype(dtype))
    B = (rng.random((n, K)) ** 4).astype(dtype)
    Z0 = np.eye(K, dtype=dtype)[B.argmax(axis=1)]
    return graph, B, DenseSweeps(graph, DenseTerm(B), 0.003, Z0, np.inf, threads)


@pytest.mark.parametrize("K", [1, 2, 5, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_at_rest_may_be_left_out(K, dtype):
    """Sweeps that leave out rows at rest give the same bits as those that do not, and do leave rows out."""
    (_, _, lazy), (_, _, eager) = (quiet_sweeps(K, dtype, threads) for threads in (2, 1))
    for i in range(40):
        for sweeps in (lazy, eager):
            sweeps.sweep(i % 7 / 7, proves=sweeps is eager)
        np.testing.assert_array_equal(lazy.Z, eager.Z)
        assert lazy.went_uphill == eager.went_uphill
    assert lazy.Z.dtype == dtype
    at_rest = lazy._number - lazy._changed_at.astype(int) > 5
    assert at_rest.mean() > 0.05


@pytest.mark.parametrize("K", [1, 2, 6, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shares_of_rows_at_rest_stay_in_the_certificate(K, dtype, monkeypatch):
    """A certificate that looks only at rows changed since the last one is that of the whole iterate."""
    graph, B, sweeps = quiet_sweeps(K, dtype, 2)
    elsewhere = np.full_like(B, 1 / K)
    monkeypatch.setattr(Newton, "pays", lambda *_: True)
    monkeypatch.setattr(Newton, "step", lambda *_: elsewhere)
    for i in range(40):
        found = sweeps.sweep(i % 7 / 7, proves=i % 5 in (0, 3))
        if i == 20:
            assert sweeps.took_newton_step([], 0.0)
            np.testing.assert_array_equal(sweeps.Z, elsewhere)
        elif found is not None:
            expected = certify(graph, B, 0.003, sweeps.before)
            assert found.energy == pytest.approx(expected.energy, rel=1e-5)
            assert found.gap == pytest.approx(expected.gap, rel=1e-3, abs=1e-5)


@given(bold=st.booleans(), uphill=st.lists(st.booleans(), max_size=60))
def test_momentum_grows_below_one_until_a_step_points_uphill(bold, uphill):
    momentum, before = Momentum(bold=bold), 0.0
    for points_uphill in uphill:
        momentum.follow(points_uphill)
        assert momentum.value == 0 if points_uphill else before <= momentum.value < 1
        before = momentum.value


@pytest.mark.parametrize("bold", [False, True])
def test_momentum_accelerates_as_proven(bold):
    """After j steps without a restart FISTA's rule needs 1 - momentum of order 1 / j."""
    momentum = Momentum(bold=bold)
    for j in range(1, 200):
        momentum.follow(False)
        assert (1 - momentum.value) * j <= 3.5


def test_bold_steps_give_way_to_proven_ones(monkeypatch):
    """Steps far longer than allowed do not descend: the certificate is reached all the same."""
    rng = np.random.default_rng(0)
    graph, B = build_graph(random_affinity(rng, 60, 0.1)), rng.random((60, 4))
    monkeypatch.setattr(DenseSweeps, "boldness", 6.0)
    shortened = []
    shorten = DenseSweeps.shorten
    monkeypatch.setattr(DenseSweeps, "shorten", lambda sweeps: (shortened.append(1), shorten(sweeps)))
    found = solve_assignments(graph, B, 0.5, np.full((60, 4), 0.25), tol=1e-8, max_iter=50_000)
    assert found.certified and len(shortened) == 1


# Sparse rows against dense ones


def random_problem(rng, n, K, sigma, dtype, *, weighted=False, pulled=False, csr=False, laplacian="unnormalized"):
    """A problem with a sparse prior or none, and modes."""
    X, C = (rng.standard_normal((rows, 2)).astype(dtype) for rows in (n, K))
    weight = rng.random(n).astype(dtype) if weighted else None
    prior = one_hot(rng.integers(0, K, n), K, dtype, sparse=True) if pulled else None
    graph = build_graph(random_affinity(rng, n, 0.3).astype(dtype), laplacian)
    points = Points(sp.csr_array(X) if csr else X)
    return Problem(points, graph, 1.0, sigma, weight, prior, 1.0 if pulled else 0.0), C


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    K=st.integers(1, 12),
    kept=st.integers(1, 12),
    log_lam=st.floats(-3, 1),
    sigma=st.sampled_from([0.05, 0.5, 5.0, np.inf]),
    laplacian=st.sampled_from(["unnormalized", "normalized"]),
    single=st.booleans(),
    terms=st.fixed_dictionaries({"weighted": st.booleans(), "pulled": st.booleans(), "csr": st.booleans()}),
)
def test_sparse_rows_agree_with_dense_ones(seed, n, K, kept, log_lam, sigma, laplacian, single, terms):
    rng = np.random.default_rng(seed)
    dtype, lam = np.float32 if single else np.float64, 10.0**log_lam
    posed, C = random_problem(rng, n, K, sigma, dtype, laplacian=laplacian, **terms)
    Z0 = one_hot(rng.integers(0, K, n), K, dtype)
    whole = linear_term(posed, C, sparse=False)
    dense = solve_assignments(posed.graph, whole, lam, Z0, tol=1e-4)
    found = solve_assignments(
        posed.graph, linear_term(posed, C, sparse=True, kept=kept), lam, sp.csr_array(Z0), tol=1e-4
    )
    L, B = dense_laplacian(posed.graph), whole.B.astype(float)
    slack = float((1e-5 if single else 1e-9) * (1 + np.abs(B).sum() + lam * posed.graph.diagonal.sum()))
    assert found.energy <= dense.energy + found.gap + slack
    assert dense.energy <= found.energy + dense.gap + slack
    Z = found.Z.toarray().astype(float)
    assert found.energy == pytest.approx(energy(L, B, lam, Z), abs=slack)
    assert (found.Z.data > 0).all() and found.Z.has_canonical_format
    assert np.abs(Z.sum(axis=1) - 1).max() <= 4 * np.finfo(dtype).eps * K


def test_a_unique_solution_is_found_entry_by_entry():
    rng = np.random.default_rng(2)
    posed, C = random_problem(rng, 60, 8, 0.7, float)
    B = linear_term(posed, C, sparse=False).B
    start = one_hot(B.argmax(axis=1), 8, float, sparse=True)
    term = linear_term(posed, C, sparse=True, kept=2)
    found = solve_assignments(posed.graph, term, 0.3, start, tol=1e-12, max_iter=10**5)
    np.testing.assert_allclose(found.Z.toarray(), best_assignments(dense_laplacian(posed.graph), B, 0.3), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_the_same_bits_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    n, K = 6000, 40
    X = np.cumsum(rng.standard_normal((n, 3)), axis=0).astype(dtype)
    near = (np.arange(n)[:, None] + np.arange(1, 7)) % n  # neighbours along a walk
    W = sp.coo_array((np.ones(6 * n, dtype), (np.repeat(np.arange(n), 6), near.ravel())), shape=(n, n)).tocsr()
    graph = build_graph(sp.csr_array(W.maximum(W.T)))
    results = []
    for threads in (1, 2, 3):
        points = Points(X, threads)
        C = X[:: n // K][:K].copy()
        term = linear_term(Problem(points, graph, 0.01, 20.0), C, sparse=True, kept=4)
        start = one_hot(term.best, K, dtype, sparse=True)
        found = solve_assignments(graph, term, 0.01, start, threads=threads)
        moved = shift_modes(points, found.Z, C, 20.0, tol=1e-3)
        results.append((found.Z.indptr, found.Z.indices, found.Z.data, found.energy, found.gap, moved.C))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
