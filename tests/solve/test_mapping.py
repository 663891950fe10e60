"""The out-of-sample mapping: eq. (6) of the paper, and what it minimises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kernel, mapped, project, simplex_qp, squared_distances

from lapmodes._records import Points
from lapmodes.solve.mapping import Reference, map_points

M, N, K, D = 40, 30, 5, 3
SIGMA = 1.5


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    cross = rng.random((M, N)) * (rng.random((M, N)) < 0.2)
    cross[:, 0] += 0.01
    return cross, rng.dirichlet(np.ones(K), N), rng.normal(size=(M, D)), rng.normal(size=(K, D))


def answer(cross, Z, X, C, lam, sigma=SIGMA, threads=1, **terms):
    out = np.full((X.shape[0], C.shape[0]), np.nan, dtype=X.dtype)
    links = None if cross is None else sp.csr_array(cross).astype(X.dtype)
    map_points(Points(X, threads), links, sigma, Reference(Z, C, lam, **terms), out)
    return out


@pytest.mark.parametrize("lam", [1e-3, 0.3, 50.0])
def test_closed_form_agrees_with_a_qp_solver(problem, lam):
    cross, Z, X, C = problem
    for w, b, z in zip(cross, kernel(X, C, SIGMA), answer(*problem, lam), strict=True):
        P, q = 2 * lam * w.sum() * np.eye(K), -2 * lam * (w @ Z) - b
        scale = np.abs(q).max()
        np.testing.assert_allclose(z, simplex_qp(P / scale, q / scale, 1, K)[0], atol=1e-8)


def test_it_is_the_papers_formula(problem):
    cross, Z, X, C = problem
    lam = 0.7
    for w, b, z in zip(cross, kernel(X, C, SIGMA), answer(*problem, lam), strict=True):
        mean, q, gamma = w @ Z / w.sum(), b / b.sum(), b.sum() / (2 * lam * w.sum())
        np.testing.assert_allclose(z, project(mean + gamma * q), atol=1e-12)


def test_normalized_laplacian_agrees_with_a_qp_solver(problem):
    cross, Z, X, C = problem
    degrees = np.random.default_rng(1).uniform(0.5, 2, N)
    for w, b, z in zip(cross, kernel(X, C, SIGMA), answer(*problem, 0.4, degrees=degrees), strict=True):
        q = -2 * 0.4 * (w / np.sqrt(w.sum() * degrees)) @ Z - b
        np.testing.assert_allclose(z, simplex_qp(0.8 * np.eye(K), q, 1, K)[0], atol=1e-8)


def test_points_without_neighbours_and_lam_zero_go_to_the_nearest_mode(problem):
    cross, Z, X, C = problem
    nearest = np.eye(K)[squared_distances(X, C).argmin(axis=1)]
    np.testing.assert_array_equal(answer(None, Z, X, C, 0.0), nearest)
    np.testing.assert_array_equal(answer(cross, Z, X, C, 0.0), nearest)
    np.testing.assert_array_equal(answer(np.zeros((M, N)), Z, X, C, 1.0), nearest)
    np.testing.assert_array_equal(answer(np.full((M, N), 1e-320), Z, X, C, 1e-3), nearest)
    single = [each.astype(np.float32) for each in (Z, X, C)]
    np.testing.assert_array_equal(answer(np.full((M, N), 1e-44), *single, 1e-3), nearest)
    np.testing.assert_array_equal(answer(cross, Z, 1e100 * X, 1e100 * C, 1e-120, sigma=np.inf), nearest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_of_faintly_linked_points_is_as_good_as_any(problem, dtype):
    cross, Z, X, C = problem[0], *(each.astype(dtype) for each in problem[1:])
    faint = 10 * float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(
        answer(np.where(cross > 0, faint, 0), Z, X, C, 1 / faint),
        answer(cross > 0, Z, X, C, 1.0),
        atol=20 * np.finfo(dtype).eps,
    )


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "k": st.integers(1, 45),
        "dtype": st.sampled_from([np.float32, np.float64]),
        "terms": st.sets(st.sampled_from(["sample_weight", "degrees"])),
        "sigma": st.sampled_from(["one", "each", "infinite"]),
        "sparse": st.sets(st.sampled_from(["X", "Z"])),
        "lam": st.floats(1e-3, 1e3),
    }
)


@settings(max_examples=200)
@given(CASES)
def test_native_loop_agrees_with_the_formula(case):
    rng = np.random.default_rng(case["seed"])
    k, dtype = case["k"], case["dtype"]
    cross = (rng.random((M, N)) * (rng.random((M, N)) < rng.random((M, 1)) ** 2)).astype(dtype)
    Z = rng.dirichlet(np.full(k, 0.2), N).astype(dtype)
    X, C = (rng.normal(size=(rows, D)).astype(dtype) for rows in (M, k))
    terms = {
        "sample_weight": rng.uniform(0.1, 3, N).astype(dtype),
        "degrees": (rng.uniform(0.5, 2, N) * (rng.random(N) < 0.9)).astype(dtype),
    }
    terms = {name: terms[name] for name in case["terms"]}
    sigma = {"one": SIGMA, "each": rng.uniform(0.5, 2, M).astype(dtype), "infinite": np.inf}[case["sigma"]]
    d2 = squared_distances(X, C.astype(float))
    B = kernel(X.astype(float), C.astype(float), sigma)
    expected = mapped(cross, Z, B, d2, case["lam"], **terms)
    got = answer(
        cross,
        sp.csr_array(Z) if "Z" in case["sparse"] else Z,
        sp.csr_array(X) if "X" in case["sparse"] else X,
        C,
        case["lam"],
        sigma,
        **terms,
    )
    # what is projected is as large as the pull, and so is its rounding
    weights = cross.sum(axis=1, dtype=float) * (0.3 if "sample_weight" in terms else 1)
    least = 1.0 if "degrees" in terms else np.where(weights > 0, weights, np.inf).min()
    size = 1 + np.abs(B).max() / (2 * case["lam"] * least)
    np.testing.assert_allclose(got, expected, atol=50 * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_neither_threads_nor_rows_beside_it_change_a_bit(dtype, sparse):
    rng = np.random.default_rng(0)
    cross = sp.random_array((3001, N), density=0.2, rng=rng, format="csr", dtype=dtype)
    Z, X = rng.dirichlet(np.ones(K), N).astype(dtype), rng.normal(size=(3001, D)).astype(dtype)
    Z = sp.csr_array(Z) if sparse else Z
    C = X[:K].copy()
    one, three = (answer(cross, Z, X, C, 0.5, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    np.testing.assert_array_equal(answer(cross[1234:1301], Z, X[1234:1301], C, 0.5), one[1234:1301])


def test_neighbours_that_do_not_exist_are_refused(problem):
    cross, Z, X, C = problem
    with pytest.raises(ValueError, match="n_train - 1"):
        answer(sp.csr_array(cross), Z[:-1], X, C, 1.0)
    with pytest.raises(ValueError, match="indptr"):
        answer(sp.csr_array(cross[:-1]), Z, X, C, 1.0)
