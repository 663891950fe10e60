"""Rows of many dimensions seen along their principal axes, where near ones are found sooner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._records import Array
from .groups import Groups, every_pair, nearest

COMPONENTS = 64
CHUNK_ROWS = 8192
SAMPLE_ROWS = 10_000
"""Rows from which the axes are found."""
TRIED_ROWS, TRIED_NEIGHBORS = 200, 10
"""Rows for which, and neighbours with which, it is tried whether the axes show enough."""
WIDE = 3
"""Lists along the axes are this many times as long as those asked for."""
ENOUGH = 0.99
"""Share of the true neighbours that such lists must hold."""


@dataclass(frozen=True)
class Projection:
    """The axes (D, COMPONENTS) of the largest variance about a centre."""

    center: Array
    axes: Array

    @staticmethod
    def worthwhile(X: Array, threads: int, seed: int) -> Projection | None:
        """The principal axes of X; None where they save little, or do not show who is near."""
        if X.shape[1] <= 2 * COMPONENTS:
            return None
        from sklearn.utils.extmath import randomized_svd  # not needed at import

        rng = np.random.RandomState(seed)
        sample = X[rng.choice(X.shape[0], min(SAMPLE_ROWS, X.shape[0]), replace=False)]
        center = sample.mean(axis=0)
        # Rough axes will do, and take seconds where there are tens of thousands of dimensions.
        axes = randomized_svd(sample - center, COMPONENTS, n_iter=2, random_state=rng)[2].T
        found = Projection(center, np.ascontiguousarray(axes, dtype=X.dtype))
        tried = X[rng.choice(X.shape[0], min(TRIED_ROWS, X.shape[0]), replace=False)]
        near = _first(tried, X, TRIED_NEIGHBORS, threads)
        seen = _first(found.along(tried), found.along(X), WIDE * TRIED_NEIGHBORS, threads)
        return found if (near[:, :, None] == seen[:, None, :]).any(axis=2).mean() >= ENOUGH else None

    def along(self, X: Array) -> Array:
        """The rows along the axes."""
        out = np.empty((X.shape[0], self.axes.shape[1]), dtype=X.dtype)
        for start in range(0, X.shape[0], CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            np.matmul(X[rows] - self.center, self.axes, out=out[rows])
        return out


def _first(Q: Array, X: Array, k: int, threads: int) -> Array:
    queries, rows = Groups.consecutive(Q), Groups.consecutive(X)
    return nearest(queries, rows, every_pair(queries, rows), k, threads)
