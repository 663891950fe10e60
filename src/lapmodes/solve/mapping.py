"""The out-of-sample mapping, eq. (6) of the paper: projection of z_bar + gamma q onto the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._records import Array
from .._rows import as_dense, scaled_rows
from .points import one_hot


def map_points(
    cross: Any,
    Z: Any,
    B: Array,
    distances: Array,
    lam: float,
    degrees: Array | None = None,
    masses: Array | None = None,
    threads: int = 1,
) -> Array:
    """Assignments of new points from the weights to their training neighbours and the kernel at the modes.

    Minimises lam sum_n w_n |z - z_n|^2 - b'z over the simplex for each new point: the projection of
    z_bar + b / (2 lam sum_n w_n). With `degrees` (those of the training points) the normalised
    Laplacian's term is used, whose z_bar is sum_n w_n z_n / sqrt(d d_n) and whose diagonal is 1.
    With balance, c Z'd (`masses`) is taken from z_bar: the term's gradient at a new point that moves no mass.
    Points without neighbours of positive weight, and all points when lam = 0, go to the nearest mode.
    """
    K = Z.shape[1]
    nearest = one_hot(distances.argmin(axis=1), K, B.dtype)
    if lam == 0:
        return nearest
    total = np.asarray(cross.sum(axis=1), dtype=np.float64).ravel()
    linked = total > 0
    safe = np.where(linked, total, 1.0)
    if degrees is None:
        mean, diagonal = as_dense(cross @ Z) / safe[:, None], safe
    else:
        near = as_dense(cross @ scaled_rows(Z, 1 / np.sqrt(np.where(degrees > 0, degrees, 1))))
        mean, diagonal = near / np.sqrt(safe)[:, None], np.ones_like(safe)
    if masses is not None:
        mean = mean - masses
    with np.errstate(over="ignore"):
        pull = B.astype(np.float64) / (2 * lam * diagonal)[:, None]
    linked &= np.isfinite(pull).all(axis=1)
    V = np.where(linked[:, None], mean + pull, 0.0).astype(B.dtype)
    _native.project_rows(V, threads)
    V[~linked] = nearest[~linked]
    return V
