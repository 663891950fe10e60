from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import random_affinity

from lapmodes.baselines import GraphNMF
from lapmodes.graph.laplacian import build_graph
from lapmodes.paper.rivals.graph_nmf import Factors, factorize, random_start, update_coefficients


def dense_objective(X, L, lam, U, V):
    return np.square(X - V @ U.T).sum() + lam * np.trace(V.T @ L @ V)


@pytest.fixture
def setting():
    rng = np.random.default_rng(0)
    X = rng.random((30, 12)) * (rng.random((30, 12)) < 0.5)
    return X, build_graph(random_affinity(rng, 30, 0.2)), np.random.RandomState(1)


@pytest.mark.parametrize("lam", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_objective_is_right_and_never_rises(setting, lam, sparse):
    X, graph, rng = setting
    at = random_start(X, 4, rng)
    at = Factors(at.U, at.V, dense_objective(X, graph.laplacian.toarray(), lam, at.U, at.V))
    for n_iter in range(1, 60):
        new = factorize(sp.csr_array(X) if sparse else X, graph, lam, at, n_iter, 0.0)
        assert new.objective == pytest.approx(dense_objective(X, graph.laplacian.toarray(), lam, new.U, new.V))
        assert new.objective <= at.objective * (1 + 1e-12)
        at = new
    assert (at.U >= 0).all()
    assert (at.V >= 0).all()


@pytest.mark.parametrize("lam", [0.0, 5.0])
def test_the_updates_follow_the_gradient(setting, lam):
    """V moves by -V / below times the gradient, checked against finite differences of the dense objective."""
    X, graph, rng = setting
    L = graph.laplacian.toarray()
    start = random_start(X, 3, rng)
    U, V = start.U, start.V
    below = V @ U.T @ U + lam * graph.degrees[:, None] * V
    gradient = np.empty_like(V)
    for n, k in np.ndindex(*V.shape):
        bump = np.zeros_like(V)
        bump[n, k] = 1e-5
        up, down = dense_objective(X, L, lam, U, V + bump), dense_objective(X, L, lam, U, V - bump)
        gradient[n, k] = (up - down) / 2e-5
    np.testing.assert_allclose(
        update_coefficients(X, graph, lam, U, V), V - V / below * gradient / 2, rtol=1e-5, atol=1e-8
    )


def test_components_have_unit_length_and_keep_the_product(setting):
    X, graph, _ = setting
    model = GraphNMF(3, lam=1.0, max_iter=200, random_state=0).fit(X, graph=graph.affinity)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    error = np.square(X - model.coefficients_ @ model.components_).sum()
    assert error <= model.objective_
    assert error < np.square(X - X.mean()).sum()


def test_negative_points_are_refused():
    with pytest.raises(ValueError, match="Negative values in data passed to GraphNMF"):
        GraphNMF(2).fit(-np.eye(4))
