from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import simplex_qp

from lapmodes.solve.mapping import map_points


@pytest.fixture
def new_points():
    rng = np.random.default_rng(0)
    M, N, K = 40, 30, 5
    cross = rng.random((M, N)) * (rng.random((M, N)) < 0.2)
    cross[:, 0] += 0.01
    Z = rng.dirichlet(np.ones(K), N)
    distances = rng.random((M, K))
    return cross, Z, np.exp(-distances), distances


@pytest.mark.parametrize("lam", [1e-3, 0.3, 50.0])
def test_closed_form_agrees_with_a_qp_solver(new_points, lam):
    cross, Z, B, distances = new_points
    got = map_points(sp.csr_array(cross), Z, B, distances, lam)
    for w, b, z in zip(cross, B, got, strict=True):
        P = 2 * lam * w.sum() * np.eye(5)
        q = -2 * lam * (w @ Z) - b
        scale = np.abs(q).max()
        np.testing.assert_allclose(z, simplex_qp(P / scale, q / scale, 1, 5)[0], atol=1e-8)


@pytest.mark.parametrize("normalized", [False, True])
def test_with_balance_heavy_clusters_attract_less(new_points, normalized):
    cross, Z, B, distances = new_points
    degrees = np.random.default_rng(1).uniform(0.5, 2, len(Z)) if normalized else None
    masses = 0.3 * Z.mean(axis=0)
    got = map_points(sp.csr_array(cross), Z, B, distances, 0.4, degrees, masses)
    for w, b, z in zip(cross, B, got, strict=True):
        own, toward = (w.sum(), w) if degrees is None else (1.0, w / np.sqrt(w.sum() * degrees))
        q = 0.8 * (own * masses - toward @ Z) - b
        np.testing.assert_allclose(z, simplex_qp(0.8 * own * np.eye(5), q, 1, 5)[0], atol=1e-8)


def test_it_is_the_papers_formula(new_points):
    cross, Z, B, distances = new_points
    lam = 0.7
    from reference import project

    for w, b, z in zip(cross, B, map_points(sp.csr_array(cross), Z, B, distances, lam), strict=True):
        mean, q, gamma = w @ Z / w.sum(), b / b.sum(), b.sum() / (2 * lam * w.sum())
        np.testing.assert_allclose(z, project(mean + gamma * q), atol=1e-12)


def test_normalized_laplacian_agrees_with_a_qp_solver(new_points):
    cross, Z, B, distances = new_points
    degrees = np.random.default_rng(1).uniform(0.5, 2, len(Z))
    got = map_points(sp.csr_array(cross), Z, B, distances, 0.4, degrees)
    for w, b, z in zip(cross, B, got, strict=True):
        q = -2 * 0.4 * (w / np.sqrt(w.sum() * degrees)) @ Z - b
        np.testing.assert_allclose(z, simplex_qp(0.8 * np.eye(5), q, 1, 5)[0], atol=1e-8)


def test_points_without_neighbours_and_lam_zero_go_to_the_nearest_mode(new_points):
    cross, Z, B, distances = new_points
    nearest = np.eye(5)[distances.argmin(axis=1)]
    np.testing.assert_array_equal(map_points(None, Z, B, distances, 0.0), nearest)
    nothing = sp.csr_array(cross.shape)
    np.testing.assert_array_equal(map_points(nothing, Z, B, distances, 1.0), nearest)
    faint = sp.csr_array(np.full(cross.shape, 1e-320))
    np.testing.assert_array_equal(map_points(faint, Z, B, distances, 1e-3), nearest)
