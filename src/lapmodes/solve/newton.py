"""Newton steps on a face of the simplices: for long, thin graphs, where first-order sweeps need thousands.

With the zeros of Z held, the Z-step is a linear system: Z moves along D with zeros where Z has them and rows that
sum to 0. Conjugate gradients solve it, with the factorised Laplacian of the rows that can move as preconditioner, so
that the work does not grow with the diameter of the graph. The sweeps in between find which entries are zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import _native
from .._records import Array, Graph

REDUCTION = 0.1
"""How far conjugate gradients reduce the residual: more is lost when the face changes."""
FLAT = 1e-6
MAX_STEPS = 200
MAX_FACES = 4
"""How often entries that would fall below zero are taken out and the rest is solved again."""
USUAL_STEPS = 50
SWEEPS_OF_A_STEP = 300
"""Measured: what the conjugate gradients of a step cost beside the factor, in native sweeps."""
FIRST_LOOK = 100
"""Sweeps before a Newton step is thought of."""
SWEEPS_BETWEEN = 10
HELPED = 0.5
"""A step that brought the gap below this share of what it was is followed by another."""
SHARE = 5
"""A Newton step is taken if the sweeps still to come cost this many times as much."""
SHIFT = 1e-6
"""Added to the Laplacian's diagonal, relative to its mean: parts of the graph without anchor are singular."""


class Newton:
    """The Z-step's problem, Newton steps on its faces, and when they cost little beside the sweeps still to come."""

    def __init__(self, graph: Graph, B: Array, lam: float, threads: int = 1) -> None:
        self.graph, self.B, self.lam, self.threads = graph, B, lam, threads
        self._look = FIRST_LOOK
        self._gap_before: float | None = None

    def pays(self, gaps: list[tuple[int, float]], target: float) -> bool:
        """Whether to take a step now: the last one helped, or much is still to come.

        `gaps` holds (sweeps so far, proven gap), and the sweeps end when the gap is at most `target`.
        """
        sweeps, gap = gaps[-1]
        if sweeps < self._look:
            return False
        after_a_step = self._gap_before is not None
        now = gap < HELPED * (self._gap_before or 0.0) if after_a_step else self._is_worth_trying(gaps, target)
        self._gap_before, self._look = (gap, sweeps + SWEEPS_BETWEEN) if now else (None, 2 * sweeps)
        return now

    def _is_worth_trying(self, gaps: list[tuple[int, float]], target: float) -> bool:
        remaining = remaining_sweeps(gaps, target)
        return remaining > SHARE * SWEEPS_OF_A_STEP and remaining > SHARE * self.cost

    @cached_property
    def order(self) -> Array:
        """Rows so that neighbours are near each other (reverse Cuthill-McKee)."""
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        return np.asarray(reverse_cuthill_mckee(self.graph.weights, symmetric_mode=True))

    @cached_property
    def cost(self) -> float:
        """Work of one Newton step, in sweeps; no ordering of a factor is needed to know a bound on its size."""
        n, K = self.B.shape
        W = self.graph.weights
        place = np.empty(n, dtype=np.int64)
        place[self.order] = np.arange(n)
        first = place.copy()
        rows = np.repeat(np.arange(n), np.diff(W.indptr))
        np.minimum.at(first, rows, place[W.indices])
        width = (place - first + 1).astype(np.float64)
        factor = np.square(width).sum()
        solves = 2 * USUAL_STEPS * K * width.sum()
        return float((factor + solves) / ((W.nnz + 8 * n) * K) + SWEEPS_OF_A_STEP)

    def step(self, Z: Array) -> Array:
        """The best Z between the given one and the (projected) minimum on its face; the energy does not rise."""
        T, support = Z.astype(np.float64), Z > 0
        for _ in range(MAX_FACES):
            face = _Face(self.laplacian, self.lam, support)
            if not face.can_move.any():
                break
            T = face.nearest(T)
            T += face.minimise(self._gradient(T), self._factor(face.can_move))
            left = support & (T > 0)
            if (left == support).all():
                break
            support = left | (T.max(axis=1, keepdims=True) == T)
        _native.project_rows(T, self.threads)
        D = T - Z
        descent = -float(np.vdot(self._gradient(Z.astype(np.float64)), D))
        curvature = 2 * self.lam * float(np.vdot(D, self.laplacian @ D))
        length = 0.0 if descent <= 0 else 1.0 if descent >= curvature else descent / curvature
        return (Z + length * D).astype(Z.dtype)

    @cached_property
    def laplacian(self) -> Any:
        """L in double precision."""
        return self.graph.laplacian.astype(np.float64)

    def _gradient(self, Z: Array) -> Array:
        return 2 * self.lam * (self.laplacian @ Z) - self.B

    def _factor(self, can_move: Array) -> Any:
        """Solves with the Laplacian of the rows that can move, the others held."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        rows = self.order[can_move[self.order]]
        W = self.graph.weights[rows][:, rows].astype(np.float64)
        diagonal = self.graph.diagonal.astype(np.float64)
        shifted = diags_array(diagonal[rows] + (SHIFT * diagonal.mean() or 1.0)) - W
        lu = splu(
            (2 * self.lam * shifted).tocsc(),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

        def solve(R: Array) -> Array:
            out = np.zeros_like(R)
            out[rows] = lu.solve(R[rows])
            return out

        return solve


def remaining_sweeps(gaps: list[tuple[int, float]], target: float) -> float:
    """Sweeps still needed if the gap goes on to fall as it did lately."""
    (then, before), (sweeps, gap) = gaps[len(gaps) // 2], gaps[-1]
    least = np.finfo(np.float64).tiny  # where all kernel values vanish, so does the target
    with np.errstate(over="ignore"):
        fall = np.log(max(before, least) / max(gap, least)) / max(sweeps - then, 1)
        return float(np.log(max(gap, least) / max(target, least)) / max(fall, 1e-9))


class _Face:
    """Directions that keep the zeros of Z and the sums of its rows."""

    def __init__(self, laplacian: Any, lam: float, support: Array) -> None:
        self.laplacian = laplacian
        self.lam = lam
        self.support = support
        self.size = support.sum(axis=1, keepdims=True)
        self.can_move = self.size[:, 0] > 1

    def nearest(self, Z: Array) -> Array:
        """Z with zeros outside the face, and what its rows then lack shared out."""
        Z = Z * self.support
        return Z + (1 - Z.sum(axis=1, keepdims=True)) / self.size * self.support

    def along(self, V: Array) -> Array:
        """The part of V along the face."""
        V = V * self.support
        return (V - V.sum(axis=1, keepdims=True) / self.size) * self.support

    def minimise(self, G: Array, solve: Any) -> Array:
        """The D along the face that minimises <G, D> + lam tr(D'LD), by preconditioned conjugate gradients."""
        D, R = np.zeros_like(G), -self.along(G)
        P = Y = self.along(solve(R))
        left = float(np.vdot(R, Y))
        enough = REDUCTION**2 * left
        for _ in range(MAX_STEPS):
            if left <= enough or left <= 0:
                break
            A = self.along(2 * self.lam * (self.laplacian @ P))
            bend = float(np.vdot(P, A))
            if bend <= FLAT * left:  # nothing holds this direction but the shift
                D += P
                break
            length = left / bend
            D += length * P
            R -= length * A
            Y = self.along(solve(R))
            left, before = float(np.vdot(R, Y)), left
            P = Y + (left / before) * P
        return D
