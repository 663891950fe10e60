"""The objective, eq. (5) of the paper with a prior, and its certificate: the only place with the formula.

E(Z, C) = lam tr(Z'LZ) - tr((B + alpha P)'Z), with b_nk = w_n G(|(x_n - c_k) / sigma_n|^2), G(t) = exp(-t / 2), and w_n
the sample weight. For infinite sigma the kernel's expansion leaves b_nk = -w_n |x_n - c_k|^2 (Laplacian K-means).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import _native
from .._records import Array, Certificate, Graph, Points

BLOCK_ENTRIES = 2**19
"""Most kernel values at once where only a summary of them is wanted."""


def kernel_values(
    points: Points, C: Array, sigma: float | Array, sample_weight: Array | None = None, *, squared: bool = False
) -> Array:
    """B (N, K): w_n exp(-|x_n - c_k|^2 / (2 sigma_n^2)); minus w_n times the squared distance if `squared`."""
    X = points.X
    B = np.empty((X.shape[0], C.shape[0]), dtype=X.dtype)
    h = inverse_width(sigma, X.dtype)
    _native.kernel_values(points.arrays, *mode_columns(C, X.dtype), h, squared, B, points.threads)
    if sample_weight is not None:
        B *= sample_weight[:, None]
    return B


def inverse_width(sigma: float | Array, dtype: Any) -> Array:
    """The factor h = 1 / (2 sigma^2), one value or one a point; zero for infinite sigma.

    A width whose square underflows counts as the smallest one that does not.
    """
    with np.errstate(over="ignore", divide="ignore"):
        h = 0.5 / np.square(np.atleast_1d(np.asarray(sigma, dtype=np.float64)))
    return np.minimum(h, np.finfo(dtype).max / 1e4).astype(dtype)


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
        yield rows, points if rows == slice(0, points.n) else points.take(rows)


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


def distances_to_modes(points: Points, C: Array) -> Array:
    """Distances (N, K); those of sparse rows that are only rounding, whose root would not be small, are zero."""
    squared = -kernel_values(points, C, 1.0, squared=True)
    if issparse(points.X):
        scale = points.arrays[3][:, None] + np.einsum("kd,kd->k", C, C)
        squared[squared <= 8 * np.finfo(squared.dtype).eps * scale] = 0
    return np.sqrt(squared)


def certify(graph: Graph, B: Array, lam: float, Z: Array, threads: int = 1) -> Certificate:
    """Energy of Z and a bound on E(Z) - min E, in double precision; B is the whole linear term.

    The Z-step is convex, so with g the gradient, sum_n (<g_n, z_n> - min_k g_nk) is such a bound.
    """
    stats = block_statistics(Z.shape[0])
    _native.certify(*graph.arrays, B, lam, Z, stats, threads)
    return certificate_from(stats, lam)


def block_statistics(n: int) -> Array:
    """Room for what the native sweeps sum over each block of rows."""
    return np.empty((-(-n // _native.BLOCK_ROWS), 4))


def certificate_from(stats: Array, lam: float) -> Certificate:
    """Energy and gap from the block sums of a sweep."""
    smoothness, linear, gap = stats[:, :3].sum(axis=0)
    return Certificate(float(lam * smoothness - linear), float(gap))
