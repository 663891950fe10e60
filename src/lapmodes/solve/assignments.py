"""The Z-step: a convex quadratic program on a product of simplices, solved to a certified gap.

One loop (momentum, restarts, certificates) over two back ends: `DenseSweeps` for assignments that are an array,
`SparseSweeps` for rows that hold only what is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .. import _native
from .._records import Array, Assignments, Certificate, Graph
from .._rows import one_hot
from .newton import FIRST_LOOK, Newton
from .objective import block_statistics, certificate_from, certify
from .terms import DenseTerm, SparseTerm

LONGEST_STEP = 1e30
"""Nothing is longer than this, nor moves an entry by more than the 2/3 power of it: single precision has no more."""


def solve_assignments(
    graph: Graph,
    linear: DenseTerm | SparseTerm | Array,
    lam: float,
    Z0: Any,
    *,
    tol: float = 1e-4,
    max_iter: int = 5000,
    threads: int = 1,
) -> Assignments:
    """Minimise E(Z) = lam tr(Z'LZ) - tr(B'Z) over rows on the simplex, to a certified gap.

    `linear` is B, the whole linear term; Z0 and the result are an array, or a CSR matrix for a sparse term. Stops when
    E(Z) - min E <= tol * sum_n max_k b_nk is proven. Never returns anything worse than Z0.
    """
    term = DenseTerm(linear, threads) if isinstance(linear, np.ndarray) else linear
    if lam == 0 or not graph.diagonal.any():
        Z = one_hot(term.best, Z0.shape[1], Z0.dtype, sparse=issparse(Z0))
        return Assignments(Z, term.energy(Z), 0.0, 1, True)
    target = tol * term.scale
    sweeps = make_sweeps(graph, term, lam, Z0, target, threads)
    run = accelerate(sweeps, max(target - 3 * sweeps.noise, 0.9 * target), max_iter)
    # The lower bound holds for any Z: for the one rounded to the caller's precision, and for the start where momentum
    # ended above it.
    Z = sweeps.rounded(proven=run.proven)
    proof = sweeps.certificate(Z)
    energy, lower = proof.energy, max(proof.energy - proof.gap, run.lower - sweeps.noise)
    if energy > run.start - 2 * sweeps.noise:
        start = sweeps.certificate(Z0).energy
        Z, energy = (Z0, start) if start < energy else (Z, energy)
    gap = max(energy - lower, 0.0)
    return Assignments(Z, energy, gap, run.n_iter, gap <= target)


@dataclass(frozen=True)
class _Run:
    """How the sweeps ended."""

    lower: float
    """The best lower bound on min E that any iterate proved."""
    start: float
    """The energy at the start, up to rounding."""
    n_iter: int
    proven: bool
    """Whether the iterate before the last sweep was proven to be good enough."""


def make_sweeps(
    graph: Graph, term: DenseTerm | SparseTerm, lam: float, Z0: Any, target: float, threads: int
) -> DenseSweeps | SparseSweeps:
    """The back end that suits the term."""
    if isinstance(term, DenseTerm):
        return DenseSweeps(graph, term, lam, Z0, target, threads)
    return SparseSweeps(graph, term, lam, Z0, target, threads)


def accelerate(sweeps: DenseSweeps | SparseSweeps, target: float, max_iter: int) -> _Run:
    """Algorithm 1 of the paper with a step for each row, 1 / (4 lam d_n) as L <= 2D, and momentum that is restarted.

    Where that is slow, a back end that has Newton steps takes them in between.
    """
    momentum = Momentum(bold=sweeps.boldness > 1)
    lower, start, at_restart, gaps = -np.inf, np.inf, np.inf, []
    for n_iter in range(1, max_iter + 1):
        proves = momentum.value == 0 or n_iter % sweeps.sweeps_a_proof == 0
        at = sweeps.sweep(momentum.value, proves)
        if at is not None:
            lower, start = max(lower, at.energy - at.gap), at.energy if n_iter == 1 else start
            if at.energy - lower <= target:
                return _Run(lower, start, n_iter, proven=True)
            if momentum.bold and momentum.value == 0:
                momentum.bold, at_restart = at.energy < at_restart, at.energy
                if not momentum.bold:
                    sweeps.shorten()
            gaps.append((n_iter, at.energy - lower))
        momentum.follow(sweeps.went_uphill)
        if at is not None and n_iter >= FIRST_LOOK and sweeps.took_newton_step(gaps, target):
            momentum.restart()
    return _Run(lower, start, max_iter, proven=False)


@dataclass
class Momentum:
    """How far to run on in the direction of the last step.

    Bold: j / (j + 1) after j steps, with steps a little longer than those that are proven to descend (in the spirit of
    greedy FISTA, Liang, Luo & Schoenlieb 2022). If that does not lower the energy from one restart to the next, the
    proven rule of Beck & Teboulle (2009) takes over.
    """

    bold: bool = True
    value: float = 0.0
    steps: int = 0
    t: float = 1.0

    def restart(self) -> None:
        """Forget the direction."""
        self.value, self.steps, self.t = 0.0, 0, 1.0

    def follow(self, uphill: bool) -> None:
        """After a step, which may have pointed uphill."""
        if uphill:
            self.restart()
        elif self.bold:
            self.steps += 1
            self.value = self.steps / (self.steps + 1)
        else:
            t, self.t = self.t, 0.5 * (1 + float(np.sqrt(1 + 4 * self.t**2)))
            self.value = (t - 1) / self.t


class DenseSweeps:
    """Sweeps over all entries of Z, in single precision where its rounding is far below the gap asked for.

    Rows that cannot have changed are left out, and a certificate is computed in one sweep of four.
    """

    boldness = 1.3
    """How much longer than proven the steps are at first; without constraints, full momentum allows up to 4/3."""
    sweeps_a_proof = 4
    _NEVER = 1000
    """Sweeps ago: so long that nothing is kept from there."""

    def __init__(self, graph: Graph, term: DenseTerm, lam: float, Z0: Array, target: float, threads: int) -> None:
        self._dtype = work = term.B.dtype
        if rounding(graph, lam, work) > 0.1 * target and work != np.float64:
            work, graph = np.dtype(np.float64), graph.astype(np.float64)
        self.noise = rounding(graph, lam, work) + float(np.finfo(work).eps) * term.scale
        self.went_uphill = False
        """Whether the last step's momentum pointed uphill."""
        self._graph, self._B, self._lam, self._threads = graph, term.B.astype(work, copy=False), lam, threads
        self.Z, self.before = Z0.astype(work), np.zeros(Z0.shape, dtype=work)  # the first sweep has no momentum
        self._step = (self.boldness * row_steps(graph, lam, term.largest)).astype(work)
        n = Z0.shape[0]
        self._number, self._proven = 0, -self._NEVER
        self._WZ = np.zeros_like(self.Z)
        self._changed_at = np.zeros(n, dtype=np.uint8)
        self._announced_at = np.full(n, -self._NEVER, dtype=np.int32)
        self._stats = block_statistics(n)
        self._shares = np.zeros((len(self._stats), 3, _native.BLOCK_ROWS), dtype=work)

    def sweep(self, momentum: float, proves: bool) -> Certificate | None:
        """Take a step from the iterate, which is `before` afterwards; returns its energy and certificate if wanted."""
        since = self._number - self._proven if proves else 0
        activity = self._changed_at, self._announced_at, self._number, since, self._shares
        iterates = self.Z, self.before, self._WZ, self._step, momentum
        problem = *self._graph.arrays, self._B, self._lam
        _native.sweep(*problem, *iterates, *activity, self._stats, self._threads)
        self.Z, self.before = self.before, self.Z
        self.went_uphill = bool(self._stats[:, 3].sum() > 0)
        self._proven = self._number if proves else self._proven
        self._number += 1
        return certificate_from(self._stats, self._lam) if proves else None

    def took_newton_step(self, gaps: list[tuple[int, float]], target: float) -> bool:
        """Go on from a Newton step on a face, without momentum, where that costs less than the sweeps still to come."""
        if not self._newton.pays(gaps, target):
            return False
        self.Z[:] = self.before[:] = self._newton.step(self.Z)
        self.activate_all_rows()
        return True

    @cached_property
    def _newton(self) -> Newton:
        return Newton(self._graph, self._B, self._lam, self._threads)

    def shorten(self) -> None:
        """Go on with the steps that are proven to descend."""
        self._step /= self._step.dtype.type(self.boldness)
        self.activate_all_rows()

    def activate_all_rows(self) -> None:
        """Leave no row out of the next sweep."""
        self._changed_at[:] = self._number % 256

    def rounded(self, *, proven: bool) -> Array:
        """The proven iterate, or else the last one, in the caller's precision."""
        return (self.before if proven else self.Z).astype(self._dtype, copy=False)

    def certificate(self, Z: Array) -> Certificate:
        """Energy and certificate of any Z."""
        return certify(self._graph, self._B, self._lam, Z.astype(self._B.dtype, copy=False), self._threads)


