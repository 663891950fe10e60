"""What the candidates for a start look at: neighbours, spanning trees, several weightings of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from .. import _native
from .._records import Graph, Landscape, Neighbors, Tree
from .bandwidth import local_scale
from .laplacian import build_graph
from .spanning import spanning_tree

FAINT = 1e-6
"""Least weight of an edge of the spanning tree: enough to connect, too little to matter elsewhere."""


def survey(X: Any, neighbors: Neighbors, n_neighbors: int, threads: int, only: Graph | None = None) -> Landscape:
    """The landscape of points with their (2 n_neighbors) nearest neighbours.

    With `only`, for many clusters, this graph is the one weighting, and the trees join separate parts roughly.
    """
    half = max(1, n_neighbors // 2)
    core = neighbors.distances[:, min(max(half - 2, 0), neighbors.distances.shape[1] - 1)]
    rough = only is not None
    trees = tuple(spanning_tree(X, neighbors, threads, each, rough=rough) for each in (None, core))
    if only is not None:
        return Landscape((only,), neighbors, trees, n_neighbors)
    usual = neighbors.first(n_neighbors)
    weights = (
        self_tuned(usual, neighbors),
        binary(neighbors.first(half)),
        shared(usual),
        self_tuned(neighbors.first(2 * n_neighbors), neighbors),
    )
    bond = _bond(trees[0], neighbors)
    graphs = tuple(build_graph(csr_array(W.maximum(bond))) for W in weights)
    return Landscape(graphs, neighbors, trees, n_neighbors)


def given(W: Any) -> Landscape:
    """The landscape of a given graph, where there are no distances."""
    return Landscape((build_graph(W.astype(np.float64)),))


def self_tuned(near: Neighbors, neighbors: Neighbors) -> Any:
    """W = exp(-d^2 / (s_n s_m)), s the distance to the 7th neighbour (Zelnik-Manor & Perona 2005)."""
    scale = local_scale(neighbors).astype(np.float64)
    d2 = np.square(near.distances, dtype=np.float64)
    return _symmetric(near, np.exp(-d2 / (scale[:, None] * scale[near.indices])))


def binary(near: Neighbors) -> Any:
    """W = 1 between neighbours."""
    return _symmetric(near, np.ones(near.indices.shape))


def shared(near: Neighbors) -> Any:
    """W = the Jaccard index of the two neighbourhoods (each with its own point), between neighbours."""
    n, k = near.indices.shape
    rows = np.repeat(np.arange(n), k + 1)
    columns = np.column_stack([near.indices, np.arange(n)]).ravel()
    A = coo_array((np.ones(rows.size), (rows, columns)), shape=(n, n)).tocsr()
    links = csr_array(A.maximum(A.T))
    links.setdiag(0)
    links.eliminate_zeros()
    common = np.empty(links.nnz)
    around = np.sort(columns.reshape(n, k + 1), axis=1).astype(np.int32)
    _native.shared_neighbors(around, links.indptr.astype(np.int64), links.indices.astype(np.int32), common)
    return csr_array((common / (2 * (k + 1) - common), links.indices, links.indptr), shape=(n, n))


def _symmetric(near: Neighbors, weights: Any) -> Any:
    n, k = near.indices.shape
    A = csr_array((weights.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return csr_array(A.maximum(A.T))


def _bond(tree: Tree, neighbors: Neighbors) -> Any:
    """The spanning tree as a graph: self-tuned weights, none below FAINT."""
    n = neighbors.indices.shape[0]
    scale = local_scale(neighbors).astype(np.float64)
    weight = np.maximum(np.exp(-np.square(tree.length) / (scale[tree.start] * scale[tree.end])), FAINT)
    A = coo_array((weight, (tree.start, tree.end)), shape=(n, n)).tocsr()
    return csr_array(A.maximum(A.T))
