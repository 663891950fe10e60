"""Sparse assignments against the dense path: the same sweeps, energies, proofs and modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import best_assignments, energy, random_affinity

from lapmodes.graph.laplacian import build_graph, empty_graph
from lapmodes.solve.assignments import solve_assignments
from lapmodes.solve.modes import shift_modes
from lapmodes.solve.objective import fidelity, scale_of
from lapmodes.solve.points import as_points, one_hot
from lapmodes.solve.sparse_assignments import certify_sparse, solve_sparse
from lapmodes.solve.sparse_term import make_sparse_term


def random_problem(rng, n, K, sigma, dtype, *, weighted=False, pulled=False, csr=False):
    """Points, modes, weights and votes, and the dense linear term that follows from them."""
    X = rng.standard_normal((n, 2)).astype(dtype)
    points = as_points(sp.csr_array(X) if csr else X, 1)
    C = rng.standard_normal((K, 2)).astype(dtype)
    weight = rng.random(n).astype(dtype) if weighted else None
    votes = one_hot(rng.integers(0, K, n), K, dtype) if pulled else None
    B = fidelity(points, C, sigma, weight)
    if votes is not None:
        B += votes
    return points, C, weight, None if votes is None else sp.csr_array(votes), B


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    K=st.integers(1, 12),
    kept=st.integers(1, 12),
    log_lam=st.floats(-3, 1),
    sigma=st.sampled_from([0.05, 0.5, 5.0, np.inf]),
    normalized=st.booleans(),
    single=st.booleans(),
    weighted=st.booleans(),
    pulled=st.booleans(),
    csr=st.booleans(),
)
def test_agrees_with_the_dense_path(seed, n, K, kept, log_lam, sigma, normalized, single, weighted, pulled, csr):
    rng = np.random.default_rng(seed)
    dtype, lam = np.float32 if single else np.float64, 10.0**log_lam
    points, C, weight, votes, B = random_problem(rng, n, K, sigma, dtype, weighted=weighted, pulled=pulled, csr=csr)
    graph = build_graph(random_affinity(rng, n, 0.3).astype(dtype), "normalized" if normalized else "unnormalized")
    term = make_sparse_term(points, C, sigma, weight, votes, kept=kept)
    assert term.scale == pytest.approx(scale_of(B), rel=1e-5, abs=1e-6)
    Z0 = one_hot(rng.integers(0, K, n), K, dtype)
    dense = solve_assignments(graph, B, lam, Z0, tol=1e-4)
    found = solve_sparse(graph, term, lam, sp.csr_array(Z0), tol=1e-4)
    rounding = 1e-5 if single else 1e-9
    slack = float(rounding * (1 + np.abs(B).sum() + lam * graph.diagonal.sum()))
    assert found.energy <= dense.energy + found.gap + slack
    assert dense.energy <= found.energy + dense.gap + slack
    Z = found.Z.toarray().astype(float)
    assert found.energy == pytest.approx(energy(graph.laplacian.astype(float), B.astype(float), lam, Z), abs=slack)
    assert (found.Z.data > 0).all() and found.Z.has_canonical_format
    assert np.abs(Z.sum(axis=1) - 1).max() <= 4 * np.finfo(dtype).eps * K


@pytest.mark.parametrize("kept", [1, 3, 9])
@pytest.mark.parametrize("sigma", [0.2, 1.0, np.inf])
def test_certificate_holds_over_all_columns(kept, sigma):
    """The gap of any Z bounds its distance to the exact solution, whatever few entries are kept."""
    rng = np.random.default_rng(4)
    points, C, _, _, B = random_problem(rng, 30, 9, sigma, np.float64)
    graph = build_graph(random_affinity(rng, 30, 0.2))
    term = make_sparse_term(points, C, sigma, None, kept=kept)
    L = graph.laplacian.toarray()
    best = energy(L, B, 0.3, best_assignments(L, B, 0.3))
    for Z in (one_hot(rng.integers(0, 9, 30), 9, float), rng.dirichlet(np.ones(9), 30)):
        proof = certify_sparse(graph, term, 0.3, sp.csr_array(Z))
        G = 0.6 * (L @ Z) - B
        assert proof.energy == pytest.approx(energy(L, B, 0.3, Z))
        assert proof.gap == pytest.approx(np.sum(G * Z) - G.min(axis=1).sum())
        assert proof.energy - proof.gap <= best + 1e-9


def test_a_unique_solution_is_found_entry_by_entry():
    rng = np.random.default_rng(2)
    points, C, _, _, B = random_problem(rng, 60, 8, 0.7, np.float64)
    graph = build_graph(random_affinity(rng, 60, 0.1))
    start = sp.csr_array(one_hot(B.argmax(axis=1), 8, float))
    found = solve_sparse(graph, make_sparse_term(points, C, 0.7, None, kept=2), 0.3, start, tol=1e-12, max_iter=10**5)
    np.testing.assert_allclose(found.Z.toarray(), best_assignments(graph.laplacian.toarray(), B, 0.3), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    n, K = 6000, 40
    X = np.cumsum(rng.standard_normal((n, 3)), axis=0).astype(dtype)
    near = (np.arange(n)[:, None] + np.arange(1, 7)) % n  # neighbours along a walk
    W = sp.coo_array((np.ones(6 * n, dtype), (np.repeat(np.arange(n), 6), near.ravel())), shape=(n, n)).tocsr()
    graph = build_graph(sp.csr_array(W.maximum(W.T)))
    results = []
    for threads in (1, 2, 3):
        points = as_points(X, threads)
        C = X[:: n // K][:K].copy()
        term = make_sparse_term(points, C, 20.0, None, kept=4)
        start = one_hot(term.best, K, dtype, sparse=True)
        found = solve_sparse(graph, term, 0.01, start, threads=threads)
        moved = shift_modes(points, found.Z, C, 20.0, tol=1e-3)
        results.append((found.Z.indptr, found.Z.indices, found.Z.data, found.energy, found.gap, moved.C))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_without_smoothing_or_edges_each_point_goes_to_its_best_column():
    rng = np.random.default_rng(1)
    points, C, _, _, B = random_problem(rng, 20, 5, 1.0, np.float64)
    start = one_hot(np.zeros(20, dtype=int), 5, float, sparse=True)
    for graph, lam in ((build_graph(random_affinity(rng, 20)), 0.0), (empty_graph(20, float), 1.0)):
        found = solve_sparse(graph, make_sparse_term(points, C, 1.0, None, kept=2), lam, start)
        np.testing.assert_array_equal(found.Z.toarray(), one_hot(B.argmax(axis=1), 5, float))
        assert found.energy == pytest.approx(-B.max(axis=1).sum())


@pytest.mark.parametrize("sigma", [0.5, np.inf, "each"])
@pytest.mark.parametrize("csr", [False, True])
def test_modes_move_as_with_dense_assignments(sigma, csr):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 3))
    Z = rng.dirichlet(np.full(6, 0.1), 200) * (rng.random((200, 6)) < 0.5)
    Z[:, 5] = 0
    width = rng.random(200) + 0.5 if sigma == "each" else sigma
    points = as_points(sp.csr_array(X) if csr else X, 1)
    one, two = (shift_modes(points, each, X[:6].copy(), width, tol=1e-6) for each in (Z, sp.csr_array(Z)))
    np.testing.assert_allclose(one.C, two.C, atol=1e-9)
    assert one.empty == two.empty == (5,)


def test_native_loops_refuse_columns_out_of_range():
    rng = np.random.default_rng(0)
    points, C, _, _, _ = random_problem(rng, 10, 3, 1.0, np.float64)
    term = make_sparse_term(points, C, 1.0, None)
    wrong = sp.csr_array((np.ones(10), np.full(10, 7), np.arange(11)), shape=(10, 9))
    with pytest.raises(ValueError, match="columns"):
        certify_sparse(None, term, 0.0, wrong)
