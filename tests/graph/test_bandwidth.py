from __future__ import annotations

import numpy as np
import pytest

from lapmodes._records import Neighbors
from lapmodes.graph.affinity import entropic_weights
from lapmodes.graph.bandwidth import edge_scale, entropic_bandwidth, local_scale, mean_scale
from lapmodes.graph.neighbors import NeighborIndex


def perplexity_of(distances, sigma):
    logits = -0.5 * np.square(distances / sigma[:, None])
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return np.exp(-np.sum(P * np.log(np.where(P > 0, P, 1)), axis=1))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("perplexity", [2, 10, 29])
def test_entropic_bandwidth_reaches_the_perplexity(scale, perplexity):
    X = scale * np.random.default_rng(0).normal(size=(300, 5))
    neighbors = NeighborIndex(X, 1).query_self(30)
    sigma = entropic_bandwidth(neighbors, perplexity)
    np.testing.assert_allclose(perplexity_of(neighbors.distances, sigma), perplexity, atol=1e-6)


def test_entropic_affinities_agree_with_opentsne():
    from openTSNE.affinity import PerplexityBasedNN

    X = np.random.default_rng(0).normal(size=(400, 4))
    theirs = PerplexityBasedNN(X, perplexity=10, method="exact", symmetrize=False, n_jobs=1).P.toarray()
    neighbors = NeighborIndex(X, 1).query_self(30)
    ours = np.zeros((400, 400))
    np.put_along_axis(ours, neighbors.indices.astype(int), entropic_weights(neighbors, 10), axis=1)
    ours /= ours.sum()
    # openTSNE stops its bisection at 1e-8 in entropy, in single precision distances
    np.testing.assert_allclose(theirs / theirs.sum(), ours, atol=1e-3 * ours.max())


def test_duplicates_get_a_positive_width():
    X = np.array([[0.0]] * 10 + [[1.0]])
    neighbors = NeighborIndex(X, 1).query_self(9)
    for widths in (entropic_bandwidth(neighbors, 3), local_scale(neighbors)):
        assert (widths > 0).all() and np.isfinite(widths).all()
    everything_equal = Neighbors(np.ones((3, 2), int), np.zeros((3, 2)))
    assert (local_scale(everything_equal) == 1).all()
    assert mean_scale(everything_equal) == edge_scale(everything_equal) == 1


def test_mean_scale_is_the_mean_distance_to_the_seventh_neighbour():
    X = np.random.default_rng(0).normal(size=(100, 3))
    D = np.sort(np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2)), axis=1)
    assert mean_scale(NeighborIndex(X, 1).query_self(9)) == pytest.approx(D[:, 7].mean())
