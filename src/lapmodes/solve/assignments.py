"""The Z-step: a convex quadratic program on a product of simplices, solved to a certified gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _native
from .._records import Array, Assignments, Certificate, Graph
from .faces import Faces, Pace
from .objective import (
    balance_of,
    certificate_from,
    certify,
    even_masses,
    least_unevenness,
    scale_of,
    statistics,
)
from .points import one_hot

BOLD = 1.3
"""How much longer than proven the steps are at first; without constraints, full momentum allows up to 4/3."""

BETWEEN_PROOFS = 4
"""Sweeps between certificates; each restart has one."""

NEVER = 1000
"""Sweeps ago: so long that nothing is kept from there."""


def solve_assignments(
    graph: Graph, B: Array, lam: float, Z0: Array, *, tol: float = 1e-4, max_iter: int = 5000, threads: int = 1
) -> Assignments:
    """Minimise E(Z) = lam tr(Z'LZ) - tr(B'Z) over rows on the simplex, to a certified gap.

    Stops when E(Z) - min E <= tol * sum_n max_k b_nk is proven. Never returns anything worse than Z0.
    """
    if lam == 0 or graph.weights.nnz == 0:
        Z = one_hot(B.argmax(axis=1), B.shape[1], B.dtype)
        return Assignments(Z, -float((B * Z).sum(dtype=np.float64)), 0.0, 1, True)
    scale = scale_of(B, threads)
    target = tol * scale
    work = np.dtype(np.float64) if rounding(graph, lam, B.dtype) > 0.1 * target else B.dtype
    problem = (graph.astype(work), B.astype(work, copy=False), lam)
    noise = rounding(graph, lam, work) + float(np.finfo(work).eps) * scale
    run = _accelerated(*problem, Z0.astype(work), max(target - 3 * noise, 0.9 * target), max_iter, threads)
    proof = certify(*problem, run.Z, threads)
    lower = max(proof.energy - proof.gap, run.lower - noise)
    # The bound holds for any Z: for the one rounded back to the caller's precision, and for the start
    # where momentum ended above it.
    Z = run.Z.astype(B.dtype, copy=False)
    energy = proof.energy if work == B.dtype else certify(*problem, Z.astype(work), threads).energy
    if energy > run.start - 2 * noise:
        start = certify(*problem, Z0.astype(work, copy=False), threads).energy
        Z, energy = (Z0, start) if start < energy else (Z, energy)
    gap = max(energy - lower, 0.0)
    return Assignments(Z, energy, gap, run.n_iter, gap <= target)


@dataclass(frozen=True)
class Run:
    """Where the sweeps ended."""

    Z: Array
    lower: float
    """The best lower bound on min E that any iterate proved."""
    start: float
    """The energy at the start, up to rounding."""
    n_iter: int


def _accelerated(graph: Graph, B: Array, lam: float, Z: Array, target: float, max_iter: int, threads: int) -> Run:
    """Algorithm 1 with a step for each row, L <= (2 + balance) diag(L), and momentum restarted when it points uphill.

    Where that is slow, Newton steps on faces come in between.
    """
    sweeps = Sweeps(graph, B, lam, Z, BOLD * row_steps(graph, lam, B), threads)
    momentum, lower, start = Momentum(), -np.inf, np.inf
    pace = Pace(Faces(graph, B, lam), target)
    for n_iter in range(1, max_iter + 1):
        proves = momentum.fresh or n_iter % BETWEEN_PROOFS == 0
        at = sweeps.sweep(momentum.value, certifies=proves)
        if at is not None:
            lower, start = max(lower, at.energy - at.gap), at.energy if n_iter == 1 else start
            if at.energy - lower <= target:
                return Run(sweeps.before, lower, start, n_iter)
            if momentum.bold and not momentum.keeps_bold(at.energy):
                sweeps.shorten(BOLD)
        momentum.follow(sweeps.uphill)
        if at is not None and pace.too_slow(n_iter, at.energy - lower):
            sweeps.restart(pace.faces.step(sweeps.Z, threads))
            momentum.restart()
    return Run(sweeps.Z, lower, start, max_iter)


class Sweeps:
    """The state of the native sweeps: two iterates, and what is known of each row."""

    def __init__(self, graph: Graph, B: Array, lam: float, Z: Array, step: Array, threads: int) -> None:
        self.graph, self.B, self.lam = graph, B, lam
        self._least = least_unevenness(graph, Z.shape[1])
        self.Z, self.before = Z, np.zeros_like(Z)  # which the first sweep, without momentum, does not look at
        """The iterate, and the one before it."""
        self.step = step.astype(Z.dtype)
        self.threads = threads
        self.number = 0
        self._WZ = np.zeros_like(Z)
        self.touched = np.zeros(Z.shape[0], dtype=np.uint8)
        """In which sweep (modulo 256) a row last learned that it or a neighbour changed."""
        self._told = np.full(Z.shape[0], -NEVER, dtype=np.int32)
        self._proven = -NEVER
        self._stats = statistics(Z.shape[0])
        self._shares = np.zeros((len(self._stats), 3, _native.BLOCK_ROWS), dtype=Z.dtype)

    def sweep(self, momentum: float, *, certifies: bool = True) -> Certificate | None:
        """Take a step from the iterate, which is `before` afterwards; returns its energy and certificate if wanted."""
        problem = (*self.graph.arrays, self.B, self.lam, even_masses(self.graph, self.Z, self.threads))
        since = self.number - self._proven if certifies else 0
        room = (self.touched, self._told, self.number, since, self._shares, self._stats)
        _native.sweep(*problem, self.Z, self.before, self._WZ, self.step, momentum, *room, self.threads)
        self.Z, self.before = self.before, self.Z
        self._proven = self.number if certifies else self._proven
        self.number += 1
        return certificate_from(self._stats, self.lam, self._least) if certifies else None

    @property
    def uphill(self) -> bool:
        """Whether the last step's momentum pointed uphill."""
        return bool(self._stats[:, 3].sum() > 0)

    def restart(self, Z: Array) -> None:
        """Go on from another iterate, without momentum."""
        self.Z[:] = self.before[:] = Z
        self.wake()

    def shorten(self, factor: float) -> None:
        """Go on with shorter steps."""
        self.step /= self.step.dtype.type(factor)
        self.wake()

    def wake(self) -> None:
        """No row is known to stay as it is."""
        self.touched[:] = self.number % 256


