"""K-means starts: as good as scikit-learn's, and weights count as copies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from lapmodes._records import Points, Problem
from lapmodes.graph.laplacian import empty_graph
from lapmodes.start.k_means import best_kmeans, plus_plus_rows, start_from_modes


def problem_of(X, weight=None):
    return Problem(Points(X), empty_graph(X.shape[0], X.dtype), 0.0, np.inf, weight)


def inertia(X, start):
    return np.square(X[:, None] - start.C).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("K", [2, 5, 12])
def test_it_is_as_good_as_scikit_learns(K):
    X = make_blobs(400, 3, centers=12, random_state=1)[0]
    theirs = KMeans(K, n_init=10, random_state=0).fit(X).inertia_
    assert inertia(X, best_kmeans(problem_of(X), K, np.random.RandomState(0))) <= 1.02 * theirs


def test_modes_are_the_means_of_their_points():
    X = make_blobs(300, 2, centers=4, random_state=0)[0]
    start = best_kmeans(problem_of(X), 4, np.random.RandomState(0))
    np.testing.assert_allclose(start.C, start.Z.T @ X / start.Z.sum(axis=0)[:, None], atol=1e-2)
    assert start.prior is None


def test_sparse_rows_and_sparse_assignments_start_alike():
    X = make_blobs(300, 2, centers=4, random_state=0)[0]
    one = best_kmeans(problem_of(X), 4, np.random.RandomState(0))
    for rows, sparse in ((sp.csr_array(X), False), (X, True)):
        two = best_kmeans(problem_of(rows), 4, np.random.RandomState(0), sparse=sparse)
        labels = two.Z.toarray() if sparse else two.Z
        assert adjusted_rand_score(one.Z.argmax(axis=1), labels.argmax(axis=1)) == 1


def test_a_weight_counts_as_copies():
    X = make_blobs(120, 2, centers=3, random_state=2)[0]
    weight = np.random.default_rng(0).integers(1, 4, 120)
    one = best_kmeans(problem_of(X, weight.astype(float)), 3, np.random.RandomState(0))
    two = best_kmeans(problem_of(np.repeat(X, weight, axis=0)), 3, np.random.RandomState(0))
    order = [np.lexsort(each.C.T) for each in (one, two)]
    np.testing.assert_allclose(one.C[order[0]], two.C[order[1]], atol=1e-2)


def test_seeds_are_rows_apart_from_each_other_and_without_weight_never():
    X = np.repeat(10.0 * np.eye(5), 20, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(100, 5))
    weight = np.where(np.arange(100) < 80, 1.0, 0.0)
    for seed in range(10):
        rows = plus_plus_rows(Points(X), 4, np.random.RandomState(seed), weight)
        assert sorted(rows // 20) == [0, 1, 2, 3]
    few = np.zeros((6, 2))  # all the same: any rows will do
    assert plus_plus_rows(Points(few), 3, np.random.RandomState(0)).max() < 6


def test_points_start_with_the_nearest_of_given_modes():
    X = np.random.default_rng(0).normal(size=(50, 2))
    start = start_from_modes(Points(X), X[:3].copy())
    np.testing.assert_array_equal(start.Z.argmax(axis=1), np.square(X[:, None] - X[:3]).sum(axis=2).argmin(axis=1))
