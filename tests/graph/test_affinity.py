from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapmodes._records import Neighbors
from lapmodes.graph.affinity import (
    directed_weights,
    gaussian_weights,
    make_affinity,
    neighbors_needed,
    symmetric_weights,
)
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


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sampled_from([np.float32, np.float64]),
    st.floats(-12, 12),
    st.sampled_from(["one", "own", "both", "relative"]),
)
def test_gaussian_weights_agree_with_the_formula(seed, k, dtype, size, widths):
    """At any scale of the data: only ratios of distances and widths count."""
    rng = np.random.default_rng(seed)
    d = (np.sort(rng.gamma(1.0, size=(30, k)) + rng.integers(0, 3), axis=1) * 10.0**size).astype(dtype)
    neighbors = Neighbors(rng.integers(0, 50, size=(30, k)).astype(np.int32), d)
    own = (rng.uniform(0.3, 3, 1 if widths == "one" else 30) * 10.0**size).astype(dtype)
    other = (rng.uniform(0.3, 3, 50) * 10.0**size).astype(dtype) if widths == "both" else None
    got = gaussian_weights(neighbors, own, other, relative=widths == "relative")
    exact, mine = d.astype(float), own.astype(float)[:, None]
    exponent = np.square(exact) / (mine * (mine if other is None else other.astype(float)[neighbors.indices]))
    if widths == "relative":
        expected = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
        expected /= expected.sum(axis=1, keepdims=True)
    else:
        expected = np.exp(-exponent)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, atol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", ["heat", "adaptive", "entropic"])
def test_threads_do_not_change_a_bit(kind):
    X = np.random.default_rng(0).normal(size=(3000, 2)).astype(np.float32)
    neighbors = NeighborIndex(X, 1).query_self(neighbors_needed(kind, 10))
    affinity = make_affinity(kind, 10, neighbors, 0.1)
    one, three = (symmetric_weights(affinity, neighbors, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.data, three.data)
    np.testing.assert_array_equal(one.indices, three.indices)
