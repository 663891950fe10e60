"""Exact nearest neighbours, for dense and sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial import cKDTree

from .._progress import Step, no_step
from .._records import Array, Neighbors

TREE_DIMENSIONS = 12
"""Up to this dimension a k-d tree beats brute force on ordinary data."""
CHUNK_ROWS = 8192


class NeighborIndex:
    """Finds the nearest of the rows X, for rows of X itself or for new points."""

    def __init__(self, X: Any, threads: int) -> None:
        self._X = X
        self._threads = threads
        if not issparse(X) and X.shape[1] <= TREE_DIMENSIONS:
            # Unbalanced splits keep heavily duplicated points from slowing the tree down.
            self._tree = cKDTree(X, balanced_tree=False)
        else:
            from sklearn.neighbors import NearestNeighbors

            self._tree = None
            self._origin = _far_origin(X)
            self._brute = NearestNeighbors(algorithm="brute", n_jobs=threads).fit(self._centred(X))

    def query(self, Q: Any, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest rows of X to each row of Q."""
        k = min(k, self._X.shape[0])
        indices = np.empty((Q.shape[0], k), dtype=np.int32)
        distances = np.empty((Q.shape[0], k), dtype=Q.dtype)
        for start in range(0, Q.shape[0], CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            distances[rows], indices[rows] = self._query(Q[rows], k)
            step(min(CHUNK_ROWS, Q.shape[0] - start))
        return Neighbors(indices, distances)

    def query_self(self, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest other rows of X to each row of X."""
        found = self.query(self._X, k + 1, step)
        own = found.indices == np.arange(self._X.shape[0], dtype=np.int32)[:, None]
        # Among more than k duplicates a point may not find itself: then its last neighbour goes.
        own[~own.any(axis=1), -1] = True
        shape = (self._X.shape[0], found.indices.shape[1] - 1)
        return Neighbors(found.indices[~own].reshape(shape), found.distances[~own].reshape(shape))

    def _query(self, Q: Any, k: int) -> tuple[Array, Array]:
        if self._tree is None:
            distances, indices = self._brute.kneighbors(self._centred(Q), k)
            return distances, indices
        distances, indices = self._tree.query(Q, k, workers=self._threads)
        return distances.reshape(-1, k), indices.reshape(-1, k)

    def _centred(self, Q: Any) -> Any:
        return Q if self._origin is None else Q - self._origin


def _far_origin(X: Any) -> Array | None:
    """The mean of dense rows that lie far from zero: brute force takes inner products, which would cancel."""
    if issparse(X):
        return None
    mean = X.mean(axis=0)
    spread = np.abs(X[:: max(1, X.shape[0] // 1000)] - mean).max()
    return mean if np.abs(mean).max() > 100 * spread else None
