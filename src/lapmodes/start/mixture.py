"""A mixture of Gaussians with full covariances: overlapping clusters, where neighbour graphs see nothing."""

from __future__ import annotations

import warnings

import numpy as np

from .._records import MANY_POINTS, Array, Points

MIXTURE_DIMENSIONS = 16
"""Above this a covariance a cluster asks for more points than clusters have."""
BLOCK_ROWS = 65_536
"""Rows that the mixture sees at once."""


def mixture_labels(points: Points, K: int, seed: int, sizes: Array | None = None) -> Array:
    """The most likely component of each point; fitted to a sample where there are many points.

    A point of size 2 is there twice.
    """
    from sklearn.mixture import GaussianMixture  # not needed at import

    rng, unit = np.random.RandomState(seed), points.spread or 1.0
    sample = np.arange(points.n) if sizes is None else np.repeat(np.arange(points.n), sizes)
    if sample.size > MANY_POINTS:
        sample = np.sort(rng.choice(sample, MANY_POINTS, replace=False))
    blocks = np.array_split(np.arange(points.n), -(-points.n // BLOCK_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a loose fit is one candidate among many
        try:
            model = GaussianMixture(K, random_state=rng).fit(points.rows(sample).astype(np.float64) / unit)
            parts = [model.predict(points.rows(block).astype(np.float64) / unit) for block in blocks]
        except ValueError:  # fewer distinct points than clusters
            return np.zeros(points.n, dtype=np.int32)
    return np.concatenate(parts).astype(np.int32)
