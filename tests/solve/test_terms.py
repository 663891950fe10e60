"""The linear term B + alpha P: by its formula, and the few entries that are kept against the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import best_assignments, dense_laplacian, energy, kernel, random_affinity

from lapmodes._records import Points, Problem
from lapmodes._rows import one_hot
from lapmodes.graph.laplacian import build_graph
from lapmodes.solve.alternate import Stopping, alternate
from lapmodes.solve.assignments import solve_assignments
from lapmodes.solve.terms import DenseTerm, linear_term
from lapmodes.start.k_means import start_from_modes


def random_problem(rng, n, K, sigma, dtype=np.float64, *, weighted=False, prior_weight=0.0, csr=False, lam=0.3):
    """A problem, modes, and the linear term that follows from them by the formula, in double precision."""
    X, C = (rng.standard_normal((rows, 2)).astype(dtype) for rows in (n, K))
    width = rng.uniform(0.3, 2, n).astype(dtype) if isinstance(sigma, str) else sigma
    weight = rng.random(n).astype(dtype) if weighted else None
    prior = rng.dirichlet(np.full(K, 0.3), n).astype(dtype) if prior_weight else None
    graph = build_graph(random_affinity(rng, n, 0.2).astype(dtype))
    points = Points(sp.csr_array(X) if csr else X)
    B = kernel(X.astype(float), C.astype(float), width)
    if prior is not None:
        unit = X.astype(float).var(axis=0).sum() if np.isinf(width).all() else 1.0
        B = B + prior_weight * unit * prior
    if weight is not None:
        B = B * weight[:, None]
    return Problem(points, graph, lam, width, weight, prior, prior_weight), C, B


def with_sparse_prior(problem):
    return replace(problem, prior=sp.csr_array(problem.prior))


CASES = st.fixed_dictionaries(
    {
        "sigma": st.sampled_from([0.05, 0.5, 5.0, np.inf, "each"]),
        "dtype": st.sampled_from([np.float32, np.float64]),
        "weighted": st.booleans(),
        "prior_weight": st.sampled_from([0.0, 0.5, 20.0]),
        "csr": st.booleans(),
    }
)


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), K=st.integers(1, 12), kept=st.integers(1, 12), case=CASES)
def test_the_term_is_b_plus_alpha_p(seed, n, K, kept, case):
    """Dense, sparse, weighted, and with infinite bandwidth in units of the squared spread."""
    rng = np.random.default_rng(seed)
    problem, C, B = random_problem(rng, n, K, **case)
    tol = 200 * np.finfo(case["dtype"]).eps * (1 + np.abs(B).max())
    dense = linear_term(problem, C, sparse=False)
    np.testing.assert_allclose(dense.B, B, atol=tol)
    as_csr = case["csr"] and problem.prior is not None  # the prior may be stored in either way
    few = linear_term(with_sparse_prior(problem) if as_csr else problem, C, sparse=True, kept=kept)
    exact = DenseTerm(B)
    Z = rng.dirichlet(np.full(K, 0.4), n)
    for term, rows in ((dense, Z.astype(case["dtype"])), (few, sp.csr_array(Z.astype(case["dtype"])))):
        np.testing.assert_allclose(term.highest, B.max(axis=1), atol=tol)
        np.testing.assert_allclose(B[np.arange(n), term.best], B.max(axis=1), atol=2 * tol)
        assert term.scale == pytest.approx(exact.scale, abs=n * tol)
        assert term.largest == pytest.approx(np.abs(B).max(), abs=tol)
        assert term.energy(rows) == pytest.approx(-np.sum(B * Z), abs=3 * n * tol)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sigma", [0.5, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_prior_is_solved_as_part_of_the_linear_term(sparse, sigma, weighted):
    rng = np.random.default_rng(3)
    problem, C, B = random_problem(rng, 40, 5, sigma, weighted=weighted, prior_weight=2.0)
    term = linear_term(problem, C, sparse=sparse)
    start = one_hot(B.argmax(axis=1), 5, float, sparse=sparse)
    found = solve_assignments(problem.graph, term, 0.3, start, tol=1e-9, max_iter=100_000)
    L = dense_laplacian(problem.graph)
    best = energy(L, B, 0.3, best_assignments(L, B, 0.3))
    assert found.energy == pytest.approx(best, abs=1e-7 * DenseTerm(B).scale)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.2])
@pytest.mark.parametrize("sigma", [0.7, np.inf])
def test_the_objective_of_a_fit_counts_the_prior(sparse, lam, sigma):
    rng = np.random.default_rng(1)
    problem, C, _ = random_problem(rng, 60, 4, sigma, prior_weight=1.5, lam=lam, weighted=True)
    problem = with_sparse_prior(problem) if sparse else problem
    found = alternate(problem, start_from_modes(problem.points, C, sparse=sparse), Stopping())
    prior = problem.prior.toarray() if sparse else problem.prior
    unit = problem.points.spread**2 if np.isinf(sigma) else 1.0
    B = (kernel(problem.points.X, found.C, sigma) + 1.5 * unit * prior) * problem.sample_weight[:, None]
    Z = found.Z.toarray() if sparse else found.Z
    assert found.objective == pytest.approx(energy(problem.graph.laplacian, B, lam, Z))
    objective = found.history["objective"]
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))


def test_a_heavy_prior_decides_and_one_without_weight_does_not_count():
    rng = np.random.default_rng(0)
    problem, C, _ = random_problem(rng, 50, 4, 0.6, prior_weight=1e6)
    votes = one_hot(rng.integers(0, 4, 50), 4, float)
    heavy, none, free = (
        alternate(replace(problem, prior=prior, prior_weight=weight), start_from_modes(problem.points, C), Stopping())
        for prior, weight in ((votes, 1e6), (votes, 0.0), (None, 0.0))
    )
    np.testing.assert_array_equal(heavy.labels, votes.argmax(axis=1))
    np.testing.assert_array_equal(none.Z, free.Z)


@pytest.mark.parametrize("K", [1, 3, 8, 9, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_is_the_sum_of_the_largest_above_zero_or_the_least(K, dtype):
    B = np.random.default_rng(K).normal(size=(700, K)).astype(dtype)
    expected = (B.max(axis=1) - np.minimum(B.min(axis=1), 0)).sum(dtype=float)
    assert DenseTerm(B).scale == DenseTerm(B, threads=2).scale == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kept", [1, 3, 9])
@pytest.mark.parametrize("sigma", [0.2, 1.0, np.inf])
def test_certificate_holds_over_all_columns(kept, sigma):
    """The gap of any Z bounds its distance to the exact solution, whatever few entries are kept."""
    rng = np.random.default_rng(4)
    problem, C, B = random_problem(rng, 30, 9, sigma)
    term = linear_term(problem, C, sparse=True, kept=kept)
    L = dense_laplacian(problem.graph)
    best = energy(L, B, 0.3, best_assignments(L, B, 0.3))
    for Z in (one_hot(rng.integers(0, 9, 30), 9, float), rng.dirichlet(np.ones(9), 30)):
        proof = term.certificate(problem.graph.arrays, 0.3, sp.csr_array(Z))
        G = 0.6 * (L @ Z) - B
        assert proof.energy == pytest.approx(energy(L, B, 0.3, Z))
        assert proof.gap == pytest.approx(np.sum(G * Z) - G.min(axis=1).sum())
        assert proof.energy - proof.gap <= best + 1e-9


def test_native_loops_refuse_columns_out_of_range():
    problem, C, _ = random_problem(np.random.default_rng(0), 10, 3, 1.0)
    term = linear_term(problem, C, sparse=True)
    wrong = sp.csr_array((np.ones(10), np.full(10, 7), np.arange(11)), shape=(10, 9))
    with pytest.raises(ValueError, match="columns"):
        term.energy(wrong)
