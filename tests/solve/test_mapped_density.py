"""Cluster densities against sums of normals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lapmodes._records import Points
from lapmodes.solve import mapping
from lapmodes.solve.mapping import log_cluster_sums


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("block", [3, 2048])
def test_agrees_with_a_sum_of_normals(adaptive, block, monkeypatch):
    monkeypatch.setattr(mapping, "BLOCK", block)
    rng = np.random.default_rng(0)
    X, Z, Q = rng.normal(size=(50, 3)), rng.dirichlet(np.ones(2), 50), rng.normal(size=(7, 3))
    sigma = rng.uniform(0.5, 1, 50) if adaptive else 0.6
    widths = np.broadcast_to(sigma, 50)
    N = np.array([multivariate_normal.pdf(Q, x, s * s) for x, s in zip(X, widths, strict=True)])
    got = log_cluster_sums(Points(X), Points(Q), Z, sigma)
    np.testing.assert_allclose(got, np.log(N.T @ Z), rtol=1e-10)


def test_far_points_and_high_dimension_do_not_underflow():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 800)), np.ones((20, 1))
    got = log_cluster_sums(Points(X), Points(1e3 + X[:2]), Z, 0.01)
    assert np.isfinite(got).all()
