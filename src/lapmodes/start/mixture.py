"""A mixture of Gaussians: overlapping clusters, where neighbour graphs see nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from .._gaussians import fit_gaussians, free_numbers, likeness, principal_axes, products
from .._records import Array, Points
from .._rows import draw_rows, one_hot

MIXTURE_DIMENSIONS = 50
"""Above this no mixture is fitted: a few axes say too little of pictures and embeddings."""
SAMPLE_ROWS, SAMPLE_MEMBERS = 2000, 20
"""Where there are more points than this, and than this a cluster, the mixture is fitted to a sample."""
NEAR, CLOSE = 1e-3, 1e-4
"""EM ends when a step raises the mean log density by less: from each start, and from where the best one ended."""
BLOCK_ENTRIES = 2**22
COMPARED_ROWS, COMPARED_ENTRIES = 1000, 4000
"""Points that are compared with points drawn from Gaussians; more in the plane, where thin shapes need them."""


def mixture_labels(
    points: Points, K: int, seed: int, starts: Iterable[Array] = (), sizes: Array | None = None
) -> Array:
    """The most likely component of each point, by the best fit of EM from K-means and from given partitions.

    All share one covariance where that says as much with fewer numbers (Akaike). Points count as much as `sizes` say.
    """
    from sklearn.cluster import KMeans  # not needed at import

    rng = np.random.RandomState(seed)
    some = draw_rows(points.n, sizes, max(SAMPLE_ROWS, SAMPLE_MEMBERS * K), rng)
    if some.size < K:
        return np.zeros(points.n, dtype=np.int32)
    X = _along(points, some, *(frame := principal_axes(points.rows(some))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct points than clusters
        first = KMeans(K, n_init=1, random_state=rng).fit_predict(X)
    P = products(X, "full")
    groups = [one_hot(each, K, P.dtype) for each in (first, *(each[some] for each in starts))]
    near = max((fit_gaussians(X, P, Z, "full", NEAR) for Z in groups), key=lambda fit: fit[0])[1]
    full = fit_gaussians(X, P, near, "full", CLOSE)
    fits = {"full": full, "tied": fit_gaussians(X, products(X, "tied"), full[1], "tied", CLOSE)}
    kind = min(fits, key=lambda kind: free_numbers(K, X.shape[1], kind) - some.size * fits[kind][0])
    blocks = np.array_split(np.arange(points.n), -(-points.n * max(len(frame[1]), K, P.shape[1]) // BLOCK_ENTRIES))
    rows = (products(_along(points, block, *frame), kind) for block in blocks)
    return np.concatenate([(each @ fits[kind][2]).argmax(axis=1) for each in rows]).astype(np.int32)


def mixture_likeness(points: Points, labels: Array, K: int, seed: int) -> float:
    """How much the points look like Gaussians, one for each cluster: between 0 and 1."""
    rng = np.random.RandomState(seed)
    some = draw_rows(points.n, None, max(COMPARED_ROWS, COMPARED_ENTRIES // points.X.shape[1]), rng)
    return likeness(_along(points, some, *principal_axes(points.rows(some))), labels[some], K, rng)


def _along(points: Points, rows: Array, middle: Array, axes: Array) -> Array:
    """Coordinates along axes, in units of the spread, rounded: the same however points lie in space."""
    return np.round((points.rows(rows) - middle) @ axes / (points.spread or 1.0), 9)
