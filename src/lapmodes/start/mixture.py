"""A mixture of Gaussians: overlapping clusters, where neighbour graphs see nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from .._gaussians import fit_gaussians, likeness, products
from .._records import Array, Points
from .._rows import draw_rows, one_hot

MIXTURE_DIMENSIONS = 16
"""Above this a covariance a cluster asks for more points than clusters have."""
SAMPLE_ROWS, SAMPLE_MEMBERS = 2000, 20
"""Where there are more points than this, and than this a cluster, the mixture is fitted to a sample."""
NEAR, CLOSE = 1e-3, 1e-4
"""EM ends when a step raises the mean log density by less: from each start, and from where the best one ended."""
BLOCK_ROWS = 65_536
COMPARED_ROWS, COMPARED_ENTRIES = 1000, 4000
"""Points that are compared with points drawn from Gaussians; more in the plane, where thin shapes need them."""


def mixture_labels(
    points: Points, K: int, seed: int, starts: Iterable[Array] = (), sizes: Array | None = None
) -> Array:
    """The most likely component of each point, by the best fit of EM from K-means and from given partitions.

    All share one covariance where that says as much with fewer numbers (Akaike). Points count as much as `sizes` say.
    """
    from sklearn.cluster import KMeans  # not needed at import

    rng, d = np.random.RandomState(seed), int(points.X.shape[1])
    some = draw_rows(points.n, sizes, max(SAMPLE_ROWS, SAMPLE_MEMBERS * K), rng)
    if some.size < K:
        return np.zeros(points.n, dtype=np.int32)
    middle = points.rows(some).mean(axis=0, dtype=np.float64)
    turn = np.linalg.eigh(np.cov(points.rows(some).T).reshape(d, d))[1] / (points.spread or 1.0)
    X = _along_axes(points, some, middle, turn)
    P = products(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct points than clusters
        first = KMeans(K, n_init=1, random_state=rng).fit_predict(X)
    fits = [fit_gaussians(P, one_hot(each, K, P.dtype), d, NEAR) for each in (first, *(each[some] for each in starts))]
    height, Z, weights = fit_gaussians(P, max(fits, key=lambda fit: fit[0])[1], d, CLOSE)
    low, _, tied = fit_gaussians(P, Z, d, CLOSE, tied=True)
    weights = tied if some.size * (height - low) < (K - 1) * d * (d + 1) / 2 else weights
    blocks = np.array_split(np.arange(points.n), -(-points.n // BLOCK_ROWS))
    parts = [(products(_along_axes(points, block, middle, turn)) @ weights).argmax(axis=1) for block in blocks]
    return np.concatenate(parts).astype(np.int32)


def _along_axes(points: Points, rows: Array, middle: Array, turn: Array) -> Array:
    """Coordinates along the principal axes, in units of the spread, rounded: the same however points lie in space."""
    return np.round((points.rows(rows) - middle) @ turn, 9)


def mixture_likeness(points: Points, labels: Array, K: int, seed: int) -> float:
    """How much the points look like Gaussians, one for each cluster: between 0 and 1."""
    rng = np.random.RandomState(seed)
    some = draw_rows(points.n, None, max(COMPARED_ROWS, COMPARED_ENTRIES // points.X.shape[1]), rng)
    X = points.rows(some)
    return likeness((X - X.mean(axis=0, dtype=np.float64)) / (points.spread or 1.0), labels[some], K, rng)
