"""Density modes: the hills that stand out most, by paths between all pairs of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from lapmodes.graph.neighbors import make_index
from lapmodes.graph.spanning import spanning_tree
from lapmodes.start.density_modes import density_mode_labels, log_density


def neighbors_and_tree(X, k=10):
    near = make_index(X, 1).query_self(k)
    return near, spanning_tree(X, near, 1)


def edges_of(near, tree):
    """(start, end, length) of the graph that hills meet on."""
    start = np.repeat(np.arange(len(near.indices)), near.indices.shape[1])
    return (
        np.concatenate([start, tree.start]),
        np.concatenate([near.indices.ravel(), tree.end]),
        np.concatenate([near.distances.ravel(), tree.length]),
    )


def prominences(near, tree):
    """What each point's prominence counts at least and at most, from the highest paths between all pairs.

    The height of a path is that of its lowest edge. A point at the height of the pass between two hills is a member of
    one of them or of the other.
    """
    height = -np.log(np.sqrt(np.square(near.distances).mean(axis=1)))
    start, end, length = edges_of(near, tree)
    n = height.size
    path = np.full((n, n), -np.inf)
    saddle = np.minimum(np.minimum(height[start], height[end]), -np.log(length))
    np.maximum.at(path, (start, end), saddle)
    path = np.maximum(path, path.T)
    for via in range(n):
        path = np.maximum(path, np.minimum(path[:, [via]], path[[via]]))
    counts = np.full((2, n), np.inf)  # the highest point stands out from everything
    for p in range(n):
        higher = height > height[p]
        if higher.any():
            meets = path[p, higher].max()
            members = 1 + np.count_nonzero(np.delete(path[p], p) > meets)
            counts[:, p] = (height[p] - meets) * np.sqrt([members, members + np.count_nonzero(height == meets)])
    return counts


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(12, 60), K=st.integers(1, 6), k=st.integers(2, 10))
def test_the_most_prominent_modes_are_in_clusters_of_their_own(seed, n, K, k):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    near, tree = neighbors_and_tree(X, k)
    least, most = prominences(near, tree)
    modes = np.argsort(-least)[:K]
    assume(least[modes].min() > np.delete(most, modes).max())
    labels = density_mode_labels(near, tree, [K])[0]
    assert labels.max() == K - 1
    assert np.array_equal(np.sort(labels[modes]), np.arange(K))


@pytest.mark.parametrize("seed", range(3))
def test_clusters_hang_together_and_more_of_them_refine_fewer(seed):
    X = np.random.default_rng(seed).normal(size=(300, 3))
    near, tree = neighbors_and_tree(X)
    start, end, _ = edges_of(near, tree)
    before = None
    for K in range(1, 20):
        labels = density_mode_labels(near, tree, [K])[0]
        inside = labels[start] == labels[end]
        joined = coo_array((np.ones(inside.sum()), (start[inside], end[inside])), shape=(300, 300))
        assert connected_components(joined, directed=False)[0] == K
        if before is not None:
            assert all(np.unique(before[labels == c]).size == 1 for c in range(K))
        before = labels


@pytest.mark.parametrize("k", [5, 10, 14])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_separate_hills_are_found_at_any_scale(k, scale):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)) * width + [8 * i, 0] for i, width in enumerate((1, 0.3, 1.5))])
    labels = density_mode_labels(*neighbors_and_tree(scale * X, k), [3])[0]
    assert adjusted_rand_score(np.repeat([0, 1, 2], 80), labels) > 0.95


def test_single_precision_and_duplicates_are_no_trouble():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(rng.normal(size=(3, 2)) * 9, 30, axis=0), rng.normal(size=(60, 2)) * 9])
    near, tree = neighbors_and_tree(X.astype(np.float32))
    assert np.unique(density_mode_labels(near, tree, [3])[0]).size == 3
    everything_equal = np.zeros((4, 2))
    assert np.isfinite(log_density(everything_equal)).all()
