"""Communities: exactly K, and no worse where the resolution is searched for on a coarser graph."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from lapmodes.solve import communities
from lapmodes.solve.communities import between, community_labels, modularity, normalized_cut


@pytest.fixture
def graph():
    X, y = make_blobs(1500, 2, centers=7, cluster_std=1.4, random_state=3)
    W = kneighbors_graph(X, 10)
    return csr_array(W.maximum(W.T)), y


@pytest.mark.parametrize("K", [2, 5, 7, 12])
def test_small_communities_first_give_as_good_ones(graph, monkeypatch, K):
    W, _ = graph
    whole = community_labels(W, K, 0)
    monkeypatch.setattr(communities, "COARSE_POINTS", 100)
    monkeypatch.setattr(communities, "COARSE_MEMBERS", 10)
    coarse = community_labels(W, K, 0)
    assert np.unique(whole).size == np.unique(coarse).size == K
    assert modularity(W, coarse) > modularity(W, whole) - 0.02


def test_more_separate_parts_than_clusters(monkeypatch):
    monkeypatch.setattr(communities, "COARSE_POINTS", 100)
    monkeypatch.setattr(communities, "COARSE_MEMBERS", 10)
    X, _ = make_blobs(600, 2, centers=100 * np.eye(2)[[0, 1, 0, 1]] * [[1], [1], [-1], [-1]], random_state=0)
    W = kneighbors_graph(X, 5)
    assert np.unique(community_labels(csr_array(W.maximum(W.T)), 3, 0)).size == 3


def test_cut_of_a_partition(graph):
    W, y = graph
    A = between(W, y)
    assert normalized_cut(W, y) == pytest.approx(np.mean(1 - np.diag(A) / A.sum(axis=1)))
