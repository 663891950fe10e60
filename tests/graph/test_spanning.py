"""Spanning trees: as short as SciPy's, also where the neighbour graph falls apart; and the order they are made in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lapmodes._records import Neighbors
from lapmodes.graph import spanning
from lapmodes.graph.neighbors import make_index
from lapmodes.graph.spanning import spanning_tree, stable_order


def clouds(sizes, gap, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(size, 2)) + np.array([gap * i, 0]) for i, size in enumerate(sizes)])


def is_spanning(tree, n):
    joined = coo_array((np.ones(tree.start.size), (tree.start, tree.end)), shape=(n, n))
    return tree.start.size == n - 1 and connected_components(joined, directed=False)[0] == 1


def reachability(X, core):
    return np.maximum(cdist(X, X), np.maximum.outer(core, core))


@pytest.mark.parametrize("reach", [False, True])
@pytest.mark.parametrize("sizes", [(60,), (40, 30, 20)])
def test_among_all_neighbours_it_is_the_minimum_spanning_tree(sizes, reach):
    X = clouds(sizes, 30.0)
    near = make_index(X, 1).query_self(len(X) - 1)
    core = near.distances[:, 3] if reach else np.zeros(len(X))
    tree = spanning_tree(X, near, 1, core if reach else None)
    assert is_spanning(tree, len(X))
    assert tree.length.sum() == pytest.approx(minimum_spanning_tree(reachability(X, core)).sum())
    np.testing.assert_allclose(tree.length, reachability(X, core)[tree.start, tree.end])
    assert (np.diff(tree.length) >= 0).all()


@pytest.mark.parametrize("reach", [False, True])
@pytest.mark.parametrize("sizes", [(40, 30, 20), (400, 300, 12, 12)])
def test_ten_neighbours_and_bridges_give_the_same_tree(sizes, reach):
    """In the plane, ten neighbours hold the tree of each cloud, and the bridges are the shortest there are."""
    X = clouds(sizes, 30.0)
    near = make_index(X, 1).query_self(10)
    core = near.distances[:, 3] if reach else np.zeros(len(X))
    tree = spanning_tree(X, near, 1, core if reach else None)
    assert tree.length.sum() == pytest.approx(minimum_spanning_tree(reachability(X, core)).sum())


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), k=st.integers(1, 6), small=st.sampled_from([2, 4, 256]))
def test_parts_have_shortest_trees_and_shortest_bridges(seed, n, k, small):
    """The least length within the parts that neighbours link, and the least that joins these parts."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    near = make_index(X, 1).query_self(k)
    D = cdist(X, X)
    listed = np.zeros((n, n), dtype=bool)
    np.put_along_axis(listed, near.indices.astype(np.intp), True, axis=1)
    part = connected_components(csr_array(listed), directed=False)[1]
    within = minimum_spanning_tree(csr_array(np.where(listed | listed.T, D, 0))).sum()
    parts = range(part.max() + 1)
    between = np.array([[D[np.ix_(part == a, part == b)].min() if a != b else 0 for b in parts] for a in parts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spanning, "SMALL_PART", small)
        tree = spanning_tree(X, near, 1)
    assert is_spanning(tree, n)
    np.testing.assert_allclose(tree.length, D[tree.start, tree.end])
    assert tree.length.sum() == pytest.approx(within + minimum_spanning_tree(csr_array(between)).sum())


def test_duplicates_are_spanned():
    X = np.repeat(np.arange(5.0)[:, None], 30, axis=0)
    tree = spanning_tree(X, make_index(X, 1).query_self(5), 1)
    assert is_spanning(tree, 150)
    assert tree.length.sum() == pytest.approx(4.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_rough_bridges_join_all_parts_and_are_hardly_longer(sparse):
    rng = np.random.default_rng(1)
    X = np.repeat(20 * rng.standard_normal((30, 2)), 12, axis=0) + 0.3 * rng.standard_normal((360, 2))
    near = make_index(X, 1).query_self(5)
    rough = spanning_tree(csr_array(X) if sparse else X, near, 1, rough=True)
    exact = spanning_tree(X, near, 1)
    assert is_spanning(rough, 360)
    np.testing.assert_allclose(np.linalg.norm(X[rough.start] - X[rough.end], axis=1), rough.length)
    assert exact.length.sum() <= rough.length.sum() * (1 + 1e-9) <= 1.1 * exact.length.sum()


def test_rough_bridges_do_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X, parts = rng.normal(size=(90, 3)), rng.integers(0, 7, 90)
    whole = spanning.rough_bridges(X, parts)
    monkeypatch.setattr(spanning, "BLOCK_ENTRIES", 40)
    for one, two in zip(whole, spanning.rough_bridges(X, parts), strict=True):
        np.testing.assert_allclose(one, two)
    assert (parts[whole[0]] == np.arange(7)).all() and (parts[whole[1]] != np.arange(7)).all()


def test_edges_of_both_ends_are_listed_once():
    X = np.random.default_rng(0).normal(size=(400, 5))
    near = make_index(X, 1).query_self(6)
    start, end, length = near.edges()
    pairs = set(zip(np.minimum(start, end).tolist(), np.maximum(start, end).tolist(), strict=True))
    rows = np.repeat(np.arange(400), 6)
    assert len(pairs) == start.size
    assert pairs == {(min(i, j), max(i, j)) for i, j in zip(rows.tolist(), near.indices.ravel().tolist(), strict=True)}
    np.testing.assert_allclose(np.linalg.norm(X[start] - X[end], axis=1), length)
    assert Neighbors(np.array([[1], [0]]), np.ones((2, 1))).edges()[0].tolist() == [0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_order_is_numpys(dtype, data):
    width = 32 if dtype == np.float32 else 64
    values = data.draw(arrays(dtype, st.integers(0, 60), elements=st.floats(width=width, allow_nan=False)))
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))


def test_equals_stay_in_order():
    values = np.random.default_rng(0).integers(-3, 3, 5000).astype(np.float32)
    values[::7] *= -0.0
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
