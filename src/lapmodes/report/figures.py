"""Where each row lies on the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array

DRAWN = 100_000
"""Most points on the map."""
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
