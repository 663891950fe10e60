"""The C-step: each mode climbs the density of its own cluster by mean-shift, eq. (3) of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import norm
from scipy.sparse import csc_array, csr_array, issparse

from .. import _native
from .._records import Array, Modes, Points
from .objective import inverse_width

REACH = 0.5
"""No extrapolated step is longer than this many bandwidths: a mode does not jump over a valley."""
LONGEST = 10
"""Nor longer than this many plain steps."""
PIECE_BYTES = 32 * 2**20
"""Most that the sums of all pieces may take."""
PIECE_MEMBERS = 1024


def shift_modes(points: Points, Z: Any, C: Array, sigma: float | Array, *, tol: float, max_iter: int = 100) -> Modes:
    """Mean-shift all modes, weighted by Z, until none moves by more than `tol`.

    Each update raises the cluster's density or leaves it (majorisation: exp is convex). With infinite
    sigma one update is exact: the weighted mean. Weights are taken relative to the largest, so no
    bandwidth is too small. A cluster without mass keeps its mode.
    """
    members, h = Members.of(Z, points.threads), inverse_width(sigma, points.X.dtype)

    def shift(modes: Array, active: Array) -> Shift:
        return add_up(*_piece_sums(points, members, modes, h, active))

    return climb(C, sigma, shift, tol=tol, max_iter=max_iter)


def climb(
    C: Array, sigma: float | Array, shift: Callable[[Array, Array], Shift], *, tol: float, max_iter: int = 100
) -> Modes:
    """Repeat mean-shift: `shift` says where it takes the active modes from where they are."""
    new = C.copy()
    active = np.ones(C.shape[0], dtype=bool)
    safe, unknown = C.astype(np.float64), np.full(C.shape[0], -np.inf)
    extrapolation = _Extrapolation(REACH * float(np.median(sigma)), safe, np.zeros_like(safe), unknown)
    n_iter = 0
    while active.any() and n_iter < max_iter:
        n_iter += 1
        at = shift(new, active)
        active &= at.mass > 0
        step = at.target - new
        rest = norm(step, axis=1) <= tol
        following = extrapolation.following(step, at)
        following[rest] = at.target[rest]
        new[active] = following[active]
        active &= ~rest
        if np.isinf(sigma).all():
            break
    new[active] = extrapolation.safe[active]
    moved = norm(new.astype(np.float64) - C, axis=1).max()
    return Modes(new, n_iter, float(moved))


@dataclass(frozen=True)
class Shift:
    """Where mean-shift takes the modes."""

    target: Array
    """The weighted means, (K, D)."""
    mass: Array
    """The mass behind each, scaled."""
    level: Array
    """Logarithm of each cluster's density at the modes as they are."""


@dataclass
class _Extrapolation:
    """Anderson acceleration of depth one, a mode at a time: mean-shift converges linearly, along few directions.

    A step that lowered the density is taken back: the mode goes where plain mean-shift would have taken it.
    """

    reach: float
    safe: Array
    """Where plain mean-shift takes the modes, (K, D) in double precision."""
    step: Array
    """The last step."""
    level: Array
    """Log density at the modes before it; minus infinity where nothing is known."""

    def following(self, step: Array, at: Shift) -> Array:
        """The modes' next places, given the steps that mean-shift takes."""
        fell = at.level < self.level
        change = step - self.step
        size = np.einsum("kd,kd->k", change, change)
        share = np.einsum("kd,kd->k", step, change) / np.where(size > 0, size, 1)
        ahead = at.target - self.safe
        near = -share * norm(ahead, axis=1) <= np.minimum(self.reach, LONGEST * norm(step, axis=1))
        longer = np.flatnonzero(near & (share < 0) & ~np.isinf(self.level) & ~fell)
        following = at.target.copy()
        following[longer] -= share[longer, None] * ahead[longer]
        following[fell] = self.safe[fell]
        # Where a step was taken back nothing is known of the place that follows: it starts afresh.
        self.level = np.where(fell, -np.inf, at.level)
        self.safe[~fell] = at.target[~fell]
        self.step = step
        return following


