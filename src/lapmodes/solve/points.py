"""Points and modes as the native kernels take them; one path for dense and sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import _native
from .._records import Array
from .._rows import one_hot_rows, row_arrays

CHUNK_ENTRIES = 2**16
BLOCK_ENTRIES = 2**19
"""Most kernel values at once where only a summary of them is wanted."""


@dataclass(frozen=True)
class Points:
    """The rows of X, ready for the kernels, and how many threads may work on them."""

    X: Any
    arrays: tuple[Any, ...]
    threads: int

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Dimension."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> Any:
        """Precision of the work."""
        return self.X.dtype

    @cached_property
    def spread(self) -> float:
        """Root of the mean squared distance to the mean: the scale of the data."""
        X = self.X
        if issparse(X):
            mean = np.asarray(X.mean(axis=0), dtype=np.float64)
            total = float(np.square(X.data, dtype=np.float64).sum()) / self.n - float(mean @ mean)
        else:
            mean = X.mean(axis=0, dtype=np.float64)
            rows = max(1, CHUNK_ENTRIES // self.d)
            parts = ((X[i : i + rows] - mean).ravel() for i in range(0, self.n, rows))
            total = sum(float(part @ part) for part in parts) / self.n
        return float(np.sqrt(max(total, 0.0)))

    def rows(self, selection: Array) -> Array:
        """Some rows as a dense array."""
        chosen = self.X[selection]
        return np.ascontiguousarray(chosen.toarray() if issparse(chosen) else chosen)


def as_points(X: Any, threads: int) -> Points:
    """Wrap a C-contiguous array or a CSR matrix of float32 or float64."""
    if not issparse(X):
        return Points(X, (X,), threads)
    sqnorm = np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return Points(X, (*row_arrays(X), sqnorm, int(X.shape[1])), threads)


def inverse_width(sigma: float | Array, dtype: Any) -> Array:
    """The factor h = 1 / (2 sigma^2), one value or one a point; zero for infinite sigma.

    A width whose square underflows counts as the smallest one that does not.
    """
    with np.errstate(over="ignore", divide="ignore"):
        h = 0.5 / np.square(np.atleast_1d(np.asarray(sigma, dtype=np.float64)))
    return np.minimum(h, np.finfo(dtype).max / 1e4).astype(dtype)


def kernel_values(points: Points, C: Array, sigma: float | Array, *, squared: bool = False) -> Array:
    """B (N, K): b_nk = exp(-|x_n - c_k|^2 / (2 sigma_n^2)); minus the squared distance if `squared`."""
    B = np.empty((points.n, C.shape[0]), dtype=points.dtype)
    h = inverse_width(sigma, points.dtype)
    _native.kernel_values(*points.arrays, *mode_columns(C, points.dtype), h, squared, B, points.threads)
    return B


def mode_columns(C: Array, dtype: Any) -> tuple[Array, Array]:
    """Modes as columns, padded to whole vectors, and their squared norms: what the native kernels take."""
    K, D = C.shape
    lanes = _native.LANES_FLOAT32 if dtype == np.float32 else _native.LANES_FLOAT64
    columns = np.zeros((D, -(-K // lanes) * lanes), dtype=dtype)
    columns[:, :K] = C.T
    return columns, np.einsum("dk,dk->k", columns, columns)


def row_blocks(points: Points, K: int) -> Iterator[tuple[slice, Points]]:
    """The points in blocks whose kernel values at K modes are few enough to hold."""
    size = max(1, BLOCK_ENTRIES // K)
    for start in range(0, points.n, size):
        rows = slice(start, min(start + size, points.n))
        yield rows, points if rows == slice(0, points.n) else as_points(points.X[rows], points.threads)


def nearest_mode(points: Points, C: Array) -> Array:
    """Index of the mode nearest to each point; the first one among equals."""
    blocks = row_blocks(points, C.shape[0])
    return np.concatenate([kernel_values(some, C, 1.0, squared=True).argmax(axis=1) for _, some in blocks])


def nearest_points(points: Points, C: Array) -> Array:
    """Index of the point nearest to each mode; the first one among equals."""
    nearest, best = np.zeros(C.shape[0], dtype=np.intp), np.full(C.shape[0], -np.inf)
    for rows, some in row_blocks(points, C.shape[0]):
        minus_d2 = kernel_values(some, C, 1.0, squared=True)
        at = minus_d2.argmax(axis=0)
        value = np.take_along_axis(minus_d2, at[None], axis=0)[0]
        nearer = value > best
        nearest[nearer], best[nearer] = rows.start + at[nearer], value[nearer]
    return nearest


def one_hot(labels: Array, K: int, dtype: Any, *, sparse: bool = False) -> Any:
    """Z (N, K) with a single 1 in each row."""
    if sparse:
        return one_hot_rows(labels, K, dtype)
    Z = np.zeros((labels.shape[0], K), dtype=dtype)
    Z[np.arange(labels.shape[0]), labels] = 1
    return Z
