"""The candidates for a start, each against what defines it."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_rand_score

from lapmodes.graph.landscape import survey
from lapmodes.graph.neighbors import NeighborIndex
from lapmodes.solve.communities import between, community_labels, merge_communities, modularity, normalized_cut
from lapmodes.solve.consensus import adjusted_rand, count_votes, find_consensus
from lapmodes.solve.linkage import even_labels
from lapmodes.solve.prominence import prominent_labels


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)) * scale + [8 * i, 0] for i, scale in enumerate((1, 0.3, 1.5))])
    return X, np.repeat([0, 1, 2], 80)


@pytest.fixture(scope="module")
def landscape(blobs):
    X = blobs[0]
    return survey(X, NeighborIndex(X, 1).query_self(20), 10, 1)


@pytest.mark.parametrize("k", [5, 10, 14])
def test_prominent_modes_find_separate_hills(landscape, blobs, k):
    assert adjusted_rand_score(blobs[1], prominent_labels(landscape, 3, k)) > 0.95


@pytest.mark.parametrize("K", [1, 2, 5, 17])
def test_every_candidate_has_exactly_k_clusters(landscape, K):
    assert np.unique(prominent_labels(landscape, K, 10)).size == K
    assert np.unique(even_labels(landscape.trees[0], K, 0.3)).size == K
    if K > 1:
        assert np.unique(community_labels(landscape.graphs[0].affinity, K, 0)).size == K


@pytest.mark.parametrize("K", [2, 4, 9])
def test_linkage_without_evenness_is_single_linkage(landscape, blobs, K):
    X, _ = blobs
    single = cut_tree(linkage(X, "single"), K).ravel()
    assert adjusted_rand_score(single, even_labels(landscape.trees[0], K, 1.0)) == pytest.approx(1)


def gini(sizes):
    sizes = np.asarray(sizes, dtype=float)
    return np.abs(sizes[:, None] - sizes).sum() / (2 * (sizes.size - 1) * sizes.sum())


def slow_genie(tree, n, K, most):
    """Genie as published, with no bookkeeping."""
    labels, left = np.arange(n), list(zip(tree.start, tree.end, strict=True))
    while np.unique(labels).size > K:
        names, sizes = np.unique(labels, return_counts=True)
        size = dict(zip(names, sizes, strict=True))
        low = n if gini(sizes) <= most else sizes.min()
        i = next(i for i, (a, b) in enumerate(left) if min(size[labels[a]], size[labels[b]]) <= low)
        a, b = left.pop(i)
        labels[labels == labels[a]] = labels[b]
    return labels


@pytest.mark.parametrize("most", [0.1, 0.3, 0.5])
def test_linkage_is_genie(landscape, most):
    expected = slow_genie(landscape.trees[1], 240, 6, most)
    assert adjusted_rand_score(expected, even_labels(landscape.trees[1], 6, most)) == pytest.approx(1)


def test_communities_gain_nothing_by_moving_a_point(landscape, blobs):
    W = landscape.graphs[0].affinity
    labels = community_labels(W, 3, 0)
    assert modularity(W, labels) >= modularity(W, blobs[1]) - 1e-9


def test_communities_are_the_same_for_a_seed(landscape):
    W = landscape.graphs[2].affinity
    np.testing.assert_array_equal(community_labels(W, 7, 3), community_labels(W, 7, 3))


def test_merging_keeps_other_clusters_whole(landscape):
    W = landscape.graphs[0].affinity
    fine = community_labels(W, 12, 0)
    coarse = merge_communities(W, fine, 5)
    assert np.unique(coarse).size == 5
    assert all(np.unique(coarse[fine == c]).size == 1 for c in range(12))


def test_cut_and_modularity_against_the_dense_formula(landscape, blobs):
    W, y = landscape.graphs[0].affinity, blobs[1]
    D, Z = W.toarray(), np.eye(3)[y]
    np.testing.assert_allclose(between(W, y), Z.T @ D @ Z)
    d = D.sum(axis=1)
    assert modularity(W, y) == pytest.approx(np.trace(Z.T @ (D - np.outer(d, d) / d.sum()) @ Z) / d.sum())
    assert normalized_cut(W, y) == pytest.approx(np.mean(np.diag(Z.T @ (np.diag(d) - D) @ Z) / (Z.T @ d)))


def test_agreement_is_the_adjusted_rand_index():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 4, 100), rng.integers(0, 6, 100)
    assert adjusted_rand(one, two) == pytest.approx(adjusted_rand_score(one, two))
    assert adjusted_rand(one, one) == 1


def test_votes_do_not_depend_on_how_clusters_are_numbered():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 5, 200)
    renamed = rng.permutation(5)[labels]
    np.testing.assert_array_equal(count_votes([labels, renamed], labels, np.ones(2), 5), np.eye(5)[labels])


def test_consensus_sides_with_the_majority(landscape, blobs):
    y = blobs[1]
    rng = np.random.default_rng(2)
    wrong = np.where(rng.random(240) < 0.4, rng.integers(0, 3, 240), y)
    found = find_consensus({"a": y, "b": (y + 1) % 3, "c": wrong}, landscape.graphs[0].affinity, 3)
    assert adjusted_rand_score(y, found.labels) == 1
    np.testing.assert_allclose(found.votes.sum(axis=1), 1)
    assert adjusted_rand_score(y, found.votes.argmax(axis=1)) == 1


def test_no_cluster_is_outvoted(landscape, blobs):
    y = blobs[1].copy()
    y[0] = 3
    others = {f"other {i}": np.where(blobs[1] == 0, 3 * (np.arange(240) % 2), blobs[1]) for i in range(3)}
    found = find_consensus({"chosen": y, **others}, landscape.graphs[0].affinity, 4)
    assert np.unique(found.votes.argmax(axis=1)).size == 4
