"""Kernel density of each cluster: p_k(x) = sum_n z_nk N(x; x_n, sigma_n^2 I) / sum_n z_nk."""

from __future__ import annotations

import numpy as np

from .._records import Array, Points
from .objective import kernel_values

BLOCK = 2048


def log_cluster_sums(points: Points, queries: Points, Z: Array, sigma: float | Array) -> Array:
    """Log of sum_n z_nk N(x; x_n, sigma_n^2 I) for each query and cluster, (M, K), safe from underflow."""
    D = points.X.shape[1]
    widths = np.broadcast_to(np.asarray(sigma, dtype=np.float64), (points.n,))
    norm = -0.5 * D * np.log(2 * np.pi * np.square(widths))
    out = np.empty((queries.n, Z.shape[1]))
    for start in range(0, queries.n, BLOCK):
        some = queries.take(slice(start, start + BLOCK))
        out[start : start + some.n] = _block(points, some, Z, widths, norm)
    return out


def _block(points: Points, queries: Points, Z: Array, widths: Array, norm: Array) -> Array:
    """One block of queries against all points, with a running peak (a streaming log-sum-exp)."""
    peak = np.full((queries.n, 1), -np.inf)
    sums = np.zeros((queries.n, Z.shape[1]))
    for start in range(0, points.n, BLOCK):
        rows = slice(start, min(start + BLOCK, points.n))
        centres = points.rows(np.arange(rows.start, rows.stop))
        minus_d2 = kernel_values(queries, centres, 1.0, squared=True).astype(np.float64)
        exponent = minus_d2 * (0.5 / np.square(widths[rows])) + norm[rows]
        top = np.maximum(peak, exponent.max(axis=1, keepdims=True))
        sums *= np.exp(peak - top)
        sums += np.exp(exponent - top) @ Z[rows]
        peak = top
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums) + peak)
