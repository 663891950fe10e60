"""How certain and how crowded the points of a fit are; a look at each edge of the graph, for plots and the report."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import xlogy

from ._records import Array

SPACING = 7
"""Neighbours by which density is judged where the model has no graph."""
CHUNK = 2**22


def uncertainty(Z: Any) -> Array:
    """Entropy of each row's assignment: 0 is certain, 1 is evenly spread over all clusters."""
    if Z.shape[1] == 1:
        return np.zeros(Z.shape[0])
    Z = Z.astype(np.float64, copy=False)
    if issparse(Z):
        terms = csr_array((xlogy(Z.data, Z.data), Z.indices, Z.indptr), shape=Z.shape)
        return np.asarray(-terms.sum(axis=1) / np.log(Z.shape[1])).ravel()
    return np.asarray(-xlogy(Z, Z).sum(axis=1) / np.log(Z.shape[1]))


def log_density(model: Any, points: Any) -> Array:
    """Log of the kernel summed over each row's neighbours: low for rows that lie alone."""
    first, second, d2 = edge_lengths(graph_of(model, points), points)
    width = np.broadcast_to(np.asarray(model.bandwidth_, dtype=np.float64), (points.shape[0],))
    if not np.isfinite(width).all():
        width = np.full(points.shape[0], np.sqrt(np.median(d2)) if d2.size else 1.0)
    exponent = -0.5 * d2 / np.square(np.maximum(width[second], np.finfo(float).tiny))
    top = np.full(points.shape[0], -np.inf)
    np.maximum.at(top, first, exponent)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.bincount(first, np.exp(exponent - safe[first]), minlength=points.shape[0])
    with np.errstate(divide="ignore"):
        density = safe + np.log(total)
    lowest = density[np.isfinite(density)].min(initial=0.0)
    return np.where(np.isfinite(density), density, lowest)


def graph_of(model: Any, points: Any) -> Any:
    """The model's graph, or a new one of nearest neighbours where it has none."""
    if model.graph_.nnz:
        return csr_array(model.graph_)
    from sklearn.neighbors import kneighbors_graph

    return csr_array(kneighbors_graph(points, min(SPACING, points.shape[0] - 1)))


def edge_lengths(graph: Any, points: Any) -> tuple[Array, Array, Array]:
    """Both ends and the squared length of each edge."""
    first = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    second = graph.indices
    d2 = np.empty(first.size)
    step = max(1, CHUNK // points.shape[1])
    for start in range(0, first.size, step):
        part = slice(start, start + step)
        difference = points[first[part]] - points[second[part]]
        if issparse(difference):
            d2[part] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            d2[part] = np.einsum("nd,nd->n", difference, difference, dtype=np.float64)
    return first, second, d2
