"""Mixtures: nearly the most likely components, at any scale, and bad data is no trouble."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from lapmodes._records import Points
from lapmodes.start import mixture
from lapmodes.start.mixture import mixture_labels

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
    monkeypatch.setattr(mixture, "MANY_POINTS", sample)
    found = [adjusted_rand_score(y, mixture_labels(Points(X), 3, seed)) > 0.9 for seed in range(10)]
    assert np.count_nonzero(found) > 5


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_does_not_matter_and_the_seed_decides(gaussians, scale):
    X, _ = gaussians
    np.testing.assert_array_equal(mixture_labels(Points(scale * X), 3, 5), mixture_labels(Points(X), 3, 5))


def test_neither_sparse_rows_nor_blocks_matter(gaussians, monkeypatch):
    X, _ = gaussians
    whole = mixture_labels(Points(X), 3, 0)
    assert adjusted_rand_score(whole, mixture_labels(Points(sp.csr_array(X)), 3, 0)) > 0.99
    monkeypatch.setattr(mixture, "BLOCK_ROWS", 70)
    np.testing.assert_array_equal(mixture_labels(Points(X), 3, 0), whole)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_fewer_distinct_points_than_clusters(n):
    labels = mixture_labels(Points(np.zeros((n, 2))), 3, 0)
    assert labels.shape == (n,) and labels.min() >= 0 and labels.max() < 3