@dataclass(frozen=True)
class Sums:
    """What mean-shift adds up over some points for each cluster, or over a piece of one: all relative to the peak."""

    peak: Array
    """Logarithm of the largest weight."""
    mass: Array
    value: Array
    """The density without its constant."""
    sums: Array
    """The weighted points, (., D)."""


def _piece_sums(points: Points, members: Members, C: Array, h: Array, active: Array) -> tuple[Sums, Array]:
    """The sums over the pieces of the active clusters, and the first piece of each cluster."""
    pieces = members.pieces(active, C.shape[1])
    peak, mass, value = (np.empty(pieces.owner.size) for _ in range(3))
    sums = np.empty((pieces.owner.size, C.shape[1]))
    lists = members.indptr, members.rows, members.values, pieces.bounds
    modes = C, np.einsum("kd,kd->k", C, C), h
    _native.mean_shift_sums(points.arrays, *lists, *modes, peak, mass, value, sums, points.threads)
    return Sums(peak, mass, value, sums), pieces.begins


def merge_sums(pieces: Sums, begins: Array) -> Sums:
    """The sums of each cluster from those of its pieces, which begin at `begins`."""
    K = begins.size - 1
    owner = np.repeat(np.arange(K), np.diff(begins))
    top = np.full(K, -np.inf)
    np.maximum.at(top, owner, pieces.peak)
    with np.errstate(invalid="ignore"):
        share = np.where(pieces.mass > 0, np.exp(pieces.peak - top[owner]), 0.0)
    add = csr_array((share, np.arange(share.size), begins), shape=(K, share.size))
    return Sums(top, add @ pieces.mass, add @ pieces.value, add @ pieces.sums)


def add_up(pieces: Sums, begins: Array) -> Shift:
    """Where mean-shift takes each cluster, from the sums of its pieces."""
    total = merge_sums(pieces, begins)
    target = total.sums / np.where(total.mass > 0, total.mass, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(total.mass > 0, np.log(total.value) + total.peak, -np.inf)
    return Shift(target, total.mass, level)


def cluster_sums(points: Points, members: Members, C: Array, h: Array, active: Array) -> Sums:
    """What mean-shift adds up for each cluster over these points, which may be a part of all."""
    return merge_sums(*_piece_sums(points, members, C, h, active))


@dataclass(frozen=True)
class Members:
    """The points with a share in each cluster, in order, and their shares."""

    indptr: Array
    rows: Array
    values: Array

    @staticmethod
    def of(Z: Any, threads: int) -> Members:
        """The positive entries of Z (N, K), an array or sparse, column by column."""
        if issparse(Z):
            Z = csc_array(Z)
            Z.sort_indices()
            return Members(Z.indptr.astype(np.int64), Z.indices.astype(np.int32, copy=False), Z.data)
        n, K = Z.shape
        counts = np.empty((max(1, min(64, n // 1024)), K), dtype=np.int64)
        _native.count_members(Z, counts, threads)
        ends = counts.T.cumsum().reshape(K, -1)
        rows, values = np.empty(ends[-1, -1], dtype=np.int32), np.empty(ends[-1, -1], dtype=Z.dtype)
        _native.list_members(Z, np.ascontiguousarray((ends - counts.T).T), rows, values, threads)
        return Members(np.concatenate([[0], ends[:, -1]]), rows, values)

    def pieces(self, active: Array, D: int) -> Pieces:
        """The lists of active clusters cut up: fixed by the problem, so that threads do not change the result."""
        length = max(PIECE_MEMBERS, -(-8 * D * self.rows.size // PIECE_BYTES))
        parts = np.where(active, -(-np.diff(self.indptr) // length), 0)
        begins = np.concatenate([[0], parts.cumsum()])
        owner = np.repeat(np.arange(active.size), parts)
        start = self.indptr[owner] + length * (np.arange(owner.size) - begins[owner])
        bounds = np.column_stack([owner, start, np.minimum(start + length, self.indptr[owner + 1])])
        return Pieces(owner, begins, bounds)


@dataclass(frozen=True)
class Pieces:
    """Stretches of the lists, each with sums of its own."""

    owner: Array
    """The cluster of each piece."""
    begins: Array
    """First piece of each cluster."""
    bounds: Array
    """Cluster, first and last + 1 of its members."""