class SparseSweeps:
    """The same sweeps over rows that hold only what is not zero, in double precision, each with a certificate.

    An entry is left out only where a bound proves that it is zero, or that it does not matter beside the gap. Energy
    and gap are those of the whole problem. Three iterates (after, now, before) have the same room for every row.
    """

    boldness = 1.0
    sweeps_a_proof = 1
    _SLACK = 0.02
    """Columns that could lower the objective by less than this share of the gap, all rows together, are left out."""
    _SPARE = 2
    """Entries for which a row has room beyond those it starts with."""

    def __init__(self, graph: Graph, term: SparseTerm, lam: float, Z0: Any, target: float, threads: int) -> None:
        self.noise = rounding(graph, lam, np.dtype(np.float64)) + float(np.finfo(Z0.dtype).eps) * term.scale
        self.went_uphill = False
        """Whether the last step's momentum pointed uphill."""
        self._graph, self._term, self._lam, self._threads = graph, term, lam, threads
        self._slack = self._SLACK * target / term.shape[0]
        self._step, self._dtype = row_steps(graph, lam, term.largest), Z0.dtype
        size = np.diff(Z0.indptr).astype(np.int32)
        self._room = _row_starts(np.minimum(size + self._SPARE, Z0.shape[1]))
        self.Z: tuple[Array, ...] = _moved_rows((size, Z0.indices, Z0.data), _row_starts(size), self._room)
        self.before = tuple(part.copy() for part in self.Z)
        self._after = tuple(np.empty_like(part) for part in self.Z)
        self._stats = block_statistics(term.shape[0])

    def sweep(self, momentum: float, proves: bool) -> Certificate:
        """Take a step from the iterate, which is `before` afterwards; returns its energy and certificate."""
        problem = *self._graph.arrays, self._term.native, self._lam, self._slack
        while True:
            iterates = self._room, self.Z, self.before, self._after
            _native.sparse_sweep(*problem, *iterates, self._step, momentum, self._stats, self._threads)
            if not self._made_room():
                break
        self.before, self.Z, self._after = self.Z, self._after, self.before
        self.went_uphill = bool(self._stats[:, 3].sum() > 0)
        return certificate_from(self._stats, self._lam)

    def took_newton_step(self, gaps: list[tuple[int, float]], target: float) -> bool:
        """There are no Newton steps on sparse rows."""
        return False

    def shorten(self) -> None:
        """The steps are never longer than proven."""

    def rounded(self, *, proven: bool) -> Any:
        """The proven iterate, or else the last one, as a CSR matrix in the caller's precision."""
        rows = self.before if proven else self.Z
        start = _row_starts(rows[0])
        _, column, value = _moved_rows(rows, self._room, start)
        Z = csr_array((value.astype(self._dtype), column, start), shape=self._term.shape)
        Z.eliminate_zeros()
        Z.sort_indices()
        return Z

    def certificate(self, Z: Any) -> Certificate:
        """Energy and certificate of any Z."""
        return self._term.certificate(self._graph.arrays, self._lam, Z, self._slack)

    def _made_room(self) -> bool:
        """Whether the result of the last sweep needed more room, which is there now: then it must be repeated."""
        room = np.diff(self._room)
        short = self._after[0] > room
        if not short.any():
            return False
        start = _row_starts(np.where(short, np.maximum(2 * room, self._after[0]), room))
        self.Z, self.before = (_moved_rows(rows, self._room, start) for rows in (self.Z, self.before))
        self._room, self._after = start, tuple(np.empty_like(part) for part in self.Z)
        return True


