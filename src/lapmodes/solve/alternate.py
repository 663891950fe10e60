"""The outer loop: C-step, Z-step, both warm-started, until the modes rest."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._progress import Step, no_step
from .._records import HISTORY, Array, Assignments, Graph, Solution, Start
from .._rows import same_rows, scaled_rows
from .linear import DenseTerm, linear_term, minimise, unsmoothed
from .modes import shift_modes
from .objective import is_infinite
from .partial import Pins, solve_pinned
from .points import Points, nearest_mode, one_hot
from .sparse_term import SparseTerm


@dataclass(frozen=True)
class Settings:
    """When to stop."""

    tol: float = 1e-3
    """The alternation rests when no mode moves by more than `tol` bandwidths."""
    gap: float = 1e-4
    """Relative gap to which each Z-step is solved."""
    max_iter: int = 100
    hard: bool = True
    """Without smoothing, rest only when no assignment changes any more: an exact fixed point."""


def alternate(
    points: Points,
    graph: Graph,
    start: Start,
    lam: float,
    sigma: float | Array,
    settings: Settings,
    *,
    pull: Any = None,
    pins: Pins | None = None,
    sample_weight: Array | None = None,
    step: Step = no_step,
) -> Solution:
    """Minimise the objective from a start; it falls at every step.

    `pull` (N, K) is added to the linear term; pinned rows are held. Assignments stay dense or sparse, as they start.
    """
    C, Z = start.C, start.Z
    rest = settings.tol * _length(points, sigma)
    history: list[tuple[float, ...]] = []
    converged = stopped = False
    term: DenseTerm | SparseTerm | None = None
    for _ in range(settings.max_iter):
        began = perf_counter()
        modes = shift_modes(points, scaled_rows(Z, sample_weight), C, sigma, tol=0.1 * rest)
        C, term = modes.C, None  # the last one makes room: it is the largest array
        term = linear_term(points, C, sigma, sample_weight, pull, Z, lam)
        middle = perf_counter()
        result = _assign(points, graph, C, term, lam, sigma, Z, settings, pins)
        settled = modes.moved <= rest and (lam > 0 or not settings.hard or same_rows(result.Z, Z))
        Z = result.Z
        history.append(
            (
                result.energy,
                result.gap,
                modes.moved,
                modes.n_iter,
                result.n_iter,
                middle - began,
                perf_counter() - middle,
            )
        )
        stopped = step(1, f"objective {result.energy:.6g}  gap {result.gap:.1e}  moved {modes.moved:.1e}")
        if settled or stopped:
            converged = settled
            break
    assert term is not None
    unlit = _unlit(graph, term, lam, sigma)
    rows = np.array(history, dtype=HISTORY)
    return Solution(C, Z, result.energy, result.gap, len(rows), converged, stopped, result.converged, rows, unlit)


def _assign(
    points: Points,
    graph: Graph,
    C: Array,
    term: DenseTerm | SparseTerm,
    lam: float,
    sigma: float | Array,
    Z: Any,
    settings: Settings,
    pins: Pins | None,
) -> Assignments:
    """The Z-step; without smoothing it is the nearest mode, also where all kernel values underflow."""
    if lam > 0 and pins is not None:
        assert isinstance(term, DenseTerm)
        return solve_pinned(graph, term.B, lam, Z, pins, tol=settings.gap, threads=points.threads)
    if lam > 0:
        return minimise(graph, term, lam, Z, settings.gap, points.threads)
    nearest = term.best if is_infinite(sigma) else nearest_mode(points, C)
    Z = one_hot(nearest, C.shape[0], points.dtype, sparse=issparse(Z))
    if pins is not None:
        Z[pins.pinned] = pins.Z
    return unsmoothed(term, Z, points.threads)


def _unlit(graph: Graph, term: DenseTerm | SparseTerm, lam: float, sigma: float | Array) -> Array:
    """Points in components whose kernel values sum to less than the certificate resolves: any Z is optimal there."""
    if lam == 0 or is_infinite(sigma) or graph.evenness > 0:  # with balance no part is on its own
        return np.zeros(graph.component.size, dtype=bool)
    brightness = np.bincount(graph.component, weights=term.highest, minlength=graph.n_components)
    size = np.bincount(graph.component, minlength=graph.n_components)
    dark = brightness <= 1e-6 * term.scale * size / graph.component.size
    return np.asarray(dark[graph.component])


def _length(points: Points, sigma: float | Array) -> float:
    """The length that movements are measured in: the bandwidth, or the spread of the data."""
    if is_infinite(sigma):
        return points.spread
    return float(np.median(sigma))
