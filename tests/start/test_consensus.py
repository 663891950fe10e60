"""The consensus: each family one voice, votes on the simplex, and candidates that can be remade on any points.

Nothing here depends on which candidates there are.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import neighbor_graph
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from lapmodes._records import Points
from lapmodes.graph.laplacian import build_graph
from lapmodes.graph.neighbors import make_index, search_neighbors
from lapmodes.start import consensus
from lapmodes.start.consensus import (
    Candidate,
    choose,
    count_votes,
    find_consensus,
    list_candidates,
    make_partition,
    start_inputs,
)


@pytest.fixture(scope="module")
def three():
    """Three clusters of unlike widths."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)) * scale + [8 * i, 0] for i, scale in enumerate((1, 0.3, 1.5))])
    return X, np.repeat([0, 1, 2], 80)


def inputs_of(X, K=3, n_neighbors=10, threads=1):
    near = search_neighbors(X, make_index(X, threads), min(2 * n_neighbors, len(X) - 1))
    graph = build_graph(neighbor_graph(X, min(n_neighbors, len(X) - 1)))
    return start_inputs(Points(X, threads), graph, near, n_neighbors, K)


def noisy(rng, y, share, K=3):
    return np.where(rng.random(y.size) < share, rng.integers(0, K, y.size), y)


def families(*names):
    return [Candidate(name, i) for i, name in enumerate(names)]


# The choice


def slow_agreement(candidates, partitions):
    """Mean over families of the mean squared agreement with their members, by scikit-learn."""
    out = []
    for i, one in enumerate(partitions):
        voices = {}
        for j, two in enumerate(partitions):
            if i != j:
                voices.setdefault(candidates[j].family, []).append(max(adjusted_rand_score(one, two), 0) ** 2)
        out.append(np.mean([np.mean(voice) for voice in voices.values()]))
    return np.array(out)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 6), K=st.integers(2, 5))
def test_the_candidate_is_chosen_that_the_families_agree_with_most(seed, m, K):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, 120)
    candidates = families(*rng.choice(["a", "b", "c"], m))
    partitions = [noisy(rng, y, share, K) for share in rng.random(m)]
    found, expected = choose(candidates, partitions, K), slow_agreement(candidates, partitions)
    np.testing.assert_allclose(found.agreement, expected, atol=1e-12)
    assert expected[found.chosen] == pytest.approx(expected.max())
    np.testing.assert_array_equal(found.labels, partitions[found.chosen])
    pairs = [[adjusted_rand_score(one, two) for two in partitions] for one in partitions]
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-12)


def test_copies_of_a_candidate_in_its_family_change_no_vote():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 200)
    partitions = [noisy(rng, y, share) for share in (0.02, 0.05, 0.05, 0.6)]
    plain = choose(families("a", "b", "c", "d"), partitions, 3)
    crowd = choose(families("a", "b", "c", *["d"] * 9), [*partitions[:3], *[partitions[3]] * 9], 3)
    np.testing.assert_allclose(crowd.agreement[:3], plain.agreement[:3])
    assert crowd.chosen == plain.chosen
    np.testing.assert_allclose(crowd.votes, plain.votes)


def test_a_family_has_one_voice_however_many_members():
    """Copies of a wrong candidate do not outvote three families that agree."""
    rng = np.random.default_rng(0)
    y, wrong = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    right = [noisy(rng, y, 0.1) for _ in range(3)]
    for copies in (1, 2, 20):
        crowd = [noisy(rng, wrong, 0.02) for _ in range(copies)]
        found = choose(families("a", "b", "c", *["crowd"] * copies), [*right, *crowd], 3)
        assert found.chosen in (0, 1, 2)
        agreement = found.agreement[:3]
    alone = choose(families("a", "b", "c", "crowd"), [*right, wrong], 3).agreement[:3]
    np.testing.assert_allclose(agreement, alone, atol=0.02)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_neither_names_of_clusters_nor_the_order_of_candidates_matter(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 150)
    candidates = families("a", "a", "b", "c", "c")
    partitions = [noisy(rng, y, share, 4) for share in (0.5, 0.1, 0.3, 0.2, 0.4)]
    plain = choose(candidates, partitions, 4)
    renamed = choose(candidates, [rng.permutation(4)[labels] for labels in partitions], 4)
    assert renamed.chosen == plain.chosen
    match = np.array([renamed.labels[plain.labels == c][0] for c in range(4)])
    np.testing.assert_allclose(renamed.votes[:, match], plain.votes, atol=1e-12)
    order = rng.permutation(5)
    turned = choose([candidates[i] for i in order], [partitions[i] for i in order], 4)
    assert order[turned.chosen] == plain.chosen
    np.testing.assert_allclose(turned.votes, plain.votes, atol=1e-12)


def test_rounding_does_not_choose(monkeypatch):
    """Of candidates that are equal but for the last digits the first counts."""
    rng = np.random.default_rng(0)
    partitions = [rng.integers(0, 3, 60) for _ in range(4)]
    for direction in (1, -1):
        calls = iter(range(100))
        monkeypatch.setattr(
            consensus, "adjusted_rand", lambda one, two, d=direction, c=calls: 0.5 + d * 1e-15 * next(c)
        )
        assert choose(families("a", "b", "c", "d"), partitions, 3).chosen == 0


