from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dense_cut, random_affinity

from lapmodes.baselines import NormalizedCut
from lapmodes.graph.laplacian import build_graph
from lapmodes.paper.rivals.normalized_cut import (
    discretize,
    first_rotation,
    nearest_rotation,
    unit_eigenvectors,
)


@pytest.fixture
def rows():
    rows = np.random.default_rng(0).normal(size=(80, 4))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_rotations_are_orthogonal_and_nearest(rows):
    Y = np.eye(4)[np.random.default_rng(1).integers(4, size=80)]
    R = nearest_rotation(rows, Y)
    np.testing.assert_allclose(R.T @ R, np.eye(4), atol=1e-12)
    others = [np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0] for seed in range(200)]
    assert np.square(Y - rows @ R).sum() <= min(np.square(Y - rows @ Q).sum() for Q in others)


def test_discretisation_ends_at_a_fixed_point_below_its_start(rows):
    start = first_rotation(rows, np.random.RandomState(0))
    labels, _ = discretize(rows, start, 1000)
    R = nearest_rotation(rows, np.eye(4)[labels])
    np.testing.assert_array_equal((rows @ R).argmax(axis=1), labels)
    first = np.eye(4)[(rows @ start).argmax(axis=1)]
    before = np.square(first - rows @ nearest_rotation(rows, first)).sum()
    assert np.square(np.eye(4)[labels] - rows @ R).sum() <= before


def test_the_first_rotation_takes_orthogonal_rows():
    rows = np.repeat(np.eye(3), 5, axis=0)
    R = first_rotation(rows, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(R.argmax(axis=0)), [0, 1, 2])


def test_the_best_cut_of_a_small_graph_is_found():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 3)
    W = np.triu(rng.random((9, 9)) * np.where(y[:, None] == y, 1.0, 0.2), 1)
    W = W + W.T
    labellings = ((0, *rest) for rest in product(range(3), repeat=8))
    least = min(dense_cut(W, np.array(labels), 3) for labels in labellings if len(set(labels)) == 3)
    model = NormalizedCut(3, random_state=0).fit(rng.random((9, 2)), graph=sp.csr_array(W))
    assert model.objective_ == pytest.approx(least)


def test_more_components_than_clusters_still_give_labels():
    W = sp.block_diag([sp.csr_array(np.ones((4, 4)))] * 5, format="csr")
    model = NormalizedCut(3, random_state=0).fit(np.random.default_rng(0).random((20, 2)), graph=sp.csr_array(W))
    assert set(model.labels_) <= {0, 1, 2}


@pytest.mark.parametrize("regularization", [0.0, 0.5])
def test_rows_span_the_leading_eigenvectors_of_the_regularised_affinity(regularization):
    W = random_affinity(np.random.default_rng(2), 30)
    rows = unit_eigenvectors(build_graph(W), 3, np.random.RandomState(0), regularization)
    offset = regularization * W.data.mean()
    root = np.sqrt(W.toarray().sum(axis=1) + 2 * offset)
    E = np.linalg.eigh((W.toarray() + offset * np.eye(30)) / np.outer(root, root))[1][:, -3:]
    E = E / np.linalg.norm(E, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, E @ E.T, atol=1e-8)
