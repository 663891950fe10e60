"""From affinities to Laplacians: as SciPy's, weighted, linked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reference import dense_cut, random_affinity
from scipy.sparse.csgraph import connected_components, laplacian

from lapmodes.graph.laplacian import LINK, build_graph, empty_graph, link_pairs, normalized_cut


def test_laplacians_agree_with_scipy():
    W = random_affinity(np.random.default_rng(0), 50)
    for name, normed in (("unnormalized", False), ("normalized", True)):
        np.testing.assert_allclose(
            build_graph(W, name).laplacian.toarray(), laplacian(W, normed=normed).toarray(), atol=1e-12
        )


def test_self_loops_are_dropped_and_the_input_is_left_alone():
    W = sp.csr_array(np.array([[5.0, 1.0], [1.0, 5.0]]))
    before = W.copy()
    graph = build_graph(W)
    np.testing.assert_array_equal(graph.affinity.toarray(), [[0, 1], [1, 0]])
    assert abs(W - before).nnz == 0


def test_components_and_isolated_points_are_known():
    W = sp.block_diag([sp.csr_array(np.ones((3, 3))), np.ones((2, 2)), np.zeros((1, 1))]).tocsr()
    assert build_graph(W).component.tolist() == [0, 0, 0, 1, 1, 2]
    normalized = build_graph(W, "normalized")
    assert normalized.diagonal[-1] == 0
    assert np.isfinite(normalized.weights.data).all()
    assert empty_graph(4, np.float32).component.tolist() == [0, 1, 2, 3]


@given(n=st.integers(1, 40), density=st.floats(0, 0.2), seed=st.integers(0, 99))
def test_components_are_those_of_scipy_whatever_the_index_type(n, density, seed):
    W = random_affinity(np.random.default_rng(seed), n, density)
    wide = sp.csr_array((W.data, W.indices.astype(np.int64), W.indptr.astype(np.int64)), shape=W.shape)
    for each in (W, wide):
        np.testing.assert_array_equal(build_graph(each).component, connected_components(W, directed=False)[1])


def test_sample_weight_scales_edges_and_zero_removes_them():
    W = random_affinity(np.random.default_rng(0), 10, 1.0)
    weight = np.arange(10.0)
    graph = build_graph(W, sample_weight=weight)
    np.testing.assert_allclose(graph.affinity.toarray(), W.toarray() * np.sqrt(np.outer(weight, weight)))
    assert graph.degrees[0] == 0


@pytest.mark.parametrize("laplacian", ["unnormalized", "normalized"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smoothness_is_a_sum_over_edges(laplacian, dtype):
    """tr(Z'LZ) = 1/2 sum_mn w_mn |z_m - z_n|^2, rows over the roots of their degrees where it is normalised."""
    rng = np.random.default_rng(1)
    graph, Z = build_graph(random_affinity(rng, 30).astype(dtype), laplacian), rng.dirichlet(np.ones(3), 30)
    W = graph.affinity.toarray().astype(float)
    scaled = Z / np.sqrt(W.sum(axis=1))[:, None] if laplacian == "normalized" else Z
    edges = 0.5 * (W * np.square(scaled[:, None] - scaled[None]).sum(axis=2)).sum()
    assert np.sum(Z * (graph.laplacian @ Z)) == pytest.approx(edges, rel=1e-5)


def test_links_are_strong_symmetric_and_counted_once():
    W = random_affinity(np.random.default_rng(0), 20, 0.2)
    linked = link_pairs(W, np.array([[0, 7], [7, 0], [0, 7], [3, 4]])).toarray()
    rest = np.ones((20, 20), dtype=bool)
    for i, j in ((0, 7), (3, 4)):
        rest[i, j] = rest[j, i] = False
        assert linked[i, j] == linked[j, i] == pytest.approx(LINK * W.sum() / 20)
        assert linked[i, j] > W.toarray()[i].sum()
    np.testing.assert_array_equal(linked[rest], W.toarray()[rest])
    assert link_pairs(W, np.empty((0, 2), dtype=int)) is W
    assert link_pairs(sp.csr_array((3, 3)), np.array([[0, 2]])).toarray()[2, 0] > 0


def test_normalised_cut_against_the_dense_formula():
    rng = np.random.default_rng(1)
    W = random_affinity(rng, 30)
    labels = rng.integers(4, size=30)
    labels[labels == 3] = 2
    assert normalized_cut(W, labels, 4) == pytest.approx(dense_cut(W.toarray(), labels, 4))
