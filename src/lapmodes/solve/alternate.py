"""The outer loop: C-step, Z-step, both warm-started, until the modes rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._progress import Step, no_step
from .._records import HISTORY, Array, Assignments, Graph, Problem, Solution, Start, Status
from .._rows import one_hot, same_rows, scaled_rows, with_unit_sums
from .assignments import solve_assignments
from .modes import shift_modes
from .objective import certify, nearest_mode
from .terms import KEPT, DenseTerm, SparseTerm, linear_term


@dataclass(frozen=True)
class Stopping:
    """When to stop."""

    tol: float = 1e-3
    """The alternation rests when no mode moves by more than `tol` bandwidths."""
    gap: float = 1e-4
    """Relative gap to which each Z-step is solved."""
    max_iter: int = 100
    exact: bool = True
    """Without smoothing, rest only when no assignment changes any more: an exact fixed point."""


def alternate(problem: Problem, start: Start, stopping: Stopping, step: Step = no_step) -> Solution:
    """Minimise the objective from a start; it falls at every step.

    Assignments stay dense or sparse, as they start. Where rounding moves a mode by more than a tiny bandwidth, so that
    the objective rises, the loop rests at the step before.
    """
    points, lam, C, Z = problem.points, problem.lam, start.C, start.Z
    length = points.spread if problem.in_kmeans_limit else float(np.median(problem.bandwidth))
    digit = float(np.finfo(C.dtype).eps * np.abs(C).max())  # modes cannot be told from others that are nearer
    rest = max(stopping.tol * length, 2 * digit)
    known = problem.known
    held = None if known is None else hold_rows(problem.graph, known, Z.shape[1], Z.dtype)
    history: list[tuple[float, ...]] = []
    rests = stopped = False
    term: DenseTerm | SparseTerm | None = None
    result: Assignments | None = None
    while len(history) < stopping.max_iter and not (rests or stopped):
        began = perf_counter()
        weighed = Z if problem.sample_weight is None else scaled_rows(Z, problem.sample_weight)
        modes = shift_modes(points, weighed, C, problem.bandwidth, tol=max(0.1 * rest, digit))
        before, last, C, term = C, result, modes.C, None  # the last term makes room: it is the largest array
        term = linear_term(problem, C, sparse=issparse(Z), kept=KEPT if lam > 0 else 1)
        middle = perf_counter()
        result = _assign(problem, C, term, Z, held, stopping.gap)
        if last is not None and result.energy - last.energy > float(np.finfo(Z.dtype).eps) ** 0.5 * term.scale:
            C, result, rests = before, last, True
            term = linear_term(problem, C, sparse=issparse(Z), kept=KEPT if lam > 0 else 1)
            break
        rests = modes.moved <= rest and (lam > 0 or not stopping.exact or same_rows(result.Z, Z))
        Z, seconds = result.Z, (middle - began, perf_counter() - middle)
        history.append((result.energy, result.gap, modes.moved, modes.n_iter, result.n_iter, *seconds))
        said = f"objective {result.energy:.6g}  gap {result.gap:.1e}  moved {modes.moved:.1e}"
        stopped = step(1, said, partial(_solution, problem, C, term, result, history, Status("stopped")))
    assert term is not None
    assert result is not None
    entries = Z.data if issparse(Z) else Z
    np.minimum(entries, 1, out=entries)  # a share of 1 may be a rounding error above it
    if Z.dtype == np.float32:
        Z = with_unit_sums(Z)
    status = status_of(np.array(history, dtype=HISTORY), result.certified, rests, stopped)
    return _solution(problem, C, term, replace(result, Z=Z), history, status)[1]


def _solution(
    problem: Problem,
    C: Array,
    term: DenseTerm | SparseTerm,
    result: Assignments,
    history: list[tuple[float, ...]],
    status: Status,
) -> tuple[Problem, Solution]:
    """The problem, and what has been found by now."""
    rows = np.array(history, dtype=HISTORY)
    return problem, Solution(C, result.Z, result.energy, result.gap, rows, _unreached(problem, term), status)


def _assign(
    problem: Problem, C: Array, term: DenseTerm | SparseTerm, Z: Any, held: HeldRows | None, tol: float
) -> Assignments:
    """The Z-step; without smoothing and prior it is the nearest mode, also where all kernel values underflow."""
    graph, lam, points = problem.graph, problem.lam, problem.points
    if lam > 0 and held is not None:
        assert isinstance(term, DenseTerm)
        return solve_free_rows(graph, term, lam, Z, held, tol=tol)
    if lam > 0:
        return solve_assignments(graph, term, lam, Z, tol=tol, threads=points.threads)
    plain = problem.prior is None and not problem.in_kmeans_limit
    Z = one_hot(nearest_mode(points, C) if plain else term.best, C.shape[0], Z.dtype, sparse=issparse(Z))
    if held is not None:
        Z[held.held] = held.Z
    return Assignments(Z, term.energy(Z), 0.0, 1, True)


def status_of(history: Array, certified: bool, rests: bool, stopped: bool) -> Status:
    """How the loop ended."""
    if rests and certified:
        return Status()
    if stopped and not rests:
        return Status("stopped")
    if not rests:
        return Status(
            "not converged",
            f"The alternation did not rest within {len(history)} iterations (last movement "
            f"{history[-1][2]:.2e}). Raise 'max_iter' or 'tol'.",
        )
    return Status(
        "not certified",
        f"The last assignment step ended with a gap of {history['gap'][-1]:.2e}, more than asked for: a long graph or "
        "large 'lam'. The assignments are valid; use a smaller 'lam' or a larger 'tol' for a tighter proof.",
    )


def _unreached(problem: Problem, term: DenseTerm | SparseTerm) -> Array:
    """Points in components whose kernel values sum to less than the certificate resolves: any Z is optimal there."""
    component = problem.graph.component
    if problem.lam == 0 or problem.in_kmeans_limit:
        return np.zeros(component.size, dtype=bool)
    reached, size = np.bincount(component, weights=term.highest), np.bincount(component)
    return np.asarray((reached <= 1e-6 * term.scale * size / component.size)[component])


# Rows of Z that are held at a known cluster: the others see them through the graph.


@dataclass(frozen=True)
class HeldRows:
    """The Z-step over the free rows only: what the held ones contribute is linear."""

    free: Array
    held: Array
    Z: Array
    """Assignments of the held rows, one-hot."""
    inner: Graph
    """Edges between free rows; the diagonal is that of the whole graph."""
    cross: Array
    """W Z over the held rows, for each free row."""


def hold_rows(graph: Graph, known: Array, K: int, dtype: Any) -> HeldRows:
    """From the known cluster of each point, -1 where it is not known."""
    free, held = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    Z = one_hot(known[held], K, dtype)
    rows = csr_array(graph.weights[free])
    W = csr_array(rows[:, free])
    inner = Graph(W, W, graph.diagonal[free], graph.degrees[free], graph.component[free])
    return HeldRows(free, held, Z, inner, np.ascontiguousarray(rows[:, held] @ Z, dtype=dtype))


def solve_free_rows(
    graph: Graph, term: DenseTerm, lam: float, Z0: Array, rows: HeldRows, *, tol: float = 1e-4
) -> Assignments:
    """Minimise E(Z) with some rows held: b_n + 2 lam (W Z)_n over the held neighbours takes the place of b_n."""
    linear = term.B[rows.free] + term.B.dtype.type(2 * lam) * rows.cross
    part = solve_assignments(rows.inner, linear, lam, Z0[rows.free], tol=tol, threads=term.threads)
    Z = np.empty_like(Z0)
    Z[rows.free], Z[rows.held] = part.Z, rows.Z
    return replace(part, Z=Z, energy=certify(graph, term.B, lam, Z, term.threads).energy)
