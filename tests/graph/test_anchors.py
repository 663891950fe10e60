from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes, load
from lapmodes.baselines import NormalizedCut
from lapmodes.graph.anchors import anchor_graph, anchor_weights, find_anchors, usual_anchors


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


@pytest.mark.parametrize(
    "model",
    [
        NormalizedCut(3, random_state=0),
        pytest.param(
            LaplacianKModes(3, random_state=0),
            marks=pytest.mark.xfail(strict=True, reason="the consensus has no answer for a single candidate"),
        ),
    ],
)
def test_it_serves_as_a_graph(blobs, model):
    X, y = blobs
    assert adjusted_rand_score(y, model.fit(X, graph=anchor_graph(X, 30, 3, 0)).labels_) > 0.95


@pytest.mark.parametrize(
    ("n_anchors", "n_nearest", "name"), [(0, 1, "n_anchors"), (200, 1, "n_anchors"), (5, 6, "n_nearest")]
)
def test_bad_numbers_are_refused(points, n_anchors, n_nearest, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of anchor_graph must be"):
        anchor_graph(points, n_anchors, n_nearest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_points_as_new_points_get_the_training_affinity(points, dtype):
    X = points.astype(dtype)
    anchors = find_anchors(X, 20, 3, 0)
    W = anchors.between_training()
    assert W.dtype == dtype
    np.testing.assert_allclose(anchors.to_training(X).toarray(), W.toarray(), atol=1e-6)


@pytest.mark.parametrize("n", [2, 5, 40, 400])
def test_usual_anchors_link_points_of_any_number(n):
    W = usual_anchors(np.random.default_rng(n).normal(size=(n, 2)), 0).between_training()
    assert W.nnz > n  # more than the diagonal
    np.testing.assert_allclose(np.asarray(W.sum(axis=1)).ravel(), 1)


def test_anchor_affinity_fits_maps_and_is_saved(blobs, tmp_path):
    X, y = blobs
    model = LaplacianKModes(3, affinity="anchor", lam=0.5, bandwidth=0.8, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_allclose(model.graph_.toarray(), model.graph_.toarray().T)
    new = X + 0.01
    expected = model.predict_proba(new)
    assert (expected.argmax(axis=1) == model.labels_).mean() > 0.95
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").predict_proba(new), expected)


def test_anchor_affinity_is_drawn_from_the_random_state(blobs):
    fits = [LaplacianKModes(3, affinity="anchor", random_state=seed).fit(blobs[0]).graph_ for seed in (0, 0, 1)]
    assert (fits[0] != fits[1]).nnz == 0
    assert (fits[0] != fits[2]).nnz > 0
