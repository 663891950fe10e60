"""The outer loop: C-step, Z-step, both warm-started, until the modes rest."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from .._progress import Step, no_step
from .._records import HISTORY, Array, Assignments, Graph, Solution, Start
from .assignments import solve_assignments
from .modes import shift_modes
from .objective import fidelity, is_infinite, scale_of
from .partial import Pins, solve_pinned
from .points import Points, nearest_mode, one_hot


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
    pull: Array | None = None,
    pins: Pins | None = None,
    sample_weight: Array | None = None,
    step: Step = no_step,
) -> Solution:
    """Minimise the objective from a start; it falls at every step.

    `pull` (N, K) is added to the linear term; pinned rows are held.
    """
    C, Z = start.C, start.Z
    rest = settings.tol * _length(points, sigma)
    history: list[tuple[float, ...]] = []
    converged = stopped = False
    for _ in range(settings.max_iter):
        began = perf_counter()
        weighted = Z if sample_weight is None else Z * sample_weight[:, None]
        modes = shift_modes(points, weighted, C, sigma, tol=0.1 * rest)
        C = modes.C
        B = fidelity(points, C, sigma, sample_weight)
        if pull is not None:
            B += pull
        middle = perf_counter()
        result = _assign(points, graph, C, B, lam, sigma, Z, settings, pins)
        settled = modes.moved <= rest and (lam > 0 or not settings.hard or bool((result.Z == Z).all()))
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
    unlit = _unlit(graph, B, lam, sigma)
    rows = np.array(history, dtype=HISTORY)
    return Solution(C, Z, result.energy, result.gap, len(rows), converged, stopped, result.converged, rows, unlit)


def _assign(
    points: Points,
    graph: Graph,
    C: Array,
    B: Array,
    lam: float,
    sigma: float | Array,
    Z: Array,
    settings: Settings,
    pins: Pins | None,
) -> Assignments:
    """The Z-step; without smoothing it is the nearest mode, also where all kernel values underflow."""
    if lam > 0 and pins is not None:
        return solve_pinned(graph, B, lam, Z, pins, tol=settings.gap, threads=points.threads)
    if lam > 0:
        return solve_assignments(graph, B, lam, Z, tol=settings.gap, threads=points.threads)
    nearest = B.argmax(axis=1) if is_infinite(sigma) else nearest_mode(points, C)
    Z = one_hot(nearest, C.shape[0], points.dtype)
    if pins is not None:
        Z[pins.pinned] = pins.Z
    return Assignments(Z, -float((B * Z).sum(dtype=np.float64)), 0.0, 1, True)


def _unlit(graph: Graph, B: Array, lam: float, sigma: float | Array) -> Array:
    """Points in components whose kernel values sum to less than the certificate resolves: any Z is optimal there."""
    if lam == 0 or is_infinite(sigma) or graph.evenness > 0:  # with balance no part is on its own
        return np.zeros(B.shape[0], dtype=bool)
    brightness = np.bincount(graph.component, weights=B.max(axis=1), minlength=graph.n_components)
    size = np.bincount(graph.component, minlength=graph.n_components)
    dark = brightness <= 1e-6 * scale_of(B) * size / B.shape[0]
    return np.asarray(dark[graph.component])


def _length(points: Points, sigma: float | Array) -> float:
    """The length that movements are measured in: the bandwidth, or the spread of the data."""
    if is_infinite(sigma):
        return points.spread
    return float(np.median(sigma))
