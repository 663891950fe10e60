"""Even linkage: single linkage where sizes do not matter, and Genie as published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_rand_score

from lapmodes.graph.neighbors import make_index
from lapmodes.graph.spanning import spanning_tree
from lapmodes.start.linkage import even_linkage_labels


def points_and_tree(seed, n=90):
    X = np.random.default_rng(seed).gamma(1.0, size=(n, 2))
    return X, spanning_tree(X, make_index(X, 1).query_self(n - 1), 1)


@pytest.mark.parametrize("K", [1, 2, 4, 9, 90])
def test_without_evenness_it_is_single_linkage(K):
    X, tree = points_and_tree(0)
    single = cut_tree(linkage(X, "single"), K).ravel()
    assert adjusted_rand_score(single, even_linkage_labels(tree, K, 1.0)) == pytest.approx(1)


def gini(sizes):
    sizes = np.asarray(sizes, dtype=float)
    return np.abs(sizes[:, None] - sizes).sum() / (2 * (sizes.size - 1) * sizes.sum())


def slow_genie(tree, n, K, most_uneven):
    """Genie as published, with no bookkeeping."""
    labels, left = np.arange(n), list(zip(tree.start, tree.end, strict=True))
    while np.unique(labels).size > K:
        names, sizes = np.unique(labels, return_counts=True)
        size = dict(zip(names, sizes, strict=True))
        low = n if gini(sizes) <= most_uneven else sizes.min()
        i = next(i for i, (a, b) in enumerate(left) if min(size[labels[a]], size[labels[b]]) <= low)
        a, b = left.pop(i)
        labels[labels == labels[a]] = labels[b]
    return labels


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 70), K=st.integers(1, 12), most=st.sampled_from([0.1, 0.3, 0.5])
)
def test_it_is_genie(seed, n, K, most):
    _, tree = points_and_tree(seed, n)
    labels = even_linkage_labels(tree, min(K, n), most)
    assert np.array_equal(np.unique(labels), np.arange(min(K, n)))
    assert adjusted_rand_score(slow_genie(tree, n, min(K, n), most), labels) == pytest.approx(1)


def test_stricter_limits_make_sizes_more_even():
    _, tree = points_and_tree(3, 400)
    uneven = [gini(np.bincount(even_linkage_labels(tree, 8, most))) for most in (0.1, 0.3, 0.6, 1.0)]
    assert (np.diff(uneven) >= 0).all() and uneven[0] < 0.5 < uneven[-1]
