from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import random_affinity

from lapmodes.baselines import DataClusterData
from lapmodes.paper.rivals.data_cluster_data import descend, gradients, half_edges, relaxed_step, soften


@pytest.fixture
def setting():
    rng = np.random.default_rng(0)
    A = random_affinity(rng, 40, 0.2)
    W = rng.dirichlet(np.ones(4), size=40)
    return A.toarray(), half_edges(A), W


def dense_objective(A, W, alpha):
    Ahat = (W / W.sum(axis=0)) @ W.T
    return -(A[A > 0] * np.log(Ahat[A > 0])).sum() - (alpha - 1) * np.log(W).sum()


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_objective_and_gradient_agree_with_finite_differences(setting, alpha):
    A, edges, W = setting
    at = gradients(edges, W, alpha)
    assert at.objective == pytest.approx(dense_objective(A, W, alpha))
    for i, k in [(0, 0), (7, 2), (39, 3)]:
        bump = np.zeros_like(W)
        bump[i, k] = 1e-6 * W[i, k]
        slope = (dense_objective(A, W + bump, alpha) - dense_objective(A, W - bump, alpha)) / 2e-6
        assert at.plus[i, k] - at.minus[i, k] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_the_step_is_the_papers(setting):
    A, edges, W = setting
    alpha, s = 1.2, W.sum(axis=0)
    Z = np.where(A > 0, A / ((W / s) @ W.T), 0)
    minus = 2 * (Z @ W) / s + alpha / W
    plus = np.diag(W.T @ Z @ W) / s**2 + 1 / W
    a = (W / plus).sum(axis=1, keepdims=True)
    b = (W * minus / plus).sum(axis=1, keepdims=True)
    expected = W * (minus * a + 1) / (plus * a + b)
    new = relaxed_step(W, gradients(edges, W, alpha))
    np.testing.assert_allclose(new, expected / expected.sum(axis=1, keepdims=True))
    # Theorem of the paper: the Lagrangian with multipliers (b - 1) / a does not rise.
    lagrangian = dense_objective(A, expected, alpha) + (((b - 1) / a).ravel() * (expected.sum(axis=1) - 1)).sum()
    assert lagrangian <= dense_objective(A, W, alpha)


@pytest.mark.parametrize("alpha", [1.0, 1.2, 2.0])
def test_the_objective_never_rises_and_rows_stay_on_the_simplex(setting, alpha):
    A, edges, W = setting
    W = soften(W.argmax(axis=1), 4)
    last = dense_objective(A, W, alpha)
    for _ in range(300):
        W = relaxed_step(W, gradients(edges, W, alpha))
        now = dense_objective(A, W, alpha)
        assert now <= last * (1 + 1e-13)
        np.testing.assert_allclose(W.sum(axis=1), 1)
        last = now


def test_the_descent_ends_where_the_conditions_of_optimality_hold(setting):
    _, edges, W = setting
    alpha = 1.5
    end = descend(edges, W, alpha, 20_000, 0.0)
    at = gradients(edges, end.assignments, alpha)
    slope = (at.plus - at.minus) / end.assignments
    # All assignments are positive, so within a row the slopes are all equal.
    assert np.ptp(slope, axis=1).max() < 1e-3 * np.abs(slope).max()


def test_a_worse_step_is_not_taken(setting, monkeypatch):
    _, edges, W = setting
    monkeypatch.setattr("lapmodes.paper.rivals.data_cluster_data.relaxed_step", lambda W, at: W[::-1].copy())
    end = descend(edges, W, 1.0, 10, 0.0)
    assert end.objective <= gradients(edges, W, 1.0).objective


def test_the_best_start_is_kept(blobs):
    X, _ = blobs
    each = [DataClusterData(6, init=kind, random_state=0).fit(X).objective_ for kind in ("ncut", "k-means")]
    both = DataClusterData(6, init=("ncut", "k-means"), random_state=0).fit(X)
    assert both.objective_ <= each[0]
    np.testing.assert_allclose(both.assignments_.sum(axis=1), 1)


def test_points_without_edges_keep_their_start():
    W = sp.csr_array(sp.block_diag([sp.csr_array(np.ones((3, 3))), np.ones((3, 3)), np.zeros((1, 1))]))
    model = DataClusterData(2, init="ncut", random_state=0).fit(np.arange(7.0)[:, None], graph=W)
    assert np.isfinite(model.assignments_).all()


def test_a_graph_without_edges_is_refused():
    with pytest.raises(ValueError, match="at least one edge"):
        DataClusterData(2).fit(np.eye(4), graph=sp.eye_array(4, format="csr"))