def _row_starts(room: Array) -> Array:
    """Where each row's room begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(room, dtype=np.int64)])


def _moved_rows(rows: tuple[Array, ...], old: Array, new: Array) -> tuple[Array, Array, Array]:
    """The same rows, (count, column, value), in other places."""
    count, column, value = rows
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count, dtype=np.int64) - count, count)
    source, target = np.repeat(old[:-1], count) + within, np.repeat(new[:-1], count) + within
    columns, values = np.empty(new[-1], dtype=np.int32), np.empty(new[-1])
    columns[target], values[target] = column[source], value[source]
    return count, columns, values


def row_steps(graph: Graph, lam: float, largest: float) -> Array:
    """1 / (4 lam d_n), bounded where degrees are (nearly) zero: there it suffices to reach a corner.

    `largest` is the largest absolute entry of the linear term.
    """
    linked = graph.diagonal > 0
    with np.errstate(over="ignore", divide="ignore"):
        steps = 1 / (4 * lam * graph.diagonal[linked].astype(np.float64))
    least = float(np.finfo(np.float32).tiny)
    to_a_corner = 1e4 / max(largest, least)
    longest = to_a_corner if steps.max(initial=0) <= to_a_corner else max(to_a_corner, float(np.median(steps)))
    longest = min(longest, LONGEST_STEP, LONGEST_STEP ** (2 / 3) / max(largest, least))
    step = np.full(graph.diagonal.size, longest)
    step[linked] = np.minimum(steps, longest)
    return step


def rounding(graph: Graph, lam: float, dtype: np.dtype) -> float:
    """How far rounding of the gradient may move the certificate in this precision."""
    return float(2 * lam * np.finfo(dtype).eps * graph.diagonal.sum(dtype=np.float64))
