"""Mixtures of Gaussians of four kinds, checked against another implementation, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from lapmodes import select
from lapmodes._gaussians import KINDS, count_gaussians, fit_gaussians, free_numbers, products
from lapmodes._rows import one_hot

NAMES = dict(zip(KINDS, ("full", "tied", "diag", "spherical"), strict=True))


@pytest.fixture(scope="module")
def three():
    """Three stretched clusters that overlap a little."""
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 400)
    places = np.array([[0, 0, 0], [4, 4, 0], [0, 5, 5]])
    return rng.normal(size=(1200, 3)) @ rng.normal(size=(3, 3)) + places[y], y


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_as_likely_as_scikit_learns(three, kind):
    X, y = three
    P = products(X, kind)
    height, Z, weights = fit_gaussians(X, P, one_hot(y, 3, np.float64), kind, 1e-9)
    theirs = GaussianMixture(
        3, covariance_type=NAMES[kind], tol=1e-9, max_iter=500, means_init=[X[y == k].mean(axis=0) for k in range(3)]
    ).fit(X)
    assert height == pytest.approx(theirs.score(X), abs=1e-3)
    assert free_numbers(3, 3, kind) == theirs._n_parameters()
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    np.testing.assert_array_equal((P @ weights).argmax(axis=1), Z.argmax(axis=1))
    assert adjusted_rand_score(theirs.predict(X), Z.argmax(axis=1)) > 0.98


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_never_lowers_the_likelihood(three, kind, monkeypatch):
    """The prior of a few points is no part of the likelihood, so a step may lose a little of it."""
    X = three[0]
    start = one_hot(np.random.default_rng(0).integers(0, 4, len(X)), 4, np.float64)
    heights = []
    for steps in range(1, 30):
        monkeypatch.setattr("lapmodes._gaussians.STEPS", steps)
        heights.append(fit_gaussians(X, products(X, kind), start, kind, -np.inf)[0])
    assert np.diff(heights).min() > -1e-3


def overlapping(K, d, n, rng):
    """Round clusters whose centres are three widths apart, on average; and their most likely labels."""
    places = 3 / np.sqrt(2) * rng.normal(size=(K, d)) * np.sqrt(2 / d) * 1.5
    y = np.arange(n) % K
    X = rng.normal(size=(n, d)) + places[y]
    return X, np.argmax([multivariate_normal.logpdf(X, place) for place in places], axis=0)


def test_overlapping_gaussians_are_counted():
    counts = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, likely = overlapping(6, 8, 900, rng)
        found = count_gaussians(X, 20, np.random.RandomState(0))
        counts.append(None if found is None else found[0])
        if counts[-1] == 6:
            assert adjusted_rand_score(likely, found[2]) > 0.9
            assert found[1][6] == 1 == max(found[1].values())
    assert set(counts) <= {5, 6, 7, None} and counts.count(6) >= 4


def test_a_ring_and_a_box_are_no_gaussians():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 800)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(800, 2))
    for X in (ring, rng.uniform(size=(800, 2))):
        assert count_gaussians(X, 20, np.random.RandomState(0)) is None


def test_one_gaussian_is_one_and_nothing_hangs_on_the_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    for scale in (1e-9, 1.0, 1e9):
        assert count_gaussians(scale * X, 20, np.random.RandomState(0))[0] == 1
    found = select(X, random_state=0)
    assert (found.n_clusters, found.verdict, found.preferred["mixture"]) == (1, "none", 1)


@pytest.mark.parametrize("X", [np.zeros((60, 2)), np.repeat(np.eye(3), 30, axis=0), np.zeros((3, 2))])
def test_equal_points_are_no_trouble(X):
    found = count_gaussians(X, 10, np.random.RandomState(0))
    assert found is None or 1 <= found[0] <= 3


def test_select_takes_the_number_that_a_mixture_speaks_for():
    X, likely = overlapping(6, 8, 900, np.random.default_rng(1))
    found = select(X, random_state=0)
    assert (found.n_clusters, found.best, found.verdict) == (6, 6, "clear")
    assert found.preferred["mixture"] == 6 != found.preferred["stability"]
    assert adjusted_rand_score(likely, found.labels[6]) > 0.9
    assert found.coarser < 6 < found.finer
    few = select(X, [2, 3], random_state=0)
    assert "mixture" not in few.preferred and np.isnan(few.table["mixture"]).all()
