from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes.baselines import LeftStochastic
from lapmodes.paper.rivals.left_stochastic import (
    decomposition_error,
    first_corners,
    flatten,
    leading_rows,
    normalized,
    rotate,
)


def left_stochastic(K, n=60, seed=0):
    """Probabilities with each corner of the simplex among them, so that they are unique up to their order."""
    rng = np.random.default_rng(seed)
    return np.vstack([np.eye(K), np.eye(K), rng.dirichlet(np.full(K, 0.3), size=n)])


@pytest.mark.parametrize("K", [2, 3, 5])
def test_an_exact_decomposition_is_recovered(K):
    P = left_stochastic(K)
    model = LeftStochastic(K, normalize=False, tol=0.0, max_iter=5000, random_state=0)
    model.fit(P, graph=sp.csr_array(P @ P.T / 3.5))
    assert model.scale_ == pytest.approx(3.5)
    error = min(np.abs(model.assignments_[:, list(order)] - P).max() for order in permutations(range(K)))
    assert error < 1e-5
    assert model.objective_ == pytest.approx(0, abs=1e-8)


def test_rows_are_flattened_into_the_plane_of_the_simplex():
    P = left_stochastic(4)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    flat = flatten(0.3 * P @ turn)
    assert flat.scale == pytest.approx(1 / 0.09)
    inner = 1 / 4 + flat.q @ flat.q.T
    np.testing.assert_allclose(inner, P @ P.T, atol=1e-12)


def test_the_residual_never_rises_and_rows_are_the_nearest_on_the_simplex():
    rng = np.random.default_rng(2)
    flat = flatten(np.abs(rng.normal(size=(80, 5))))
    start = first_corners(flat, np.random.RandomState(0))
    runs = [rotate(flat, start, steps, 0.0) for steps in range(1, 40)]
    residuals = [run.objective for run in runs]
    assert all(new <= old * (1 + 1e-12) for old, new in pairwise(residuals))
    np.testing.assert_allclose(runs[-1].assignments.sum(axis=1), 1)
    assert runs[-1].assignments.min() >= 0
    # The first step only projects; no other row of the simplex may be nearer to what is projected.
    aim = 1 / 5 + flat.q @ start @ flat.basis.T
    others = rng.dirichlet(np.ones(5), size=(200, 80))
    assert (np.square(others - aim).sum(axis=2) >= np.square(runs[0].assignments - aim).sum(axis=1)).all()


def test_the_error_is_that_of_the_dense_product():
    rng = np.random.default_rng(3)
    S = rng.random((20, 20))
    S, P = S + S.T, rng.dirichlet(np.ones(3), size=20)
    assert decomposition_error(sp.csr_array(S), P, 0.7) == pytest.approx(np.square(S - P @ P.T / 0.7).sum())


@pytest.mark.parametrize("dense_points", [0, 800])
def test_leading_rows_are_the_best_approximation(dense_points, monkeypatch):
    monkeypatch.setattr("lapmodes.paper.rivals.left_stochastic.DENSE_POINTS", dense_points)
    S = np.random.default_rng(4).normal(size=(40, 40))
    S = S + S.T
    M = leading_rows(sp.csr_array(S), 3, np.random.RandomState(0))
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(M @ M.T, (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T, atol=1e-8)


def test_normalisation_takes_out_the_degrees():
    S = np.random.default_rng(5).random((6, 6))
    S = S + S.T
    root = np.sqrt(S.sum(axis=1))
    np.testing.assert_allclose(normalized(sp.csr_array(S)).toarray(), S / np.outer(root, root))
