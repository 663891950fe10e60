"""From a symmetric affinity to the graph that the solver takes; what partitions cut of it, and what spreads over it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackError, LinearOperator, cg, eigsh, lobpcg, splu

from .. import _native
from .._records import MANY_POINTS, Array, Graph
from .._rows import one_hot, row_arrays

LINK = 10.0
"""Weight of a must-link edge, in mean degrees: it outweighs all other edges of its ends."""
DENSE_POINTS = 1000
"""Up to this many eigenvectors are those of a full matrix."""
LONG_HOPS = 12
"""From this on a graph is long: it factorises cheaply and iterates slowly, others the reverse."""
KEPT = 0.9
"""Share of a label that is left after a step over the graph."""


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


def smooth_vectors(graph: Graph, K: int, rng: np.random.RandomState) -> Array:
    """The K leading eigenvectors of D^-1/2 W D^-1/2, (N, K)."""
    S = _normalised(graph)
    n = S.shape[0]
    if n <= max(DENSE_POINTS, 3 * K):
        return np.asarray(eigh(S.toarray(), subset_by_index=(n - min(K, n), n - 1))[1])
    if n <= MANY_POINTS and _is_long(S):
        vectors = _shift_invert(S, K, rng)
        if vectors is not None:
            return vectors
    guess = rng.standard_normal((n, K + 4))
    guess[:, 0] = np.sqrt(graph.degrees)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a loose eigenbasis is good enough for a start
        values, vectors = lobpcg(S, guess, largest=True, tol=1e-5, maxiter=200)
    return np.asarray(vectors[:, np.argsort(values)[::-1][:K]])


def _normalised(graph: Graph) -> Any:
    """D^-1/2 W D^-1/2 in double precision."""
    degrees = graph.degrees.astype(np.float64)
    root = diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    return csr_array(root @ graph.affinity.astype(np.float64) @ root)


def _is_long(S: Any) -> bool:
    """Whether some points are many hops apart."""
    hops = dijkstra(S, directed=False, unweighted=True, indices=0)
    return bool(hops[np.isfinite(hops)].max() >= LONG_HOPS)


def _shift_invert(S: Any, K: int, rng: np.random.RandomState) -> Array | None:
    """Exact eigenvectors by factorising (1 + eps) I - S; None where the iteration fails."""
    n = S.shape[0]
    shift = 1 + 1e-5
    factor = splu(csc_array(shift * eye_array(n) - S), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    try:
        vectors = eigsh(inverse, K, which="LA", v0=rng.standard_normal(n), tol=1e-8)[1]
    except ArpackError:
        return None
    return np.asarray(vectors)


def spread_labels(graph: Graph, known: Array, K: int) -> Array:
    """Labels of all points from known ones, by local and global consistency (Zhou, Bousquet, Lal et al. 2004).

    Labels spread from point to point over the normalised graph and lose a tenth at each step; a class counts as
    much as another, however many of its points are known.
    """
    at = np.flatnonzero(known >= 0)
    source = one_hot(known[at], K, np.float64)
    root = 1 / np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1).astype(np.float64))
    L = csr_array(
        eye_array(known.size) - KEPT * (diags_array(root) @ graph.affinity.astype(np.float64) @ diags_array(root))
    )
    U = np.zeros((known.size, K))
    U[at] = root[at, None] * source / np.maximum(source.sum(axis=0), 1)
    U = root[:, None] * np.column_stack([cg(L, each, rtol=1e-6, maxiter=1000)[0] for each in U.T])
    labels = U.argmax(axis=1).astype(np.int32)
    labels[at] = known[at]
    return labels
