"""From a symmetric affinity to the graph that the solver takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from .._records import Array, Graph


def build_graph(W: Any, laplacian: str = "unnormalized", sample_weight: Array | None = None) -> Graph:
    """Drop self-loops, weigh the edges, find degrees and components.

    An edge between points of weights a and b counts sqrt(a b) times, so that the whole objective
    scales with the weights and a point of weight zero is not there.
    """
    W = csr_array(W)
    if sample_weight is not None:
        root = diags_array(np.sqrt(sample_weight).astype(W.dtype))
        W = csr_array(root @ W @ root)
    W = _without_loops(W)
    component = connected_components(W, directed=False)[1].astype(np.int32)
    degrees = np.asarray(W.sum(axis=1), dtype=W.dtype)
    if laplacian == "unnormalized":
        return Graph(W, W, degrees, degrees, component)
    inverse_root = np.zeros_like(degrees)
    np.divide(1, np.sqrt(degrees), out=inverse_root, where=degrees > 0)
    data = W.data * np.repeat(inverse_root, np.diff(W.indptr)) * inverse_root[W.indices]
    S = csr_array((data, W.indices, W.indptr), shape=W.shape)
    return Graph(W, S, (degrees > 0).astype(W.dtype), degrees, component)


def empty_graph(n: int, dtype: Any) -> Graph:
    """A graph without edges."""
    return build_graph(csr_array((n, n), dtype=dtype))


def _without_loops(W: Any) -> Any:
    """W without self-loops and stored zeros, columns sorted; the caller's matrix is left alone."""
    rows = np.repeat(np.arange(W.shape[0], dtype=W.indices.dtype), np.diff(W.indptr))
    drop = (rows == W.indices) | (W.data == 0)
    if drop.any() or not W.has_sorted_indices:
        W = W.copy()
        W.data[drop] = 0
        W.eliminate_zeros()
        W.sort_indices()
    return W
