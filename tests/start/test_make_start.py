"""Starts by their names: valid, repeatable, dense or sparse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from reference import neighbor_graph
from sklearn.metrics import adjusted_rand_score

from lapmodes._progress import no_step
from lapmodes._records import Points, Problem
from lapmodes.graph.laplacian import build_graph
from lapmodes.graph.neighbors import make_index
from lapmodes.start import make_start
from lapmodes.start.consensus import start_inputs
from lapmodes.start.k_means import dense_modes


def started(X, init, seed=3, *, sparse=False, **terms):
    problem = Problem(Points(X), build_graph(neighbor_graph(X)), 0.1, 1.0, **terms)
    near = make_index(X, 1).query_self(20)
    inputs = start_inputs(problem.points, problem.graph, near, 10, 3)
    return make_start(problem, inputs, init, 3, np.random.RandomState(seed), sparse=sparse, step=no_step)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("init", ["k-means", "k-means++", "random", "spectral", "consensus"])
def test_named_starts_are_valid_and_repeatable(blobs, init, sparse):
    X, y = blobs
    one, two = (started(X, init, sparse=sparse) for _ in range(2))
    np.testing.assert_array_equal(one.C, two.C)
    assert sp.issparse(one.Z) == sparse
    Z = one.Z.toarray() if sparse else one.Z
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    assert one.C.shape == (3, 2) and Z.min() >= 0
    assert (one.prior is not None) == (init == "consensus")
    if init in ("k-means", "spectral", "consensus"):
        assert adjusted_rand_score(y, Z.argmax(axis=1)) == 1
    else:
        assert all((mode == X).all(axis=1).any() for mode in one.C)


@pytest.mark.parametrize("init", ["k-means", "spectral", "consensus"])
def test_dense_and_sparse_starts_are_the_same(blobs, init):
    dense, sparse = (started(blobs[0], init, sparse=each) for each in (False, True))
    np.testing.assert_allclose(sparse.C, dense.C)
    np.testing.assert_allclose(sparse.Z.toarray(), dense.Z)


def test_single_precision_stays(blobs):
    X = blobs[0].astype(np.float32)
    for init in ("consensus", "k-means", "spectral", X[:3].astype(float)):
        start = started(X, init)
        assert start.C.dtype == start.Z.dtype == np.float32


@pytest.mark.parametrize("sparse", [False, True])
def test_given_assignments_alone_get_modes_among_their_points(blobs, sparse):
    X, y = blobs
    start = started(X, (None, np.eye(3)[y]), sparse=sparse)
    for k, mode in enumerate(start.C):
        assert (X[y == k] == mode).all(axis=1).any()
    assert start.prior is None


def test_given_modes_and_assignments_are_taken_as_they_are(blobs):
    X, y = blobs
    C, Z = X[[5, 70, 130]], np.eye(3)[y]
    for init in (C, (C, Z)):
        start = started(X, init)
        np.testing.assert_array_equal(start.C, C)
        np.testing.assert_array_equal(start.Z, Z)


def test_modes_are_where_a_cluster_has_most_weight_inside():
    X = np.arange(6.0)[:, None]
    W = sp.csr_array(np.diag([1.0, 3, 1, 1], 1)[:5, :5])
    W = sp.csr_array(sp.block_diag([W + W.T, np.zeros((1, 1))]))
    Z = np.eye(3)[[0, 0, 0, 1, 1, 2]]
    for rows in (Z, sp.csr_array(Z)):
        modes = dense_modes(Points(X), build_graph(W), rows)
        np.testing.assert_array_equal(modes[:, 0], [1, 3, 5])  # the last one has no edge: it stands for itself


def test_known_points_name_the_clusters(blobs):
    X, y = blobs
    for init in ("k-means", "consensus"):
        known = np.full(180, -1)
        known[[0, 60, 120]] = [1, 2, 0]
        start = started(X, init, known=known)
        np.testing.assert_array_equal(start.Z.argmax(axis=1), np.array([1, 2, 0])[y])


def test_randomness_comes_from_the_generator_alone(blobs):
    X, _ = blobs
    draws = [started(X, "random", seed).C for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    problem = Problem(Points(X), build_graph(neighbor_graph(X)), 0.1, 1.0)
    same = [
        make_start(each, None, "k-means", 3, np.random.RandomState(0), step=no_step).C
        for each in (problem, replace(problem, lam=5.0, bandwidth=0.2))
    ]
    np.testing.assert_array_equal(*same)  # what is minimised later does not matter to K-means
