from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kernel

from lapmodes.solve.modes import shift_modes
from lapmodes.solve.points import as_points


def values(X, Z, C, sigma):
    return (Z * kernel(X, C, sigma)).sum(axis=0)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sigma=st.floats(0.2, 5), adaptive=st.booleans(), steps=st.integers(1, 5))
def test_density_at_the_modes_never_falls(seed, sigma, adaptive, steps):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(60, 3)), rng.dirichlet(np.ones(4), 60)
    widths = sigma * rng.uniform(0.5, 2, 60) if adaptive else sigma
    C = X[:4] + 0.3
    moved = shift_modes(as_points(X, 1), Z, C, widths, tol=0.0, max_iter=steps)
    assert np.all(values(X, Z, moved.C, widths) >= values(X, Z, C, widths) * (1 - 1e-12))


@pytest.mark.parametrize("adaptive", [False, True])
def test_modes_are_stationary_points_of_their_cluster_density(adaptive):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(200, 2)), rng.dirichlet(np.ones(3), 200)
    sigma = rng.uniform(0.5, 1, 200) if adaptive else 0.7
    C = shift_modes(as_points(X, 1), Z, X[:3].copy(), sigma, tol=1e-12, max_iter=5000).C
    weight = Z * kernel(X, C, sigma) / np.square(np.broadcast_to(sigma, 200))[:, None]
    gradient = np.einsum("nk,nkd->kd", weight, X[:, None] - C[None])
    np.testing.assert_allclose(gradient, 0, atol=1e-8)


def test_infinite_bandwidth_is_the_weighted_mean():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(100, 5)), rng.dirichlet(np.ones(3), 100)
    moved = shift_modes(as_points(X, 1), Z, X[:3].copy(), np.inf, tol=1e-9)
    np.testing.assert_allclose(moved.C, Z.T @ X / Z.sum(axis=0)[:, None], atol=1e-12)
    assert moved.n_iter == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-30, 1e-12, 1e-3])
def test_tiny_bandwidth_does_not_underflow(dtype, sigma):
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(dtype)
    C = shift_modes(as_points(X, 1), np.ones((50, 1), dtype), np.zeros((1, 2), dtype), sigma, tol=1e-9).C
    assert np.isfinite(C).all()
    assert np.abs(X - C).sum(axis=1).min() < 1e-5


def test_empty_cluster_keeps_its_mode():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Z = np.zeros((30, 2))
    Z[:, 0] = 1
    moved = shift_modes(as_points(X, 1), Z, np.array([[0.0, 0.0], [9.0, 9.0]]), 1.0, tol=1e-6)
    assert moved.empty == (1,)
    np.testing.assert_array_equal(moved.C[1], [9, 9])


def test_dense_and_sparse_points_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.3)
    Z = rng.dirichlet(np.ones(4), 300)
    one, two = (shift_modes(as_points(M, 2), Z, X[:4].copy(), 1.0, tol=1e-10).C for M in (X, sp.csr_array(X)))
    np.testing.assert_allclose(one, two, atol=1e-10)


def test_leaps_save_steps_and_end_where_mean_shift_ends():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(500, 4)) * [1, 1.5, 2, 0.5], np.ones((500, 1))
    tol, sigma, plain, n_plain, step = 1e-8, 1.5, X[:1].copy(), 0, np.inf
    while step > tol:
        weight = kernel(X, plain, sigma)[:, 0]
        target = weight @ X / weight.sum()
        step, plain, n_plain = np.linalg.norm(target - plain[0]), target[None], n_plain + 1
    found = shift_modes(as_points(X, 1), Z, X[:1].copy(), sigma, tol=tol, max_iter=5000)
    np.testing.assert_allclose(found.C, plain, atol=1e-6)
    assert 2 * found.n_iter < n_plain
