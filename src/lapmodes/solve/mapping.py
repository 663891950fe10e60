"""The out-of-sample mapping, eq. (7) of the paper: projection of z_bar + gamma q onto the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Points
from .._rows import row_arrays
from .objective import inverse_width, mode_columns


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
