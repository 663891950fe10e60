from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reference import random_affinity
from scipy.sparse.csgraph import connected_components, laplacian

from lapmodes.graph.laplacian import build_graph, components, empty_graph


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
    W = sp.block_diag([np.ones((3, 3)), np.ones((2, 2)), np.zeros((1, 1))]).tocsr()
    graph = build_graph(W)
    assert graph.n_components == 3
    assert np.unique(graph.component[:3]).size == 1
    normalized = build_graph(W, "normalized")
    assert normalized.diagonal[-1] == 0
    assert np.isfinite(normalized.weights.data).all()
    assert empty_graph(4, np.float32).n_components == 4


@given(n=st.integers(1, 40), density=st.floats(0, 0.2), seed=st.integers(0, 99))
def test_components_are_those_of_scipy_whatever_the_index_type(n, density, seed):
    W = sp.csr_array(sp.random(n, n, density, format="csr", random_state=seed))
    wide = sp.csr_array((W.data, W.indices.astype(np.int64), W.indptr.astype(np.int64)), shape=W.shape)
    for each in (W, wide):
        np.testing.assert_array_equal(components(each), connected_components(W, directed=False)[1])


def test_sample_weight_scales_edges_and_zero_removes_them():
    W = random_affinity(np.random.default_rng(0), 10, 1.0)
    weight = np.arange(10.0)
    graph = build_graph(W, sample_weight=weight)
    np.testing.assert_allclose(graph.affinity.toarray(), W.toarray() * np.sqrt(np.outer(weight, weight)))
    assert graph.degrees[0] == 0
