"""The C-step: each mode climbs the density of its own cluster by mean-shift, eq. (3) of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from .._records import Array, Modes
from .members import Members
from .points import Points, inverse_width

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
    members = Members.of(Z, points.threads)
    new = C.copy()
    active = np.ones(C.shape[0], dtype=bool)
    h = inverse_width(sigma, points.dtype)
    leap = _Leap(C, REACH * float(np.median(sigma)))
    empty: tuple[int, ...] = ()
    n_iter = 0
    while active.any() and n_iter < max_iter:
        n_iter += 1
        at = _targets(points, members, new, h, active)
        if n_iter == 1:
            empty = tuple(np.flatnonzero(at.mass == 0).tolist())
        active &= at.mass > 0
        step = at.target - new
        rest = _lengths(step) <= tol
        following = leap.following(step, at)
        following[rest] = at.target[rest]
        new[active] = following[active]
        active &= ~rest
        if not h.any():
            break
    new[active] = leap.safe[active]
    moved = _lengths(new.astype(np.float64) - C).max()
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

    def following(self, step: Array, at: _Shift) -> Array:
        """The modes' next places, given the steps that mean-shift takes."""
        fell = at.level < self.level
        change = step - self.step
        size = np.einsum("kd,kd->k", change, change)
        share = np.einsum("kd,kd->k", step, change) / np.where(size > 0, size, 1)
        ahead = at.target - self.safe
        near = -share * _lengths(ahead) <= np.minimum(self.reach, LONGEST * _lengths(step))
        leaps = np.flatnonzero(near & (share < 0) & ~np.isinf(self.level) & ~fell)
        following = at.target.copy()
        following[leaps] -= share[leaps, None] * ahead[leaps]
        following[fell] = self.safe[fell]
        # Where a leap was taken back nothing is known of the place that follows: it starts afresh.
        self.level = np.where(fell, -np.inf, at.level)
        self.safe[~fell] = at.target[~fell]
        self.step = step
        return following


def _lengths(rows: Array) -> Array:
    """Norm of each row, without a temporary."""
    return np.asarray(np.sqrt(np.einsum("kd,kd->k", rows, rows)))


def _targets(points: Points, members: Members, C: Array, h: Array, active: Array) -> _Shift:
    """One step of mean-shift for the active modes."""
    pieces = members.pieces(active, C.shape[1])
    peak, mass, value = (np.empty(pieces.owner.size) for _ in range(3))
    sums = np.empty((pieces.owner.size, C.shape[1]))
    lists = members.indptr, members.rows, members.values, pieces.bounds
    modes = C, np.einsum("kd,kd->k", C, C), h
    _native.shift_pieces(*points.arrays, *lists, *modes, peak, mass, value, sums, points.threads)
    top = np.full(C.shape[0], -np.inf)
    np.maximum.at(top, pieces.owner, peak)
    with np.errstate(invalid="ignore"):
        share = np.where(mass > 0, np.exp(peak - top[pieces.owner]), 0.0)
    total = pieces.total(share, mass)
    target = pieces.total(share, sums) / np.where(total > 0, total, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(total > 0, np.log(pieces.total(share, value)) + top, -np.inf)
    return _Shift(target, total, level)
