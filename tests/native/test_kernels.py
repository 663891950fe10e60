from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel, project, random_affinity

from lapmodes import _native
from lapmodes._records import Points
from lapmodes.graph.laplacian import build_graph
from lapmodes.solve.modes import shift_modes
from lapmodes.solve.objective import block_statistics, certify, kernel_values

ISAS = {"baseline": ["baseline"], "avx2": ["baseline", "avx2"], "avx512": ["baseline", "avx2", "avx512"]}


@pytest.fixture(params=ISAS[_native.isa()])
def isa(request):
    before = _native.isa()
    _native.set_isa(request.param)
    yield request.param
    _native.set_isa(before)


def sweep(graph, B, lam, Z, Z_old, WZ_old, momentum, threads=1):
    Z_next, WZ = Z_old.copy(), WZ_old.copy()
    step = (1 / (4 * lam * graph.diagonal)).astype(B.dtype)
    stats = block_statistics(len(B))
    changed_at, announced_at = np.zeros(len(B), np.uint8), np.full(len(B), -9, np.int32)
    row_stats = np.zeros((len(stats), 3, _native.BLOCK_ROWS), B.dtype)
    state = changed_at, announced_at, 0, 1000, row_stats, stats
    _native.sweep(*graph.arrays, B, lam, Z, Z_next, WZ, step, momentum, *state, threads)
    return Z_next, WZ, stats.sum(axis=0)


