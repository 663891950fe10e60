"""The C-step: each mode climbs the density of its own cluster by mean-shift, eq. (3) of the paper."""

from __future__ import annotations

import numpy as np

from .. import _native
from .._records import Array, Modes
from .points import Points, inverse_width

CHUNK_BYTES = 32 * 2**20


def shift_modes(points: Points, Z: Array, C: Array, sigma: float | Array, *, tol: float, max_iter: int = 100) -> Modes:
    """Mean-shift all modes, weighted by Z, until none moves by more than `tol`.

    Each update raises the cluster's density or leaves it (majorisation: exp is convex). With infinite
    sigma one update is exact: the weighted mean. Weights are taken relative to the largest, so no
    bandwidth is too small. A cluster without mass keeps its mode.
    """
    new = C.copy()
    active = np.ones(C.shape[0], dtype=bool)
    h = inverse_width(sigma, points.dtype)
    empty: tuple[int, ...] = ()
    n_iter = 0
    while active.any() and n_iter < max_iter:
        n_iter += 1
        target, mass = _targets(points, Z, new, h, active)
        if n_iter == 1:
            empty = tuple(np.flatnonzero(mass == 0).tolist())
        active &= mass > 0
        step = np.linalg.norm(target[active] - new[active].astype(np.float64), axis=1)
        new[active] = target[active]
        active[active] = step > tol
        if not h.any():
            break
    moved = np.linalg.norm(new.astype(np.float64) - C, axis=1).max()
    return Modes(new, n_iter, float(moved), empty)


def _targets(points: Points, Z: Array, C: Array, h: Array, active: Array) -> tuple[Array, Array]:
    """The weighted means that the modes shift to, (K, D), and the mass behind each."""
    K, D = C.shape
    chunks = n_chunks(points.n, K * D)
    peak, mass, value = (np.empty((chunks, K)) for _ in range(3))
    sums = np.empty((chunks, K, D))
    sqnorm = np.einsum("kd,kd->k", C, C)
    _native.shift_sums(*points.arrays, Z, C, sqnorm, h, active, peak, mass, value, sums, points.threads)
    top = peak.max(axis=0)
    with np.errstate(invalid="ignore"):
        share = np.where(mass > 0, np.exp(peak - top), 0.0)
    total = (share * mass).sum(axis=0)
    target = np.einsum("ck,ckd->kd", share, sums) / np.where(total > 0, total, 1)[:, None]
    return target, total


def n_chunks(n: int, size: int) -> int:
    """Row chunks with sums of their own: fixed by the problem, so that threads do not change the result."""
    return int(max(1, min(64, n // 256, CHUNK_BYTES // (8 * size) or 1)))
