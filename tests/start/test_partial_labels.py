"""Partial labels: they spread over the graph and name the clusters of a start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import neighbor_graph
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes._records import Start
from lapmodes.graph.laplacian import build_graph
from lapmodes.start.partial_labels import cluster_order, name_clusters, spread_labels


def three_blobs(gap=6.0):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(60, 2)) + np.array([gap * i, 0]) for i in range(3)])
    return X, np.repeat([0, 1, 2], 60)


def known_at(rows, labels, n=180):
    known = np.full(n, -1)
    known[rows] = labels
    return known


def test_labels_spread_as_poissons_equation_says():
    X, _ = three_blobs(3.0)
    graph = build_graph(neighbor_graph(X, 10))
    known = known_at([3, 20, 63, 123], [0, 0, 1, 2])
    source = np.zeros((180, 3))
    source[[3, 20, 63, 123]] = np.eye(3)[[0, 0, 1, 2]] - [0.5, 0.25, 0.25]
    U = np.linalg.pinv(graph.laplacian.toarray()) @ source
    U += (-(graph.degrees @ U) / graph.degrees.sum())[None]  # the same constant as with the degrees' inner product
    expected = U.argmax(axis=1)
    found = spread_labels(graph, known, 3)
    sure = np.diff(np.sort(U, axis=1)[:, -2:], axis=1)[:, 0] > 1e-2 * np.abs(U).max()
    assert sure.mean() > 0.5
    np.testing.assert_array_equal(found[sure], expected[sure])
    np.testing.assert_array_equal(found[[3, 20, 63, 123]], [0, 0, 1, 2])


@given(seed=st.integers(0, 99), K=st.integers(1, 6))
def test_clusters_are_named_by_most_common_points(seed, K):
    rng = np.random.default_rng(seed)
    named = rng.integers(0, K, 100)
    order = rng.permutation(K)
    Z = np.eye(K)[order[named]]
    np.testing.assert_array_equal(Z[:, cluster_order(Z, named)].argmax(axis=1), named)


@pytest.mark.parametrize("with_prior", [False, True])
def test_a_start_is_renamed_as_a_whole(with_prior):
    X, y = three_blobs()
    known, other = known_at([3, 63, 123], [0, 1, 2]), np.array([2, 0, 1])[y]
    other[3] = 0  # a known point in the wrong cluster
    Z, C = np.eye(3)[other], X[[123, 3, 63]][[1, 2, 0]]
    start = name_clusters(Start(C, Z, Z if with_prior else None), known, build_graph(neighbor_graph(X, 10)))
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
