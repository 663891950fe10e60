"""From neighbours to a symmetric affinity W, and the same rule for new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Neighbors
from .anchors import Anchors
from .bandwidth import ENTROPIC_REACH, LOCAL_NEIGHBOR, effective_neighbors, entropic_bandwidth, local_scale

KINDS = ("binary", "heat", "self-tuning", "entropic", "anchor")
SQRT2 = 2**0.5


@dataclass(frozen=True)
class Affinity:
    """How weights follow from distances; made for the training points, kept for new ones."""

    kind: str | Callable[[Array], Array]
    n_neighbors: int
    width: float = 1.0
    """Width of the heat kernel."""
    scale: Array | None = None
    """Local scale of each training point, for the self-tuning kind."""
    anchors: Anchors | None = None
    """What ties points together in the anchor kind, which has no use for neighbours."""

    @property
    def reach(self) -> int:
        """How many neighbours have to be searched for."""
        return neighbors_needed(self.kind, self.n_neighbors)

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
            return near.indices, gaussian_weights(near, own, self.scale, threads=threads)
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


def neighbors_needed(kind: Any, n_neighbors: int) -> int:
    """Neighbours to search for so that this affinity can be computed."""
    if kind == "anchor":
        return 0
    if kind == "entropic":
        return ENTROPIC_REACH * n_neighbors
    return max(n_neighbors, LOCAL_NEIGHBOR)


def entropic_weights(neighbors: Neighbors, perplexity: float, threads: int = 1) -> Array:
    """Rows of probabilities over the neighbours with the given perplexity."""
    sigma = entropic_bandwidth(neighbors, perplexity, threads)
    return gaussian_weights(neighbors, (SQRT2 * sigma).astype(sigma.dtype), relative=True, threads=threads)


def make_affinity(
    kind: str | Callable[[Array], Array], n_neighbors: int, neighbors: Neighbors, width: float
) -> Affinity:
    """Fix what the rule takes from the training points."""
    scale = local_scale(neighbors) if kind == "self-tuning" else None
    return Affinity(kind, min(n_neighbors, neighbors.indices.shape[1]), width, scale)


def symmetric_weights(affinity: Affinity, neighbors: Neighbors, threads: int = 1) -> Any:
    """W (N, N): neighbours of either end are linked; entropic weights are averaged, others are equal."""
    indices, weights = affinity.weigh(neighbors, threads)
    return symmetric(indices, weights, average=affinity.kind == "entropic")


def symmetric(indices: Array, weights: Array, *, average: bool = False) -> Any:
    """W (N, N) from the weights (N, k) of each row's neighbours: the larger one of both directions, or their mean."""
    A = directed(indices, weights, len(indices))
    W = csr_array((A + A.T) * A.dtype.type(0.5) if average else A.maximum(A.T))
    W.eliminate_zeros()
    W.sort_indices()
    return W.copy()  # SciPy leaves room for the entries of both


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
