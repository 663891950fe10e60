"""Widths and weights of neighbours: against their formulas, openTSNE, and themselves at other scales."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import neighbor_graph

from lapmodes._records import Neighbors
from lapmodes.graph.affinity import (
    Affinity,
    directed,
    edge_scale,
    effective_neighbors,
    entropic_bandwidth,
    entropic_weights,
    gaussian_weights,
    local_scale,
    mean_scale,
    neighbors_needed,
    shared_weights,
    symmetric,
)
from lapmodes.graph.neighbors import make_index


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 2))


def built(X, kind, k=5, width=0.7, threads=1):
    neighbors = make_index(X, 1).query_self(neighbors_needed(kind, k))
    affinity = Affinity(kind, k, width, local_scale(neighbors))
    return affinity, neighbors, symmetric(*affinity.weigh(neighbors, threads), average=kind == "entropic")


@pytest.mark.parametrize("kind", ["binary", "heat", "self-tuning", "entropic", lambda d: 1 / (1 + d)])
def test_symmetric_and_positive(X, kind):
    _, _, W = built(X, kind)
    assert abs(W - W.T).max() < 1e-15
    assert W.data.min() > 0
    assert W.diagonal().max() == 0
    assert W.has_canonical_format


def test_weights_follow_their_formulas(X):
    D = np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2))
    order = np.argsort(D, axis=1)[:, 1:]
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, order[:, :5], True, axis=1)
    linked = near | near.T
    expected = {
        "binary": linked * 1.0,
        "heat": linked * np.exp(-0.5 * np.square(D / 0.7)),
        "self-tuning": neighbor_graph(X, 5).toarray(),
    }
    for kind, W in expected.items():
        np.testing.assert_allclose(built(X, kind)[2].toarray(), W, atol=1e-12)


def test_entropic_rows_are_probabilities_with_the_asked_perplexity(X):
    affinity, neighbors, W = built(X, "entropic", k=8)
    P = directed(*affinity.weigh(neighbors, 1), len(X)).toarray()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    entropy = -np.sum(np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0), axis=1)
    np.testing.assert_allclose(np.exp(entropy), 8, atol=1e-6)
    np.testing.assert_allclose(W.toarray(), (P + P.T) / 2, atol=1e-15)


def test_shared_weights_are_jaccard_indices(X):
    near = make_index(X, 1).query_self(6)
    around = [set(row) | {i} for i, row in enumerate(near.indices.tolist())]
    W = shared_weights(near).tocoo()
    expected = [len(around[i] & around[j]) / len(around[i] | around[j]) for i, j in zip(*W.coords, strict=True)]
    np.testing.assert_allclose(W.data, expected)
    linked = {(i, j) for i, others in enumerate(around) for j in others if i != j}
    assert set(zip(*(each.tolist() for each in W.coords), strict=True)) == linked | {(j, i) for i, j in linked}


def test_callable_must_return_fitting_weights(X):
    with pytest.raises(ValueError, match="one weight for each distance"):
        built(X, lambda d: d[:, :2])
    with pytest.raises(ValueError, match="finite, non-negative"):
        built(X, lambda d: -d)


@settings(max_examples=100)
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


@pytest.mark.parametrize("kind", ["heat", "self-tuning", "entropic"])
def test_threads_do_not_change_a_bit(kind):
    X = np.random.default_rng(0).normal(size=(3000, 2)).astype(np.float32)
    one, three = (built(X, kind, 10, 0.1, threads)[2] for threads in (1, 3))
    np.testing.assert_array_equal(one.data, three.data)
    np.testing.assert_array_equal(one.indices, three.indices)


@pytest.mark.parametrize("kind", ["binary", "heat", "self-tuning", "entropic"])
@pytest.mark.parametrize("bandwidth", [1.0, "auto", "entropic"])
def test_as_many_neighbours_as_needed_are_enough(X, kind, bandwidth):
    """More neighbours change neither the graph nor the widths."""
    k = 5
    need = neighbors_needed(kind, k, bandwidth)
    graphs, widths = [], []
    for found in (make_index(X, 1).query_self(need), make_index(X, 1).query_self(need + 30)):
        graphs.append(symmetric(*Affinity(kind, k, 0.7, local_scale(found)).weigh(found, 1)).toarray())
        wide = found.first(need)
        widths.append((mean_scale(found), entropic_bandwidth(wide, effective_neighbors(k, wide))))
    np.testing.assert_array_equal(*graphs)
    if bandwidth == "auto":
        assert widths[0][0] == widths[1][0]


def perplexity_of(distances, sigma):
    logits = -0.5 * np.square(distances / sigma[:, None])
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return np.exp(-np.sum(P * np.log(np.where(P > 0, P, 1)), axis=1))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("perplexity", [2, 10, 29])
def test_entropic_bandwidth_reaches_the_perplexity(scale, perplexity):
    X = scale * np.random.default_rng(0).normal(size=(300, 5))
    neighbors = make_index(X, 1).query_self(30)
    sigma = entropic_bandwidth(neighbors, perplexity)
    np.testing.assert_allclose(perplexity_of(neighbors.distances, sigma), perplexity, atol=1e-6)


def test_entropic_affinities_agree_with_opentsne():
    from openTSNE.affinity import PerplexityBasedNN

    X = np.random.default_rng(0).normal(size=(400, 4))
    theirs = PerplexityBasedNN(X, perplexity=10, method="exact", symmetrize=False, n_jobs=1).P.toarray()
    neighbors = make_index(X, 1).query_self(30)
    ours = np.zeros((400, 400))
    np.put_along_axis(ours, neighbors.indices.astype(int), entropic_weights(neighbors, 10), axis=1)
    ours /= ours.sum()
    # openTSNE stops its bisection at 1e-8 in entropy, in single precision distances
    np.testing.assert_allclose(theirs / theirs.sum(), ours, atol=1e-3 * ours.max())


def test_duplicates_get_a_positive_width():
    X = np.array([[0.0]] * 10 + [[1.0]])
    neighbors = make_index(X, 1).query_self(9)
    for widths in (entropic_bandwidth(neighbors, 3), local_scale(neighbors)):
        assert (widths > 0).all() and np.isfinite(widths).all()
    everything_equal = Neighbors(np.ones((3, 2), int), np.zeros((3, 2)))
    assert (local_scale(everything_equal) == 1).all()
    assert mean_scale(everything_equal) == edge_scale(everything_equal) == 1


def test_the_papers_scale_is_the_mean_distance_to_the_seventh_neighbour():
    X = np.random.default_rng(0).normal(size=(100, 3))
    D = np.sort(np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2)), axis=1)
    assert mean_scale(make_index(X, 1).query_self(9)) == pytest.approx(D[:, 7].mean())
    assert edge_scale(make_index(X, 1).query_self(9)) == pytest.approx(np.median(D[:, 1:10]))
