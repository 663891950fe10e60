"""Spanning trees: as short as scipy's on all pairs, also where the neighbour graph falls apart."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lapmodes.graph.neighbors import NeighborIndex
from lapmodes.graph.spanning import spanning_tree


def clouds(sizes, gap, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(size, 2)) + np.array([gap * i, 0]) for i, size in enumerate(sizes)])


@pytest.mark.parametrize("sizes", [(60,), (40, 30, 20), (400, 300, 12, 12)])
@pytest.mark.parametrize("reach", [False, True])
def test_total_length_is_least(sizes, reach):
    X = clouds(sizes, 30.0)
    near = NeighborIndex(X, 1).query_self(10)
    core = near.distances[:, 3] if reach else None
    tree = spanning_tree(X, near, 1, core)
    D = cdist(X, X) if core is None else np.maximum(cdist(X, X), np.maximum.outer(core, core))
    # Scipy on the complete graph; the neighbour graph of such clouds holds every edge of its tree but the bridges.
    assert tree.length.sum() == pytest.approx(minimum_spanning_tree(D).sum(), rel=0.02)
    assert tree.length.size == len(X) - 1
    assert (np.diff(tree.length) >= 0).all()


def test_duplicates_are_spanned():
    X = np.repeat(np.arange(5.0)[:, None], 30, axis=0)
    tree = spanning_tree(X, NeighborIndex(X, 1).query_self(5), 1)
    joined = coo_array((np.ones(149), (tree.start, tree.end)), shape=(150, 150))
    assert connected_components(joined, directed=False)[0] == 1
    assert tree.length.sum() == pytest.approx(4.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_rough_bridges_join_all_parts_and_are_hardly_longer(sparse):
    rng = np.random.default_rng(1)
    X = np.repeat(20 * rng.standard_normal((30, 2)), 12, axis=0) + 0.3 * rng.standard_normal((360, 2))
    near = NeighborIndex(X, 1).query_self(5)
    rough = spanning_tree(csr_array(X) if sparse else X, near, 1, rough=True)
    exact = spanning_tree(X, near, 1)
    joined = coo_array((np.ones(359), (rough.start, rough.end)), shape=(360, 360))
    assert connected_components(joined, directed=False)[0] == 1
    np.testing.assert_allclose(np.linalg.norm(X[rough.start] - X[rough.end], axis=1), rough.length)
    assert exact.length.sum() <= rough.length.sum() * (1 + 1e-9) <= 1.1 * exact.length.sum()