@pytest.mark.parametrize("K", [1, 2, 5, 9, 10, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweep_is_one_step_of_algorithm_1(isa, K, dtype):
    rng = np.random.default_rng(K)
    n, lam, momentum = 300, 0.7, 0.6
    graph = build_graph((random_affinity(rng, n, 0.05) + sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)).astype(dtype))
    B = rng.random((n, K)).astype(dtype)
    Z, Z_old = (rng.dirichlet(np.ones(K), n).astype(dtype) for _ in range(2))
    Z_next, WZ, (smooth, fidelity, gap, _) = sweep(graph, B, lam, Z, Z_old, graph.weights @ Z_old, momentum)

    Y = Z.astype(float) + momentum * (Z.astype(float) - Z_old)
    L, W = graph.laplacian.astype(float), graph.weights.astype(float)
    G = 2 * lam * (L @ Y) - B
    expected = [project(row) for row in Y - G / (4 * lam * graph.diagonal.astype(float))[:, None]]
    tol = 5e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(Z_next, expected, atol=tol)
    np.testing.assert_allclose(WZ, W @ Z, rtol=1e-5)
    GZ = 2 * lam * (L @ Z) - B
    np.testing.assert_allclose(smooth, np.sum(Z * (L @ Z)), rtol=1e3 * tol, atol=n * tol)
    np.testing.assert_allclose(fidelity, np.sum(B * Z), rtol=1e3 * tol)
    np.testing.assert_allclose(gap, np.sum(GZ * Z) - GZ.min(axis=1).sum(), rtol=1e3 * tol, atol=tol)
    assert certify(graph, B, lam, Z).gap == pytest.approx(gap, rel=1e3 * tol, abs=1e3 * tol)


@pytest.mark.parametrize("K", [1, 3, 9, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_left_out_as_inactive_would_not_have_changed(isa, K, dtype):
    rng = np.random.default_rng(K)
    n, lam = 600, 0.05
    graph = build_graph(random_affinity(rng, n, 0.01).astype(dtype))
    B = rng.random((n, K)).astype(dtype) ** 8
    step = (1 / np.maximum(4 * lam * graph.diagonal, 0.1)).astype(dtype)
    start = np.eye(K, dtype=dtype)[B.argmax(axis=1)]
    stats, row_stats = statistics(n), np.zeros((3, 3, _native.BLOCK_ROWS), dtype)
    state = np.zeros(n, np.uint8), np.full(n, -9, np.int32)
    some, every = ([start.copy(), start.copy(), (graph.weights @ start).astype(dtype)] for _ in range(2))
    inactive = 0
    for number in range(40):
        sweep_stats = number + 1000 if number == 0 else 1
        _native.sweep(*graph.arrays, B, lam, *some, step, 0.5, *state, number, sweep_stats, row_stats, stats, threads=1)
        sums = stats[:, :3].copy()
        fresh = np.zeros(n, np.uint8), np.full(n, -9, np.int32), 0, 1000, np.zeros_like(row_stats), stats
        _native.sweep(*graph.arrays, B, lam, *every, step, 0.5, *fresh, threads=1)
        np.testing.assert_array_equal(some[1], every[1])
        np.testing.assert_array_equal(sums, stats[:, :3])
        inactive += np.count_nonzero(np.uint8(number) - state[0] > 5)
        for iterates in (some, every):
            iterates[:2] = iterates[1], iterates[0]
    assert inactive > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [1, 5, 30])
def test_row_ranges(isa, K, dtype):
    B = np.random.default_rng(K).normal(1, 1, size=(700, K)).astype(dtype)
    sums = np.empty(3)
    _native.row_ranges(B, sums, 2)
    exact = B.astype(float)
    expected = (exact.max(axis=1) - np.minimum(exact.min(axis=1), 0)).sum()
    assert sums.sum() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [1, 7, 16, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_values(isa, K, dtype, sparse):
    rng = np.random.default_rng(K)
    X = (rng.normal(size=(257, 9)) * (rng.random((257, 9)) < 0.5)).astype(dtype)
    C = X[:K] + dtype(0.1)
    widths = rng.uniform(0.3, 2, 257).astype(dtype)
    points = Points(sp.csr_array(X) if sparse else X, 2)
    for sigma in (0.8, widths):
        B = kernel_values(points, C, sigma)
        assert B.dtype == dtype
        # sparse distances come from norms and inner products, which cancel
        tol = np.finfo(dtype).eps * (200 if sparse else 20)
        np.testing.assert_allclose(B, kernel(X.astype(float), C.astype(float), sigma), atol=tol)


def test_exponential_is_accurate_to_rounding(isa):
    for dtype, reach in ((np.float32, 80), (np.float64, 700)):
        X = np.sqrt(2 * np.linspace(0, reach, 20001)).astype(dtype)[:, None]
        B = kernel_values(Points(X, 1), np.zeros((1, 1), dtype), 1.0)[:, 0]
        exact = np.exp(-np.square(X[:, 0]).astype(np.longdouble) / 2)
        assert np.abs(B / exact - 1).max() <= 2 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype):
    rng = np.random.default_rng(0)
    n, K = 5000, 6
    X = rng.normal(size=(n, 3)).astype(dtype)
    W = sp.random_array((n, n), density=2e-3, rng=rng, format="csr", dtype=dtype)
    graph = build_graph(W + W.T)
    Z = rng.dirichlet(np.ones(K), n).astype(dtype)
    B = kernel_values(Points(X, 1), X[:K].copy(), 1.0)
    one, two = (sweep(graph, B, 0.5, Z, Z, graph.weights @ Z, 0.3, threads) for threads in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(kernel_values(Points(X, 3), X[:K].copy(), 1.0), B)
    moved = [shift_modes(Points(X, t), Z, X[:K].copy(), 0.5, tol=1e-6).C for t in (1, 2, 3)]
    np.testing.assert_array_equal(moved[0], moved[1])
    np.testing.assert_array_equal(moved[0], moved[2])


def test_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="no 'sse9' kernels"):
        _native.set_isa("sse9")


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="must be \\(n, k\\)"):
        _native.project_rows(np.zeros(3), 1)
    with pytest.raises(TypeError):
        _native.project_rows(np.zeros((3, 2), dtype=int), 1)


def test_points_of_another_precision_are_refused():
    lanes, B = _native.LANES_FLOAT64, np.empty((3, 1))
    modes = np.zeros((2, lanes)), np.zeros(lanes), np.ones(1), False
    with pytest.raises(TypeError, match="wrong type"):
        _native.kernel_values((np.zeros((3, 2), np.float32),), *modes, B, 1)
    with pytest.raises(ValueError, match="points must be"):
        _native.kernel_values((np.zeros((3, 2)), 1), *modes, B, 1)
