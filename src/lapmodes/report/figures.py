"""Numbers behind the page: where each row lies on the map, how dense and how certain it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import xlogy

from .._records import Array

DRAWN = 100_000
"""Most points on the map."""
SPACING = 7
"""Neighbours by which density is judged where the model has no graph."""
EXACT_DIMENSIONS = 500
"""Up to this dimension principal axes come from the full covariance."""
CHUNK = 2**22


@dataclass(frozen=True)
class Map:
    """The rows in the plane."""

    place: Array
    """(n, 2)."""
    modes: Array
    """(K, 2)."""
    axes: tuple[str, str]
    caption: str


def uncertainty(Z: Array) -> Array:
    """Entropy of each row's assignment: 0 is certain, 1 is evenly spread over all clusters."""
    if Z.shape[1] == 1:
        return np.zeros(Z.shape[0])
    Z = Z.astype(np.float64, copy=False)
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


def project(points: Any, modes: Array, features: tuple[str, ...]) -> Map:
    """The two columns themselves, or the two directions in which the rows differ most."""
    n, d = points.shape
    if d == 1:
        values = _dense(points).ravel()
        jitter = np.random.default_rng(0).random(n)
        flat = np.column_stack([values, jitter])
        return Map(flat, np.column_stack([modes[:, 0], np.full(len(modes), 0.5)]), (features[0], ""), ONE_COLUMN)
    if d == 2:
        return Map(
            _dense(points), modes, (features[0], features[1]), f"The two columns, {features[0]} and {features[1]}."
        )
    mean, axes, share = principal_axes(points)
    place = np.asarray(points @ axes) - mean @ axes
    caption = (
        f"The {d:,} columns are flattened onto the two directions in which rows differ most (principal components); "
        f"these show {share:.0%} of all differences, so clusters that overlap here may still be apart."
    )
    return Map(place, (modes - mean) @ axes, ("first direction", "second direction"), caption)


ONE_COLUMN = "The only column runs from left to right; rows are spread up and down at random so that they can be seen."


def principal_axes(points: Any) -> tuple[Array, Array, float]:
    """Mean, the first two principal directions (d, 2), and their share of the variance."""
    n, d = points.shape
    mean = np.asarray(points.mean(axis=0), dtype=np.float64).ravel()
    if d > EXACT_DIMENSIONS or issparse(points):
        from sklearn.decomposition import PCA

        rows = np.random.default_rng(0).choice(n, min(n, 20_000), replace=False)
        pca = PCA(2, svd_solver="arpack" if issparse(points) else "randomized", random_state=0).fit(points[rows])
        return mean, pca.components_.T.astype(np.float64), float(pca.explained_variance_ratio_.sum())
    covariance = np.zeros((d, d))
    for start in range(0, n, max(1, CHUNK // d)):
        part = points[start : start + max(1, CHUNK // d)] - mean
        covariance += part.T @ part
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, [-1, -2]]
    axes = axes * np.where(
        axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1, 1
    )  # a sign that does not depend on LAPACK
    return mean, axes, float(values[-2:].sum() / max(values.sum(), np.finfo(float).tiny))


def drawn_rows(n: int) -> Array:
    """All rows, or a fixed random choice of the most that are drawn."""
    if n <= DRAWN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, DRAWN, replace=False))


def _dense(points: Any) -> Array:
    return np.asarray(points.toarray() if issparse(points) else points, dtype=np.float64)
