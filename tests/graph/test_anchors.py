from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.baselines import NormalizedCut
from lapmodes.graph.anchors import anchor_graph, anchor_weights


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(150, 3))


def test_the_graph_is_symmetric_doubly_stochastic_and_positive_semidefinite(points):
    W = anchor_graph(points, 15, 3, 0).toarray()
    np.testing.assert_allclose(W, W.T, atol=1e-15)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    assert W.min() >= 0
    assert np.linalg.eigvalsh(W).min() > -1e-12
    assert np.linalg.matrix_rank(W) <= 15


def test_weights_are_the_best_convex_combination_of_the_nearest_anchors(points):
    anchors = points[:12] + 0.1
    Z = anchor_weights(points, anchors, 4).toarray()
    for x, z in zip(points[:10], Z[:10], strict=True):
        near = np.argsort(np.linalg.norm(anchors - x, axis=1))[:4]
        assert set(np.flatnonzero(z)) <= set(near)
        best = minimize(
            lambda w, U=anchors[near], x=x: np.square(x - w @ U).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            tol=1e-12,
        )
        assert np.square(x - z @ anchors).sum() <= best.fun + 1e-6


def test_sparse_points_and_chunks_change_nothing(points, monkeypatch):
    anchors = points[:9]
    whole = anchor_weights(points, anchors, 3).toarray()
    monkeypatch.setattr("lapmodes.graph.anchors.CHUNK_ROWS", 40)
    np.testing.assert_allclose(anchor_weights(sp.csr_array(points), anchors, 3).toarray(), whole, atol=1e-10)


@pytest.mark.parametrize("model", [NormalizedCut(3, random_state=0), LaplacianKModes(3, random_state=0)])
def test_it_serves_as_a_graph(blobs, model):
    X, y = blobs
    assert adjusted_rand_score(y, model.fit(X, graph=anchor_graph(X, 30, 3, 0)).labels_) > 0.95


@pytest.mark.parametrize(
    ("n_anchors", "n_nearest", "name"), [(0, 1, "n_anchors"), (200, 1, "n_anchors"), (5, 6, "n_nearest")]
)
def test_bad_numbers_are_refused(points, n_anchors, n_nearest, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of anchor_graph must be"):
        anchor_graph(points, n_anchors, n_nearest)
