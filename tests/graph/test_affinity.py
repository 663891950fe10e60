from __future__ import annotations

import numpy as np
import pytest

from lapmodes.graph.affinity import directed_weights, make_affinity, neighbors_needed, symmetric_weights
from lapmodes.graph.neighbors import NeighborIndex


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 2))


def built(X, kind, k=5, width=0.7):
    neighbors = NeighborIndex(X, 1).query_self(neighbors_needed(kind, k))
    affinity = make_affinity(kind, k, neighbors, width)
    return affinity, neighbors, symmetric_weights(affinity, neighbors)


@pytest.mark.parametrize("kind", ["binary", "heat", "adaptive", "entropic", lambda d: 1 / (1 + d)])
def test_symmetric_and_positive(X, kind):
    _, _, W = built(X, kind)
    assert abs(W - W.T).max() < 1e-15
    assert W.data.min() > 0
    assert W.diagonal().max() == 0


def test_weights_follow_their_formulas(X):
    D = np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2))
    order = np.argsort(D, axis=1)[:, 1:]
    scale = np.take_along_axis(D, order, axis=1)[:, 6]
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, order[:, :5], True, axis=1)
    linked = near | near.T
    expected = {
        "binary": linked * 1.0,
        "heat": linked * np.exp(-0.5 * np.square(D / 0.7)),
        "adaptive": linked * np.exp(-D * D / np.outer(scale, scale)),
    }
    for kind, W in expected.items():
        np.testing.assert_allclose(built(X, kind)[2].toarray(), W, atol=1e-12)


def test_entropic_rows_are_probabilities_with_the_asked_perplexity(X):
    affinity, neighbors, W = built(X, "entropic", k=8)
    P = directed_weights(affinity, neighbors, len(X)).toarray()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    entropy = -np.sum(np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0), axis=1)
    np.testing.assert_allclose(np.exp(entropy), 8, atol=1e-6)
    np.testing.assert_allclose(W.toarray(), (P + P.T) / 2, atol=1e-15)


def test_callable_must_return_fitting_weights(X):
    with pytest.raises(ValueError, match="one weight for each distance"):
        built(X, lambda d: d[:, :2])
    with pytest.raises(ValueError, match="finite, non-negative"):
        built(X, lambda d: -d)
