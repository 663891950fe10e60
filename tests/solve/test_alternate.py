"""The outer loop: the objective never rises, and the solution says what is true of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import energy, kernel, neighbor_graph
from sklearn.cluster import KMeans

from lapmodes._records import Points, Problem
from lapmodes._rows import one_hot
from lapmodes.graph.laplacian import build_graph, empty_graph
from lapmodes.solve.alternate import Stopping, alternate
from lapmodes.solve.objective import nearest_mode
from lapmodes.start.k_means import start_from_modes


def solved(X, lam, sigma, stopping=Stopping(), K=4, *, sparse=False, step=lambda n, info, found: False, **terms):  # noqa: B008
    problem = Problem(Points(X), build_graph(neighbor_graph(X, 5).astype(X.dtype)), lam, sigma, **terms)
    return problem, alternate(problem, start_from_modes(problem.points, X[:K].copy(), sparse=sparse), stopping, step)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([0.0, 0.01, 0.3, 5.0]),
    sigma=st.sampled_from([1e-3, 0.3, 1.0, 10.0, np.inf]),
    dtype=st.sampled_from([np.float32, np.float64]),
    sparse=st.booleans(),
    weighted=st.booleans(),
)
def test_objective_never_rises(seed, lam, sigma, dtype, sparse, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2)).astype(dtype)
    weight = rng.uniform(0.1, 2, 80).astype(dtype) if weighted else None
    _, found = solved(X, lam, sigma, Stopping(max_iter=30), sparse=sparse, sample_weight=weight)
    objective = found.history["objective"]
    slack = 4 * np.finfo(dtype).eps * np.abs(objective[:-1])
    assert np.all(np.diff(objective) <= slack)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("adaptive", [False, True])
def test_solution_reports_its_own_objective_and_gap(adaptive, sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    sigma = rng.uniform(0.4, 1, 100) if adaptive else 0.7
    problem, found = solved(X, 0.1, sigma, K=3, sparse=sparse)
    B, Z = kernel(X, found.C, sigma), found.Z.toarray() if sparse else found.Z
    assert found.objective == pytest.approx(energy(problem.graph.laplacian, B, 0.1, Z))
    assert 0 <= found.gap <= 1e-4 * B.max(axis=1).sum()
    assert found.status.name == "converged" and not found.status.message
    assert found.history["moved"][-1] <= 1e-3 * np.median(sigma)
    np.testing.assert_array_equal(found.labels, Z.argmax(axis=1))


def test_without_smoothing_and_width_it_is_k_means():
    X = np.random.default_rng(0).normal(size=(200, 3))
    problem = Problem(Points(X), empty_graph(200, float), 0.0, np.inf)
    found = alternate(problem, start_from_modes(problem.points, X[:5].copy()), Stopping(tol=1e-9))
    theirs = KMeans(5, init=X[:5].copy(), n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(found.labels, theirs.labels_)
    np.testing.assert_allclose(found.C, theirs.cluster_centers_)
    assert (
        found.objective
        == pytest.approx(-kernel(X, found.C, np.inf).max(axis=1).sum())
        == pytest.approx(theirs.inertia_)
    )


def test_without_smoothing_it_rests_at_a_fixed_point_of_k_modes():
    X = np.random.default_rng(1).normal(size=(150, 2))
    _, found = solved(X, 0.0, 0.8)
    np.testing.assert_array_equal(found.Z, one_hot(nearest_mode(Points(X), found.C), 4, float))
    _, tiny = solved(X, 0.0, 1e-8)  # all kernel values but a few underflow
    np.testing.assert_array_equal(tiny.labels, nearest_mode(Points(X), tiny.C))


def test_known_rows_are_held_and_the_others_see_them():
    X = np.random.default_rng(0).normal(size=(100, 2))
    known = np.full(100, -1)
    known[:8] = [0, 1, 2, 3, 3, 2, 1, 0]
    for lam in (0.0, 0.3):
        _, found = solved(X, lam, 0.7, known=known)
        np.testing.assert_array_equal(found.Z[:8], np.eye(4)[known[:8]])
        assert np.all(np.diff(found.history["objective"]) <= 1e-9)


def test_points_that_no_kernel_reaches_are_said():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), 100 + rng.normal(size=(40, 2))])
    _, found = solved(X, 0.1, 1.0, K=2)
    np.testing.assert_array_equal(found.unreached, np.arange(80) >= 40)
    assert not solved(X, 0.1, np.inf, K=2)[1].unreached.any()


def test_step_can_stop_the_work():
    X = np.random.default_rng(0).normal(size=(100, 2))
    _, found = solved(X, 0.1, 0.7, Stopping(tol=0), step=lambda n, info, found: True)
    assert len(found.history) == 1 and found.status.name == "stopped"


def test_an_end_before_rest_or_proof_is_said_with_what_to_do():
    X = np.random.default_rng(0).normal(size=(100, 2))
    _, short = solved(X, 0.1, 0.7, Stopping(tol=0, max_iter=2))
    assert short.status.name == "not converged" and "'max_iter'" in short.status.message
    _, rough = solved(X[:30], 1e3, 0.7, Stopping(gap=0.0), K=2)
    assert rough.status.name == "not certified" and "'lam'" in rough.status.message


def test_sparse_and_dense_points_end_alike():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.5)
    graph = build_graph(neighbor_graph(X, 5))
    one, two = (
        alternate(Problem(points, graph, 0.1, 1.0), start_from_modes(points, X[:3].copy()), Stopping(tol=1e-6))
        for points in (Points(X), Points(sp.csr_array(X)))
    )
    assert abs(one.objective - two.objective) <= one.gap + two.gap
