"""The C-step: each mode climbs the density of its own cluster by mean-shift, eq. (3) of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse

from .. import _native
from .._records import Array, Modes
from .points import Points, inverse_width

CHUNK_BYTES = 32 * 2**20
REACH = 0.5
"""No leap is longer than this many bandwidths: a mode does not jump over a valley."""
LONGEST = 10
"""Nor longer than this many plain steps."""


def shift_modes(points: Points, Z: Any, C: Array, sigma: float | Array, *, tol: float, max_iter: int = 100) -> Modes:
    """Mean-shift all modes, weighted by Z, until none moves by more than `tol`.

    Each update raises the cluster's density or leaves it (majorisation: exp is convex). With infinite
    sigma one update is exact: the weighted mean. Weights are taken relative to the largest, so no
    bandwidth is too small. A cluster without mass keeps its mode.
    """
    Z = csc_array(Z) if issparse(Z) else Z
    new = C.copy()
    active = np.ones(C.shape[0], dtype=bool)
    h = inverse_width(sigma, points.dtype)
    leap = _Leap(C, REACH * float(np.median(sigma)))
    empty: tuple[int, ...] = ()
    n_iter = 0
    while active.any() and n_iter < max_iter:
        n_iter += 1
        at = _targets(points, Z, new, h, active)
        if n_iter == 1:
            empty = tuple(np.flatnonzero(at.mass == 0).tolist())
        active &= at.mass > 0
        rest = np.linalg.norm(at.target - new, axis=1) <= tol
        following = leap.following(new, at)
        following[rest] = at.target[rest]
        new[active] = following[active]
        active &= ~rest
        if not h.any():
            break
    new[active] = leap.safe[active]
    moved = np.linalg.norm(new.astype(np.float64) - C, axis=1).max()
    return Modes(new, n_iter, float(moved), empty)


@dataclass(frozen=True)
class _Shift:
    """Where mean-shift takes the modes."""

    target: Array
    """The weighted means, (K, D)."""
    mass: Array
    """The mass behind each, scaled."""
    level: Array
    """Logarithm of each cluster's density at the modes as they are."""


class _Leap:
    """Anderson acceleration of depth one, a mode at a time: mean-shift converges linearly, along few directions.

    A leap that lowered the density is taken back: the mode goes where plain mean-shift would have taken it.
    """

    def __init__(self, C: Array, reach: float) -> None:
        self.reach = reach
        self.safe = C.astype(np.float64)
        self.step = np.zeros_like(self.safe)
        self.level = np.full(C.shape[0], -np.inf)

    def following(self, C: Array, at: _Shift) -> Array:
        """The modes' next places, given where mean-shift takes them from C."""
        fell = at.level < self.level
        step = at.target - C
        change = step - self.step
        size = np.einsum("kd,kd->k", change, change)
        share = np.einsum("kd,kd->k", step, change) / np.where(size > 0, size, 1)
        leap = -share[:, None] * (at.target - self.safe)
        far = np.linalg.norm(leap, axis=1) > np.minimum(self.reach, LONGEST * np.linalg.norm(step, axis=1))
        leap[far | (share >= 0) | np.isinf(self.level)] = 0
        following = np.where(fell[:, None], self.safe, at.target + leap)
        # Where a leap was taken back nothing is known of the place that follows: it starts afresh.
        self.level = np.where(fell, -np.inf, at.level)
        self.safe = np.where(fell[:, None], self.safe, at.target)
        self.step = step
        return following


def _targets(points: Points, Z: Any, C: Array, h: Array, active: Array) -> _Shift:
    """One step of mean-shift for the active modes."""
    K, D = C.shape
    chunks = 1 if issparse(Z) else n_chunks(points.n, K * D)
    peak, mass, value = (np.empty((chunks, K)) for _ in range(3))
    sums = np.empty((chunks, K, D))
    sqnorm = np.einsum("kd,kd->k", C, C)
    modes_and_sums = C, sqnorm, h, active, peak, mass, value, sums, points.threads
    if issparse(Z):
        members = Z.indptr.astype(np.int64), Z.indices.astype(np.int32, copy=False), Z.data
        _native.shift_clusters(*points.arrays, *members, *modes_and_sums)
    else:
        _native.shift_sums(*points.arrays, Z, *modes_and_sums)
    top = peak.max(axis=0)
    with np.errstate(invalid="ignore"):
        share = np.where(mass > 0, np.exp(peak - top), 0.0)
    total = (share * mass).sum(axis=0)
    target = np.einsum("ck,ckd->kd", share, sums) / np.where(total > 0, total, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(total > 0, np.log((share * value).sum(axis=0)) + top, -np.inf)
    return _Shift(target, total, level)


def n_chunks(n: int, size: int) -> int:
    """Row chunks with sums of their own: fixed by the problem, so that threads do not change the result."""
    return int(max(1, min(64, n // 256, CHUNK_BYTES // (8 * size) or 1)))
