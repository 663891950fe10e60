"""Mixtures: nearly the most likely components, at any scale, and bad data is no trouble."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal, ortho_group
from sklearn.metrics import adjusted_rand_score

from lapmodes._records import Points
from lapmodes.start import mixture
from lapmodes.start.mixture import mixture_labels, mixture_likeness

SHAPES = [([0, 0], [[1, 0.8], [0.8, 1]]), ([3, 0], [[1, 0.8], [0.8, 1]]), ([0, 6], [[2, 0], [0, 2]])]


@pytest.fixture
def gaussians():
    """Two long clusters beside each other and a round one, and the most likely component of each point."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.multivariate_normal(*shape, 150) for shape in SHAPES])
    return X, np.argmax([multivariate_normal.pdf(X, *shape) for shape in SHAPES], axis=0)


@pytest.mark.parametrize("sample", [300, 10**6])
def test_most_runs_find_nearly_the_labels_of_the_true_densities(gaussians, sample, monkeypatch):
    """One run of EM may end elsewhere; also where it sees only a sample."""
    X, y = gaussians
    monkeypatch.setattr(mixture, "SAMPLE_ROWS", sample)
    found = [adjusted_rand_score(y, mixture_labels(Points(X), 3, seed)) > 0.9 for seed in range(10)]
    assert np.count_nonzero(found) > 5


def test_of_several_starts_the_most_likely_counts(gaussians):
    X, y = gaussians
    bad = np.random.default_rng(0).permutation(y)
    for seed in range(10):
        assert adjusted_rand_score(y, mixture_labels(Points(X), 3, seed, [bad, y])) > 0.9


def test_a_point_of_size_two_is_there_twice(gaussians):
    X, y = gaussians
    sizes = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = mixture_labels(Points(np.repeat(X, sizes, axis=0)), 3, 0, [np.repeat(y, sizes)])
    np.testing.assert_array_equal(
        mixture_labels(Points(X), 3, 0, [y], sizes), repeated[np.append(0, np.cumsum(sizes)[:-1])]
    )


def test_one_covariance_is_shared_where_that_says_as_much():
    """Fifteen points a cluster say too little about their own covariance in eight dimensions."""
    rng = np.random.default_rng(0)
    width = np.array([3.0, *[0.3] * 7])
    y = np.repeat(range(4), 15)
    X = rng.normal(size=(60, 8)) * width + 2 * np.eye(4, 8)[:, ::-1][y]
    assert adjusted_rand_score(y, mixture_labels(Points(X), 4, 0, [y])) == 1


def test_leading_axes_tell_clusters_apart_in_many_dimensions():
    """Three clusters that overlap a little in the plane, among 40 dimensions that say nothing."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    X = np.column_stack([rng.normal(size=(300, 2)) + 5 * np.eye(3, 2)[y], 0.3 * rng.normal(size=(300, 40))])
    X = X @ ortho_group.rvs(42, random_state=0)
    assert adjusted_rand_score(y, mixture_labels(Points(X), 3, 0)) > 0.9
    assert adjusted_rand_score(y, mixture_labels(Points(sp.csr_array(X)), 3, 0)) > 0.9
    assert mixture_likeness(Points(X), y, 3, 0) > 0.7


def test_points_look_like_the_gaussians_that_they_were_drawn_from():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 400)
    gaussians = rng.normal(size=(800, 2)) * [1, 0.2] + 3 * y[:, None]
    ring = np.column_stack([np.cos(np.arange(400.0)), np.sin(np.arange(400.0))]) * rng.uniform(0.95, 1.05, (400, 1))
    rings = np.concatenate([ring, ring * 0.3])
    alike, unlike = (mixture_likeness(Points(X), y, 2, 0) for X in (gaussians, rings))
    assert 0 <= unlike < 0.5 < 0.8 < alike <= 1
    assert mixture_likeness(Points(gaussians), np.zeros(800, int), 1, 0) < alike
    assert mixture_likeness(Points(np.zeros((9, 2))), np.zeros(9, int), 1, 0) <= 1


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_does_not_matter_and_the_seed_decides(gaussians, scale):
    X, _ = gaussians
    np.testing.assert_array_equal(mixture_labels(Points(scale * X), 3, 5), mixture_labels(Points(X), 3, 5))


def test_neither_sparse_rows_nor_blocks_matter(gaussians, monkeypatch):
    X, _ = gaussians
    whole = mixture_labels(Points(X), 3, 0)
    assert adjusted_rand_score(whole, mixture_labels(Points(sp.csr_array(X)), 3, 0)) > 0.99
    monkeypatch.setattr(mixture, "BLOCK_ENTRIES", 70)
    np.testing.assert_array_equal(mixture_labels(Points(X), 3, 0), whole)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_fewer_distinct_points_than_clusters(n):
    labels = mixture_labels(Points(np.zeros((n, 2))), 3, 0)
    assert labels.shape == (n,) and labels.min() >= 0 and labels.max() < 3
