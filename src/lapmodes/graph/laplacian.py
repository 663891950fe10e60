"""From a symmetric affinity to the graph that the solver takes, and what partitions cut of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from .. import _native
from .._records import Array, Graph
from .._rows import row_arrays

LINK = 10.0
"""Weight of a must-link edge, in mean degrees: it outweighs all other edges of its ends."""


def build_graph(W: Any, laplacian: str = "unnormalized", sample_weight: Array | None = None) -> Graph:
    """Drop self-loops and stored zeros, weigh the edges, find degrees and components; W itself is left alone.

    An edge between points of weights a and b counts sqrt(a b) times, and the normalised Laplacian the mean weight
    times, so that the whole objective scales with the weights and a point of weight zero is not there.
    """
    W, unit = csr_array(W), W.dtype.type(1)
    if sample_weight is not None:
        unit = W.dtype.type(sample_weight.mean(dtype=np.float64))
        root = diags_array(np.sqrt(sample_weight).astype(W.dtype))
        W = csr_array(root @ W @ root)
    rows = np.repeat(np.arange(W.shape[0], dtype=W.indices.dtype), np.diff(W.indptr))
    drop = (rows == W.indices) | (W.data == 0)
    if drop.any() or not W.has_sorted_indices:
        W = W.copy()
        W.data[drop] = 0
        W.eliminate_zeros()
        W.sort_indices()
    # SciPy's search for components takes no more than 2^31 edges, and copies them twice.
    component = np.empty(W.shape[0], dtype=np.int32)
    indptr, indices, _ = row_arrays(W)
    _native.components(indptr, indices, component)
    degrees = np.asarray(W.sum(axis=1), dtype=W.dtype)
    if laplacian == "unnormalized":
        return Graph(W, W, degrees, degrees, component)
    inverse_root = np.zeros_like(degrees)
    np.divide(1, np.sqrt(degrees), out=inverse_root, where=degrees > 0)
    data = W.data * np.repeat(inverse_root, np.diff(W.indptr)) * inverse_root[W.indices] * unit
    S = csr_array((data, W.indices, W.indptr), shape=W.shape)
    return Graph(W, S, (degrees > 0) * unit, degrees, component)


def link_pairs(W: Any, pairs: Array | None) -> Any:
    """W with an edge of `LINK` mean degrees more for each pair; the same pair twice counts once."""
    if pairs is None or len(pairs) == 0:
        return W
    n = W.shape[0]
    mean = float(W.sum(dtype=np.float64)) / n
    weight = np.full(len(pairs), LINK * (mean or 1.0), dtype=W.dtype)
    A = coo_array((weight, (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    extra = A.maximum(A.T)
    extra.data[:] = weight[0]
    return csr_array(W.maximum(extra))


def empty_graph(n: int, dtype: Any) -> Graph:
    """A graph without edges."""
    return build_graph(csr_array((n, n), dtype=dtype))


def normalized_cut(W: Any, labels: Array, K: int) -> float:
    """Sum over clusters of the share of their degree that leaves them; 1 for a cluster without edges."""
    degree, within = np.zeros(K), np.zeros(K)
    indptr, indices, weights = row_arrays(W)
    _native.cluster_degrees(indptr, indices, weights, labels.astype(np.int32, copy=False), degree, within)
    return float((1 - within / np.where(degree > 0, degree, 1)).sum())


def weights_between(W: Any, labels: Array) -> Array:
    """The weights between clusters, (K, K), each pair of points counted twice."""
    K = int(labels.max()) + 1
    start = np.repeat(labels.astype(np.int64), np.diff(W.indptr))
    flat = np.bincount(start * K + labels[W.indices], weights=W.data, minlength=K * K)
    return flat.reshape(K, K)


def modularity(W: Any, labels: Array) -> float:
    """Newman's modularity of a partition."""
    A = weights_between(W, labels)
    total = A.sum()
    return float(np.trace(A) / total - np.square(A.sum(axis=1) / total).sum()) if total > 0 else 0.0