def test_consensus_sides_with_the_majority(three):
    y = three[1]
    wrong = noisy(np.random.default_rng(2), y, 0.4)
    found = choose(families("a", "b", "c"), [y, (y + 1) % 3, wrong], 3)
    assert adjusted_rand_score(y, found.labels) == 1
    assert adjusted_rand_score(y, found.votes.argmax(axis=1)) == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_no_cluster_is_outvoted(three, sparse):
    y = three[1].copy()
    y[0] = 3
    others = [np.where(three[1] == 0, 3 * (np.arange(240) % 2), three[1]) for _ in range(3)]
    found = choose(families("chosen", "b", "c", "d"), [y, *others], 4, sparse=sparse)
    votes = found.votes.toarray() if sparse else found.votes
    assert np.unique(votes.argmax(axis=1)).size == 4
    np.testing.assert_allclose(votes.sum(axis=1), 1)


# The votes


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 6), K=st.integers(1, 6), sparse=st.booleans())
def test_votes_are_on_the_simplex_and_count_as_trusted(seed, m, K, sparse):
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, K, 80)
    partitions = [reference] + [noisy(rng, reference, 0.3, K) for _ in range(m - 1)]
    trust = np.concatenate([[1.0], rng.random(m - 1) * (rng.random(m - 1) < 0.8)])
    votes = count_votes(partitions, reference, trust, K, sparse=sparse)
    votes = votes.toarray() if sparse else votes
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert votes.min() >= 0
    own = votes[np.arange(80), reference]
    assert (own >= 1 / trust.sum() - 1e-12).all()  # what the reference says of itself
    np.testing.assert_allclose(votes, count_votes(partitions, reference, 7 * trust, K))


def test_unanimous_votes_are_one_hot_however_clusters_are_numbered():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 5, 200)
    renamed = [rng.permutation(5)[labels] for _ in range(3)]
    votes = count_votes([labels, *renamed], labels, np.ones(4), 5)
    np.testing.assert_allclose(votes, np.eye(5)[labels])


# The candidates


def test_graphs_are_symmetric_and_connected():
    X = np.random.default_rng(0).normal(size=(120, 3))
    X[60:] += 50
    inputs = inputs_of(X)
    assert inputs.graphs
    for graph in inputs.graphs:
        W = graph.affinity
        assert abs(W - W.T).max() < 1e-12
        assert connected_components(W, directed=False)[0] == 1
    for tree in inputs.trees:
        assert tree.length.size == 119


@pytest.mark.parametrize("K", [2, 5, 17])
def test_every_candidate_has_exactly_k_clusters(three, K):
    inputs = inputs_of(three[0], K)
    for candidate in list_candidates(inputs, K):
        labels = make_partition(candidate, inputs, K, 0)
        assert np.array_equal(np.unique(labels), np.arange(K)), candidate
        np.testing.assert_array_equal(labels, make_partition(candidate, inputs, K, 0))


@pytest.mark.parametrize("n", [3, 5, 12, 60, 200])
@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_every_candidate_can_be_remade_on_any_points(three, n, n_neighbors):
    """Also where there are fewer neighbours than were asked for: `select` makes the chosen one again on draws."""
    candidates = list_candidates(inputs_of(three[0], 2, n_neighbors), 2)
    rows = np.sort(np.random.default_rng(n).choice(240, n, replace=False))
    some = inputs_of(three[0][rows], 2, n_neighbors)
    assert list_candidates(some, 2) == candidates
    for candidate in candidates:
        labels = make_partition(candidate, some, 2, 0)
        assert labels.shape == (n,) and labels.min() >= 0 and labels.max() < 2, candidate


@pytest.mark.parametrize("sparse", [False, True])
def test_easy_clusters_are_found_without_dissent(three, sparse):
    X, y = three
    found = find_consensus(inputs_of(X), 3, np.random.RandomState(0), sparse=sparse)
    assert adjusted_rand_score(y, found.labels) > 0.98
    votes = found.votes.toarray() if sparse else found.votes
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert (votes.max(axis=1) > 0.9).mean() > 0.95
    assert len(found.candidates) == len(found.partitions) == len(found.agreement)


def test_threads_do_not_change_the_consensus(three):
    one, two = (find_consensus(inputs_of(three[0], 5, 10, t), 5, np.random.RandomState(0)) for t in (1, 2))
    assert one.chosen == two.chosen
    np.testing.assert_array_equal(one.votes, two.votes)
    np.testing.assert_array_equal(one.agreement, two.agreement)


def test_many_points_or_clusters_see_the_graph_of_the_fit(three, monkeypatch):
    X, y = three
    monkeypatch.setattr(consensus, "HUGE_POINTS", 100)
    inputs = inputs_of(X)
    assert adjusted_rand_score(y, find_consensus(inputs, 3, np.random.RandomState(0)).labels) > 0.98


def test_one_candidate_needs_no_agreement(three):
    """A graph alone, or one partition with K clusters, leaves a single candidate: it is chosen."""
    found = choose(families("communities"), [three[1]], 3)
    assert found.chosen == 0
    np.testing.assert_array_equal(found.votes, np.eye(3)[three[1]])
    graph = build_graph(neighbor_graph(three[0]))
    found = find_consensus(start_inputs(Points(three[0]), graph, None, 10, 3), 3, np.random.RandomState(0))
    assert adjusted_rand_score(three[1], found.labels) > 0.95
