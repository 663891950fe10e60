"""From neighbours to kernel widths and a symmetric affinity W, and the same rules for new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Neighbors, Tree
from .._rows import row_arrays
from .anchors import Anchors

KINDS = ("binary", "heat", "self-tuning", "entropic", "anchor")
SQRT2 = 2**0.5
LOCAL_NEIGHBOR = 7
"""The neighbour whose distance sets a local scale (Zelnik-Manor & Perona 2005)."""
ENTROPIC_REACH = 3
"""Entropic widths look at this many times as many neighbours as their perplexity, as in t-SNE."""
FAINT = 1e-6
"""Least weight of an edge of a spanning tree: enough to connect, too little to matter elsewhere."""


@dataclass(frozen=True)
class Affinity:
    """How weights follow from distances; made for the training points, kept for new ones."""

    kind: str | Callable[[Array], Array]
    n_neighbors: int
    width: float = 1.0
    """Width of the heat kernel."""
    scale: Array | None = None
    """Local scale of each training point, for the self-tuning kind; None: of the points that are weighed."""
    anchors: Anchors | None = None
    """What ties points together in the anchor kind, which has no use for neighbours."""

    def weigh(self, neighbors: Neighbors, threads: int) -> tuple[Array, Array]:
        """(indices, weights), each (M, k), from the points to their training neighbours."""
        near = neighbors.first(self.n_neighbors)
        d = near.distances
        if callable(self.kind):
            return near.indices, _checked(self.kind(d), d)
        if self.kind == "binary":
            return near.indices, np.ones_like(d)
        if self.kind == "heat":
            return near.indices, gaussian_weights(near, np.full(1, SQRT2 * self.width, d.dtype), threads=threads)
        if self.kind == "self-tuning":
            own = local_scale(neighbors)
            return near.indices, gaussian_weights(near, own, own if self.scale is None else self.scale, threads=threads)
        wide = neighbors.first(ENTROPIC_REACH * self.n_neighbors)
        return wide.indices, entropic_weights(wide, effective_neighbors(self.n_neighbors, wide), threads)


def gaussian_weights(
    neighbors: Neighbors, own: Array, other: Array | None = None, *, relative: bool = False, threads: int = 1
) -> Array:
    """exp(-d^2 / (own other)), (M, k), `other` of each neighbour or else `own`; over their sum if `relative`."""
    indices, d = (np.ascontiguousarray(each) for each in (neighbors.indices, neighbors.distances))
    weights = np.empty_like(d)
    _native.gaussian_weights(indices.astype(np.int32, copy=False), d, own, other, relative, weights, threads)
    return weights


def neighbors_needed(kind: Any, n_neighbors: int, bandwidth: Any = 1.0) -> int:
    """Neighbours to search for, so that this affinity and this bandwidth can be computed."""
    reach = 0 if kind in (None, "precomputed", "anchor") else max(n_neighbors, LOCAL_NEIGHBOR)
    if isinstance(bandwidth, str):
        reach = max(reach, LOCAL_NEIGHBOR)
    if "entropic" in (kind, bandwidth):
        reach = max(reach, ENTROPIC_REACH * n_neighbors)
    return reach


def entropic_weights(neighbors: Neighbors, perplexity: float, threads: int = 1) -> Array:
    """Rows of probabilities over the neighbours with the given perplexity."""
    sigma = entropic_bandwidth(neighbors, perplexity, threads)
    return gaussian_weights(neighbors, (SQRT2 * sigma).astype(sigma.dtype), relative=True, threads=threads)


def symmetric(indices: Array, weights: Array, *, average: bool = False) -> Any:
    """W (N, N) from the weights (N, k) of each row's neighbours: the larger one of both directions, or their mean."""
    A = directed(indices, weights, len(indices))
    W = csr_array((A + A.T) * A.dtype.type(0.5) if average else A.maximum(A.T))
    W.eliminate_zeros()
    W.sort_indices()
    return W.copy()  # SciPy leaves room for the entries of both


def shared_weights(near: Neighbors) -> Any:
    """W (N, N): the Jaccard index of the two neighbourhoods (each with its own point), between neighbours."""
    n, k = near.indices.shape
    around = np.sort(np.column_stack([near.indices, np.arange(n)]), axis=1).astype(np.int32)
    links = symmetric(near.indices, np.ones((n, k)))
    common = np.empty(links.nnz)
    indptr, indices, _ = row_arrays(links)
    _native.shared_neighbors(around, indptr, indices, common)
    return csr_array((common / (2 * (k + 1) - common), links.indices, links.indptr), shape=(n, n))


