"""Rules for kernel widths."""

from __future__ import annotations

import numpy as np

from .. import _native
from .._records import Array, Neighbors

LOCAL_NEIGHBOR = 7
"""The neighbour whose distance sets a local scale (Zelnik-Manor & Perona 2005)."""
ENTROPIC_REACH = 3
"""Entropic widths look at this many times as many neighbours as their perplexity, as in t-SNE."""


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
