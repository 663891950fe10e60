"""New points: the out-of-sample mapping, eq. (7) of the paper, and the kernel density of each cluster.

The mapping is the projection of z_bar + gamma q onto the simplex. The density of cluster k is p_k(x) =
sum_n z_nk N(x; x_n, sigma_n^2 I) / sum_n z_nk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Points
from .._rows import row_arrays
from .objective import inverse_width, kernel_values, mode_columns

BLOCK = 2048
"""Points, and new points, whose kernel values are held at once."""


@dataclass(frozen=True)
class Reference:
    """The training points as new ones see them."""

    Z: Any
    """Assignments (N, K), an array or a CSR matrix."""
    C: Array
    lam: float
    sample_weight: Array | None = None
    degrees: Array | None = None
    """Those of the training points where the Laplacian was normalised."""


def map_points(points: Points, cross: Any, sigma: Any, reference: Reference, out: Array) -> None:
    """Assignments of new points from the weights to their training neighbours and the kernel at the modes, to `out`.

    Minimises lam sum_n w_n |z - z_n|^2 - b'z over the simplex for each new point: the projection of
    z_bar + b / (2 lam sum_n w_n). Sample weights s_n make each w_n sqrt(s_n) times as large. With `degrees` the
    normalised Laplacian's term is used, whose z_bar is sum_n w_n z_n / sqrt(d d_n) and whose diagonal is 1. Points
    without neighbours of positive weight, or so faint ones that the pull of b overflows, and all points when lam = 0,
    go to the nearest mode.
    """
    n_train = reference.Z.shape[0]
    if cross is None:
        cross = csr_array((points.n, n_train), dtype=points.X.dtype)
    _native.map_points(
        points.arrays,
        row_arrays(cross),
        row_arrays(reference.Z),
        n_train,
        *mode_columns(reference.C, points.X.dtype),
        inverse_width(sigma, points.X.dtype),
        bool(np.isinf(sigma).all()),
        reference.lam,
        reference.sample_weight,
        reference.degrees,
        np.empty_like(cross.data),
        out,
        points.threads,
    )


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
