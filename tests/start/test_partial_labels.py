"""Partial labels: they spread over the graph and name the clusters of a start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import neighbor_graph
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes._records import Points, Problem, Start
from lapmodes.graph.laplacian import build_graph, spread_labels
from lapmodes.start.partial_labels import cluster_order, is_more, learn_labels, right_by_halves


def three_blobs(gap=6.0):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(60, 2)) + np.array([gap * i, 0]) for i in range(3)])
    return X, np.repeat([0, 1, 2], 60)


def known_at(rows, labels, n=180):
    known = np.full(n, -1)
    known[rows] = labels
    return known


def test_labels_spread_as_zhou_and_others_say():
    X, _ = three_blobs(3.0)
    graph = build_graph(neighbor_graph(X, 10))
    known = known_at([3, 20, 63, 123], [0, 0, 1, 2])
    source = np.zeros((180, 3))
    source[[3, 20, 63, 123], [0, 0, 1, 2]] = [0.5, 0.5, 1, 1]
    walk = graph.affinity.toarray() / graph.degrees[:, None]
    steps = [source / graph.degrees[:, None]]
    while steps[-1].max() > 1e-9:
        steps.append(0.9 * walk @ steps[-1])
    U = np.sum(steps, axis=0)
    sure = np.diff(np.sort(U, axis=1)[:, -2:], axis=1)[:, 0] > 1e-3 * np.abs(U).max()
    assert sure.mean() > 0.5
    np.testing.assert_array_equal(spread_labels(graph, known, 3)[sure], U.argmax(axis=1)[sure])
    np.testing.assert_array_equal(spread_labels(graph, known, 3)[[3, 20, 63, 123]], [0, 0, 1, 2])


def test_parts_that_do_not_hang_together_keep_their_labels():
    """However uneven the numbers of known points are."""
    X, y = three_blobs(50.0)
    known = np.where(np.random.default_rng(0).uniform(size=180) < np.array([0.1, 0.3, 0.9])[y], y, -1)
    np.testing.assert_array_equal(spread_labels(build_graph(neighbor_graph(X, 5)), known, 3), y)


@given(seed=st.integers(0, 99), K=st.integers(1, 6))
def test_clusters_are_named_by_most_common_points(seed, K):
    """By the known ones first; by what these say of others where there are no known ones."""
    rng = np.random.default_rng(seed)
    named = rng.integers(0, K, 100)
    Z = np.eye(K)[rng.permutation(K)[named]]
    none, all_known = np.full(100, -1), named
    np.testing.assert_array_equal(Z[:, cluster_order(Z, none, named)].argmax(axis=1), named)
    np.testing.assert_array_equal(Z[:, cluster_order(Z, all_known, rng.integers(0, K, 100))].argmax(axis=1), named)


def crossed():
    """Two stripes that cross: no clustering without labels divides them so."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    along, across = rng.uniform(-5, 5, 600), 0.2 * rng.normal(size=600)
    X = np.where(y[:, None] == 0, np.column_stack([along, across]), np.column_stack([across, along]))
    return X, y


def test_known_labels_teach_the_others():
    X, y = crossed()
    known = np.where(np.random.default_rng(1).uniform(size=600) < 0.1, y, -1)
    alone, taught = LaplacianKModes(2, random_state=0), LaplacianKModes(2, random_state=0)
    alone.fit(X)
    taught.fit(X, partial_labels=known)
    others = known < 0
    assert max(np.mean(alone.labels_[others] == y[others]), np.mean(alone.labels_[others] != y[others])) < 0.8
    assert np.mean(taught.labels_[others] == y[others]) > 0.9
    np.testing.assert_array_equal(taught.labels_[~others], y[~others])


def test_half_of_the_known_points_judges_the_other_half():
    X, y = crossed()
    graph = build_graph(neighbor_graph(X, 10))
    rng = np.random.default_rng(0)
    some = rng.uniform(size=600) < 0.3
    right, random = (right_by_halves(graph, np.where(some, each, -1), 2) for each in (y, rng.permutation(y)))
    assert right.size == some.sum() and right.mean() > 0.85 and random.mean() < 0.65
    assert is_more(right, random) and not is_more(random, right) and not is_more(right, right)
    assert is_more(np.ones(9, bool), np.arange(9) < 6) and not is_more(np.ones(2, bool), np.arange(2) < 1)


def test_wrong_labels_do_not_overrule_clusters():
    """Labels at random say nothing of the others, which stay in clear clusters."""
    X, y = three_blobs()
    rng = np.random.default_rng(0)
    known = known_at(rows := rng.choice(180, 18, replace=False), rng.integers(0, 3, 18))
    model = LaplacianKModes(3, random_state=0).fit(X, partial_labels=known)
    others = np.setdiff1d(np.arange(180), rows)
    assert adjusted_rand_score(y[others], model.labels_[others]) > 0.9


@pytest.mark.parametrize("with_prior", [False, True])
def test_a_start_is_renamed_as_a_whole(with_prior):
    X, y = three_blobs()
    known, other = known_at([3, 63, 123], [0, 1, 2]), np.array([2, 0, 1])[y]
    other[3] = 0  # a known point in the wrong cluster
    Z, C = np.eye(3)[other], X[[123, 3, 63]][[1, 2, 0]]
    problem = Problem(Points(X), build_graph(neighbor_graph(X, 10)), 1.0, 1.0, known=known)
    start = learn_labels(Start(C, Z, Z if with_prior else None), problem)
    np.testing.assert_array_equal(start.Z.argmax(axis=1), y)
    np.testing.assert_array_equal(start.C, C[[2, 0, 1]])
    assert (start.prior is None) == (not with_prior)
    if with_prior:
        np.testing.assert_array_equal(start.prior, start.Z)


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0]])
def test_one_label_a_class_names_the_clusters(order):
    X, y = three_blobs()
    model = LaplacianKModes(3, random_state=0).fit(X, partial_labels=known_at([3, 63, 123], order))
    assert (model.labels_ == np.asarray(order)[y]).mean() > 0.98
    np.testing.assert_array_equal(model.assignments_[[3, 63, 123]], np.eye(3)[order])


def test_wrong_labels_are_refused():
    X, y = three_blobs()
    with pytest.raises(ValueError, match=r"'partial_labels' must hold clusters from 0 to n_clusters - 1 = 2"):
        LaplacianKModes(3).fit(X, partial_labels=np.where(y == 2, -1, y + 5))


def test_complete_labels_are_kept():
    X, y = three_blobs()
    model = LaplacianKModes(3, random_state=0).fit(X, partial_labels=y)
    np.testing.assert_array_equal(model.labels_, y)


def test_must_link_joins_its_ends():
    X, y = three_blobs()
    free = LaplacianKModes(3, random_state=0).fit(X)
    assert free.labels_[0] != free.labels_[70]
    model = LaplacianKModes(3, random_state=0).fit(X, must_link=np.array([[0, 70]]))
    assert model.labels_[0] == model.labels_[70]
    assert adjusted_rand_score(y, model.labels_) > 0.9
    with pytest.raises(ValueError, match="'must_link' must hold samples from 0 to 179"):
        LaplacianKModes(3).fit(X, must_link=[[0, 180]])
