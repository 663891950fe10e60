"""The data of the interactive charts: where each row lies on the map, as small integers for the page's script."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .._rows import as_dense
from ..metrics import CHUNK_ENTRIES
from .content import ReportContent
from .markup import hex_colors

DRAWN = 100_000
"""Most points on the map."""
EXACT_DIMENSIONS = 500
"""Up to this dimension principal axes come from the full covariance."""
DENSE_ROWS = 1024
"""Rows of sparse assignments that are made dense together."""
GRID_STEPS = 65535
"""Coordinates are rounded to this many steps: finer than a screen."""
ONE_COLUMN = "The only column runs from left to right; rows are spread up and down at random so that they can be seen."


def payload(content: ReportContent, placed: Map, density: Array, entropy: Array) -> dict[str, Any]:
    """What the script needs, as JSON."""
    model = content.model
    rows = sample_rows(content.n, DRAWN)
    low, high = placed.positions.min(axis=0), placed.positions.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    quantised = np.round((placed.positions[rows] - low) / span * GRID_STEPS).astype("<u2")
    first, second, weight = two_largest(model.assignments_[rows])
    index = "<u1" if content.n_clusters <= 256 else "<u2"
    history = model.history_
    return {
        "colors": hex_colors(content.n_clusters),
        "low": low.tolist(),
        "span": span.tolist(),
        "x": packed(quantised[:, 0]),
        "y": packed(quantised[:, 1]),
        "first": packed(first.astype(index)),
        "second": packed(second.astype(index)),
        "weight": packed(np.round(255 * weight).astype("<u1")),
        "density": packed(ranks(density)[rows]),
        "entropy": packed(np.round(255 * np.clip(entropy[rows], 0, 1)).astype("<u1")),
        "rows": None if len(rows) == content.n else packed(rows.astype("<u4")),
        "wide": content.n_clusters > 256,
        "names": list(content.row_names) if content.row_names is not None and content.n <= 5000 else None,
        "modes": np.asarray(placed.modes, dtype=float).round(6).tolist(),
        "axes": placed.axes,
        "objective": history["objective"].tolist(),
        "gap": history["gap"].tolist(),
    }


def packed(values: Array) -> str:
    """The bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def two_largest(Z: Any) -> tuple[Array, Array, Array]:
    """The two largest clusters of each row, and the first one's share of the two."""
    if Z.shape[1] == 1:
        zero = np.zeros(Z.shape[0], dtype=int)
        return zero, zero, np.ones(Z.shape[0])
    if issparse(Z):
        pieces = [two_largest(Z[i : i + DENSE_ROWS].toarray()) for i in range(0, Z.shape[0], DENSE_ROWS)]
        first, second, share = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return first, second, share
    order = np.argpartition(-Z, 1, axis=1)[:, :2]
    pair = np.take_along_axis(Z, order, axis=1)
    swap = pair[:, 0] < pair[:, 1]
    order[swap], pair[swap] = order[swap][:, ::-1], pair[swap][:, ::-1]
    return order[:, 0], order[:, 1], pair[:, 0] / np.maximum(pair.sum(axis=1), np.finfo(float).tiny)


def ranks(values: Array) -> Array:
    """Each value's place among all, from 0 (lowest) to 255."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values))
    return np.round(255 * rank / max(len(values) - 1, 1)).astype("<u1")


@dataclass(frozen=True)
class Map:
    """The rows in the plane."""

    positions: Array
    """(n, 2)."""
    modes: Array
    """(K, 2)."""
    axes: tuple[str, str]
    caption: str


def project(points: Any, modes: Array, features: tuple[str, ...]) -> Map:
    """The two columns themselves, or the two directions in which the rows differ most."""
    n, d = points.shape
    if d == 1:
        values = as_dense(points).ravel()
        jitter = np.random.default_rng(0).random(n)
        flat = np.column_stack([values, jitter])
        return Map(flat, np.column_stack([modes[:, 0], np.full(len(modes), 0.5)]), (features[0], ""), ONE_COLUMN)
    if d == 2:
        return Map(
            as_dense(points), modes, (features[0], features[1]), f"The two columns, {features[0]} and {features[1]}."
        )
    mean, axes, share = principal_axes(points)
    positions = np.asarray(points @ axes) - mean @ axes
    caption = (
        f"The {d:,} columns are flattened onto the two directions in which rows differ most (principal components); "
        f"these show {share:.0%} of all differences, so clusters that overlap here may still be apart."
    )
    return Map(positions, (modes - mean) @ axes, ("first direction", "second direction"), caption)


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
    for start in range(0, n, max(1, CHUNK_ENTRIES // d)):
        part = points[start : start + max(1, CHUNK_ENTRIES // d)] - mean
        covariance += part.T @ part
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, [-1, -2]]
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    axes = axes * np.where(largest < 0, -1, 1)  # a sign that does not depend on LAPACK
    return mean, axes, float(values[-2:].sum() / max(values.sum(), np.finfo(float).tiny))


def sample_rows(n: int, most: int) -> Array:
    """All rows, or a fixed random choice of so many, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