def hub_free_affinities(neighbors: Neighbors, tree: Tree, kinds: list[tuple[str, int]], threads: int) -> list[Any]:
    """For each (weights, k) W of the tree and the k neighbours that are nearest in units of both points' own scales.

    In many dimensions some points are among the nearest of very many others, and tie clusters together. Distances
    over local scales have few such hubs (Schnitzer, Flexer, Schedl & Widmer 2012).
    """
    neighbors = Neighbors(neighbors.indices, neighbors.distances.astype(np.float64))
    scale = local_scale(neighbors)
    relative = np.square(neighbors.distances) / (scale[:, None] * scale[neighbors.indices])
    order = np.argsort(relative, axis=1, kind="stable")
    length = np.square(tree.length) / (scale[tree.start] * scale[tree.end])
    A = csr_array((np.maximum(np.exp(-length), FAINT), (tree.start, tree.end)), shape=(scale.size, scale.size))
    bonds, found = A.maximum(A.T), []
    for weights, k in kinds:
        near = neighbors.chosen(np.sort(order[:, :k], axis=1))
        if weights == "shared":
            W = shared_weights(near)
        else:
            W = symmetric(near.indices, gaussian_weights(near, scale, scale, threads=threads))
        found.append(csr_array(W.maximum(bonds)))
    return found


def directed(indices: Array, weights: Array, n_train: int) -> Any:
    """CSR matrix (M, n_train) of the weights (M, k) from each point to its training neighbours."""
    m, k = indices.shape
    indptr = np.arange(0, m * k + 1, k, dtype=np.int32 if m * k < 2**31 else np.int64)
    return csr_array((weights.ravel(), indices.ravel(), indptr), shape=(m, n_train))


def _checked(weights: Any, distances: Array) -> Array:
    weights = np.asarray(weights, dtype=distances.dtype)
    if weights.shape != distances.shape:
        raise ValueError(
            "The 'affinity' callable must return one weight for each distance, an array of shape "
            f"{distances.shape}. Got {weights.shape} instead."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("The 'affinity' callable must return finite, non-negative weights.")
    return weights


def local_scale(neighbors: Neighbors) -> Array:
    """Distance of each point to its 7th neighbour; positive also among duplicates."""
    k = min(LOCAL_NEIGHBOR, neighbors.distances.shape[1])
    return _positive(neighbors.distances[:, k - 1].copy(), neighbors)


def mean_scale(neighbors: Neighbors) -> float:
    """Average distance to the 7th neighbour: the paper's rule for the bandwidth."""
    return float(local_scale(neighbors).mean(dtype=np.float64))


def edge_scale(neighbors: Neighbors) -> float:
    """Median distance to a neighbour; positive also among duplicates."""
    positive = neighbors.distances[neighbors.distances > 0]
    return float(np.median(positive)) if positive.size else 1.0


def effective_neighbors(n_neighbors: int, neighbors: Neighbors) -> float:
    """The perplexity asked for, kept well below the number of neighbours there are."""
    return max(1.0, min(float(n_neighbors), neighbors.distances.shape[1] / 1.5))


def entropic_bandwidth(neighbors: Neighbors, perplexity: float, threads: int = 1) -> Array:
    """Width sigma_n of each point whose Gaussian over its neighbours has the given perplexity.

    Where more neighbours than the perplexity are equally near no width fits; such points get the
    distance of their nearest neighbour elsewhere.
    """
    beta = np.empty(neighbors.distances.shape[0])
    _native.entropic_precisions(np.ascontiguousarray(neighbors.distances), float(perplexity), beta, threads)
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt(0.5 / beta)
    sigma[~np.isfinite(sigma)] = 0.0
    return _positive(sigma, neighbors).astype(neighbors.distances.dtype)


def _positive(scale: Array, neighbors: Neighbors) -> Array:
    """Replace zero widths (duplicates) by the nearest positive distance, or the mean one, or 1."""
    zero = scale <= 0
    if zero.any():
        d = neighbors.distances[zero]
        nearest = np.where(d > 0, d, np.inf).min(axis=1)
        positive = neighbors.distances[neighbors.distances > 0]
        fallback = positive.mean(dtype=np.float64) if positive.size else 1.0
        scale[zero] = np.where(np.isfinite(nearest), nearest, fallback)
    return scale
