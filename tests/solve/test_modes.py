"""The C-step: modes climb, rest where the gradient vanishes, and do not depend on how rows are stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kernel

from lapmodes._records import Points
from lapmodes.solve.modes import Members, shift_modes


def values(X, Z, C, sigma):
    return (Z * kernel(X, C, sigma)).sum(axis=0)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), sigma=st.floats(0.2, 5), adaptive=st.booleans(), steps=st.integers(1, 5))
def test_density_at_the_modes_never_falls(seed, sigma, adaptive, steps):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(60, 3)), rng.dirichlet(np.ones(4), 60)
    widths = sigma * rng.uniform(0.5, 2, 60) if adaptive else sigma
    C = X[:4] + 0.3
    moved = shift_modes(Points(X), Z, C, widths, tol=0.0, max_iter=steps)
    assert np.all(values(X, Z, moved.C, widths) >= values(X, Z, C, widths) * (1 - 1e-12))


@pytest.mark.parametrize("adaptive", [False, True])
def test_modes_are_stationary_points_of_their_cluster_density(adaptive):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(200, 2)), rng.dirichlet(np.ones(3), 200)
    sigma = rng.uniform(0.5, 1, 200) if adaptive else 0.7
    C = shift_modes(Points(X), Z, X[:3].copy(), sigma, tol=1e-12, max_iter=5000).C
    weight = Z * kernel(X, C, sigma) / np.square(np.broadcast_to(sigma, 200))[:, None]
    gradient = np.einsum("nk,nkd->kd", weight, X[:, None] - C[None])
    np.testing.assert_allclose(gradient, 0, atol=1e-8)


def test_infinite_bandwidth_is_the_weighted_mean():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(100, 5)), rng.dirichlet(np.ones(3), 100)
    moved = shift_modes(Points(X), Z, X[:3].copy(), np.inf, tol=1e-9)
    np.testing.assert_allclose(moved.C, Z.T @ X / Z.sum(axis=0)[:, None], atol=1e-12)
    assert moved.n_iter == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-30, 1e-12, 1e-3])
def test_tiny_bandwidth_does_not_underflow(dtype, sigma):
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(dtype)
    C = shift_modes(Points(X), np.ones((50, 1), dtype), np.zeros((1, 2), dtype), sigma, tol=1e-9).C
    assert np.isfinite(C).all()
    assert np.abs(X - C).sum(axis=1).min() < 1e-5


def test_empty_cluster_keeps_its_mode():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Z = np.zeros((30, 2))
    Z[:, 0] = 1
    moved = shift_modes(Points(X), Z, np.array([[0.0, 0.0], [9.0, 9.0]]), 1.0, tol=1e-6)
    assert np.linalg.norm(moved.C[0]) < 1
    np.testing.assert_array_equal(moved.C[1], [9, 9])


def test_dense_and_sparse_points_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.3)
    Z = rng.dirichlet(np.ones(4), 300)
    one, two = (shift_modes(Points(M, 2), Z, X[:4].copy(), 1.0, tol=1e-10).C for M in (X, sp.csr_array(X)))
    np.testing.assert_allclose(one, two, atol=1e-10)


def test_extrapolation_saves_steps_and_ends_where_mean_shift_ends():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(500, 4)) * [1, 1.5, 2, 0.5], np.ones((500, 1))
    tol, sigma, plain, n_plain, step = 1e-8, 1.5, X[:1].copy(), 0, np.inf
    while step > tol:
        weight = kernel(X, plain, sigma)[:, 0]
        target = weight @ X / weight.sum()
        step, plain, n_plain = np.linalg.norm(target - plain[0]), target[None], n_plain + 1
    found = shift_modes(Points(X), Z, X[:1].copy(), sigma, tol=tol, max_iter=5000)
    np.testing.assert_allclose(found.C, plain, atol=1e-6)
    assert 2 * found.n_iter < n_plain


@pytest.mark.parametrize("sigma", [0.5, np.inf, "each"])
@pytest.mark.parametrize("csr", [False, True])
def test_modes_move_alike_with_dense_and_sparse_assignments(sigma, csr):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 3))
    Z = rng.dirichlet(np.full(6, 0.1), 200) * (rng.random((200, 6)) < 0.5)
    Z[:, 5] = 0
    width = rng.random(200) + 0.5 if sigma == "each" else sigma
    points = Points(sp.csr_array(X) if csr else X)
    one, two = (shift_modes(points, each, X[:6].copy(), width, tol=1e-6) for each in (Z, sp.csr_array(Z)))
    np.testing.assert_allclose(one.C, two.C, atol=1e-9)
    np.testing.assert_array_equal(one.C[5], X[5])
    assert one.moved == pytest.approx(np.linalg.norm(one.C - X[:6], axis=1).max())


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5000), K=st.integers(1, 12), share=st.floats(0, 1))
def test_member_lists_hold_the_positive_entries_in_order(seed, n, K, share):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, K)) * (rng.random((n, K)) < share)
    expected = sp.csc_array(Z)
    for members in (Members.of(Z, 2), Members.of(sp.csr_array(Z), 2)):
        np.testing.assert_array_equal(members.indptr, expected.indptr)
        np.testing.assert_array_equal(members.rows, expected.indices)
        np.testing.assert_array_equal(members.values, expected.data)


@settings(max_examples=50)
@given(sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=8), D=st.integers(1, 10_000), seed=st.integers(0, 99))
def test_pieces_cover_the_lists_of_active_clusters_once(sizes, D, seed):
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    active = np.random.default_rng(seed).random(len(sizes)) < 0.7
    members = Members(indptr, np.zeros(indptr[-1], np.int32), np.ones(indptr[-1]))
    pieces = members.pieces(active, D)
    seen = [i for _, start, stop in pieces.bounds for i in range(start, stop)]
    assert seen == [i for k in np.flatnonzero(active) for i in range(indptr[k], indptr[k + 1])]
    assert np.all(indptr[pieces.owner] <= pieces.bounds[:, 1])
    assert np.all(pieces.bounds[:, 2] <= indptr[pieces.owner + 1])


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_do_not_change_a_bit(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 24)).astype(np.float32) * (rng.random((20_000, 24)) < 0.4)
    Z = rng.dirichlet(np.full(3, 0.3), 20_000).astype(np.float32)
    X = np.ascontiguousarray(X, dtype=np.float32)
    found = [
        shift_modes(Points(sp.csr_array(X) if sparse else X, threads), Z, X[:3].copy(), 1.0, tol=1e-6).C
        for threads in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_points_of_negligible_weight_change_nothing():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(3000, 2))
    far = 40 + rng.normal(size=(3000, 2))
    with_far = np.concatenate([near, far])
    C = np.zeros((1, 2))
    one, two = (shift_modes(Points(X), np.ones((len(X), 1)), C, 1.0, tol=1e-9).C for X in (near, with_far))
    np.testing.assert_allclose(one, two, rtol=1e-12)
