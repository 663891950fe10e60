"""Following a path in (lam, sigma): each solution starts the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._progress import Step, no_step
from .._records import Array, Graph, PathPoint, Start
from .alternate import Settings, alternate
from .partial import Pins
from .points import Points


def follow(
    points: Points,
    graph: Graph,
    start: Start,
    steps: Iterable[tuple[float, Any]],
    settings: Settings,
    *,
    pull: Any = None,
    pins: Pins | None = None,
    sample_weight: Array | None = None,
    step: Step = no_step,
) -> Iterator[PathPoint]:
    """One solution for each (lam, sigma), warm-started from the one before; a stopped one is the last."""
    for lam, sigma in steps:
        solution = alternate(
            points, graph, start, lam, sigma, settings, pull=pull, pins=pins, sample_weight=sample_weight, step=step
        )
        start = Start(solution.C, solution.Z)
        yield PathPoint(lam, sigma, solution)
        if solution.stopped:
            return
