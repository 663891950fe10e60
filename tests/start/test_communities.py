"""Communities: exactly K, the best of all partitions of small graphs, and as good by a search on a coarser graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import neighbor_graph, random_affinity
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from lapmodes import _native
from lapmodes._rows import row_arrays
from lapmodes.graph.laplacian import modularity, weights_between
from lapmodes.start import communities
from lapmodes.start.communities import community_labels, merge_communities


def set_partitions(n):
    """All partitions of n points, as labels."""
    labels = [[0]]
    for _ in range(n - 1):
        labels = [[*some, c] for some in labels for c in range(max(some) + 2)]
    return np.array(labels)


def quality(W, labels, resolution=1.0):
    """What Leiden maximises: modularity at a resolution, by the dense formula."""
    D, Z = W.toarray(), np.eye(labels.max() + 1)[labels]
    d = D.sum(axis=1)
    return np.trace(Z.T @ (D - resolution * np.outer(d, d) / d.sum()) @ Z) / d.sum()


PARTITIONS = set_partitions(7)


def planted(rng, sizes, inside=0.8, outside=0.15):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    share = np.where(labels[:, None] == labels, inside, outside)
    W = np.triu(rng.random(share.shape) < share, 1) * rng.uniform(0.5, 1, share.shape)
    return csr_array(W + W.T)


@pytest.mark.parametrize("seed", range(8))
def test_small_graphs_get_the_best_of_all_partitions(seed):
    """Leiden may end in a local maximum; on graphs with communities it is the global one, or hardly less."""
    rng = np.random.default_rng(seed)
    W = planted(rng, (4, 3))
    best = max(quality(W, labels) for labels in PARTITIONS)
    found = np.arange(7, dtype=np.int32)
    _native.leiden(*row_arrays(W), 1.0, 10, seed, found)
    assert best - 0.02 <= quality(W, found) <= best + 1e-12
    pairs = [labels for labels in PARTITIONS if labels.max() == 1]
    best_two = max(quality(W, labels) for labels in pairs)
    assert best_two - 0.02 <= quality(W, community_labels(W, 2, seed)) <= best_two + 1e-12


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), resolution=st.sampled_from([0.3, 1.0, 3.0]))
def test_no_point_gains_by_moving(seed, n, resolution):
    rng = np.random.default_rng(seed)
    W = random_affinity(rng, n, 0.3)
    if W.nnz == 0:
        return
    labels = np.arange(n, dtype=np.int32)
    count = _native.leiden(*row_arrays(W), resolution, 50, seed % 2**31, labels)
    assert np.array_equal(np.unique(labels), np.arange(count))
    reached = quality(W, labels, resolution)
    for point in range(n):
        for other in range(count + 1):
            moved = labels.copy()
            moved[point] = other
            assert quality(W, moved, resolution) <= reached + 1e-9


@pytest.mark.parametrize("K", [1, 2, 5, 17, 60])
def test_there_are_exactly_k(K):
    W = neighbor_graph(np.random.default_rng(0).normal(size=(150, 2)))
    assert np.array_equal(np.unique(community_labels(W, K, 0)), np.arange(K))


def test_planted_communities_are_found_and_the_seed_decides():
    rng = np.random.default_rng(0)
    W = planted(rng, (30, 40, 50), 0.5, 0.02)
    planted_labels = np.repeat([0, 1, 2], (30, 40, 50))
    found = community_labels(W, 3, 0)
    assert modularity(W, found) >= modularity(W, planted_labels)
    np.testing.assert_array_equal(found, planted_labels)
    np.testing.assert_array_equal(community_labels(W, 7, 3), community_labels(W, 7, 3))


@pytest.fixture
def graph():
    X, y = make_blobs(1500, 2, centers=7, cluster_std=1.4, random_state=3)
    W = kneighbors_graph(X, 10)
    return csr_array(W.maximum(W.T)), y


@pytest.mark.parametrize("K", [2, 5, 7, 12])
def test_small_communities_first_give_as_good_ones(graph, monkeypatch, K):
    W, _ = graph
    whole = community_labels(W, K, 0)
    monkeypatch.setattr(communities, "MANY_POINTS", 100)
    monkeypatch.setattr(communities, "COARSE_MEMBERS", 10)
    coarse = community_labels(W, K, 0)
    assert np.unique(whole).size == np.unique(coarse).size == K
    assert modularity(W, coarse) > modularity(W, whole) - 0.02


def test_more_separate_parts_than_clusters(monkeypatch):
    monkeypatch.setattr(communities, "MANY_POINTS", 100)
    monkeypatch.setattr(communities, "COARSE_MEMBERS", 10)
    X, _ = make_blobs(600, 2, centers=100 * np.eye(2)[[0, 1, 0, 1]] * [[1], [1], [-1], [-1]], random_state=0)
    W = kneighbors_graph(X, 5)
    assert np.unique(community_labels(csr_array(W.maximum(W.T)), 3, 0)).size == 3


def test_merging_keeps_communities_whole_and_takes_the_best_pair_each_time():
    W = neighbor_graph(np.random.default_rng(0).normal(size=(150, 2)))
    fine = community_labels(W, 12, 0)
    before = fine
    for K in range(11, 0, -1):
        after = merge_communities(W, fine, K)
        assert np.array_equal(np.unique(after), np.arange(K))
        assert all(np.unique(after[before == c]).size == 1 for c in range(K + 1))
        others = [np.where(before == b, a, before) for a in range(K + 1) for b in range(a + 1, K + 1)]
        assert modularity(W, after) == pytest.approx(max(quality(W, labels) for labels in others))
        before = after


def test_modularity_against_the_dense_formula(graph):
    W, y = graph
    D, Z = W.toarray(), np.eye(7)[y]
    np.testing.assert_allclose(weights_between(W, y), Z.T @ D @ Z)
    assert modularity(W, y) == pytest.approx(quality(W, y))