class Momentum:
    """How far to run on in the direction of the last step.

    Bold: j / (j + 1) after j steps, with steps a little longer than those that are proven to descend (in the spirit of
    greedy FISTA, Liang, Luo & Schoenlieb 2022). If that does not lower the energy from one restart to the next, the
    proven rule of Beck & Teboulle (2009) takes over.
    """

    def __init__(self) -> None:
        self.bold = True
        self.restart()
        self._last = np.inf

    def restart(self) -> None:
        """Forget the direction."""
        self.value, self._steps, self._t = 0.0, 0, 1.0

    def follow(self, uphill: bool) -> None:
        """After a step, which may have pointed uphill."""
        if uphill:
            self.restart()
        elif self.bold:
            self._steps += 1
            self.value = self._steps / (self._steps + 1)
        else:
            t, self._t = self._t, 0.5 * (1 + np.sqrt(1 + 4 * self._t**2))
            self.value = float((t - 1) / self._t)

    @property
    def fresh(self) -> bool:
        """Whether the next step has no direction yet."""
        return self.value == 0

    def keeps_bold(self, energy: float) -> bool:
        """Whether boldness lowered the energy since the last restart, if this is one."""
        if self.fresh:
            self.bold, self._last = energy < self._last, energy
        return self.bold


def row_steps(graph: Graph, lam: float, B: Array) -> Array:
    """The steps of each row, in the precision of B."""
    return bounded_steps(graph, lam, float(max(B.max(), -B.min()))).astype(B.dtype)


def bounded_steps(graph: Graph, lam: float, largest: float) -> Array:
    """1 / (lam (4 + 2 balance) d_n), bounded where degrees are (nearly) zero: there it suffices to reach a corner."""
    linked = graph.diagonal > 0
    steps = 1 / ((4 + 2 * balance_of(graph)) * lam * graph.diagonal[linked].astype(np.float64))
    to_a_corner = 1e4 / max(largest, float(np.finfo(np.float32).tiny))
    longest = to_a_corner if steps.max(initial=0) <= to_a_corner else max(to_a_corner, float(np.median(steps)))
    step = np.full(graph.diagonal.size, longest)
    step[linked] = np.minimum(steps, longest)
    return step


def rounding(graph: Graph, lam: float, dtype: np.dtype) -> float:
    """How far rounding of the gradient may move the certificate in this precision."""
    return float(2 * lam * (1 + balance_of(graph)) * np.finfo(dtype).eps * graph.diagonal.sum(dtype=np.float64))
