"""From a posed problem to solutions: make a start, walk along the path, keep the best of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from ._problem import Problem
from ._progress import Progress, Step
from ._records import Array, PathPoint, Solution, Start
from ._rows import replaced_rows, scaled_rows
from ._validation import check_init
from .graph.neighbors import NeighborIndex
from .solve.alternate import Settings
from .solve.homotopy import follow
from .solve.partial import make_pins
from .solve.points import Points, one_hot
from .solve.schedule import geometric_steps
from .solve.sparse_term import make_sparse_term
from .solve.start import KMEANS_RESTARTS, make_start

GAP = 1e-4
"""Relative gap to which the assignment steps are solved, unless `tol` asks for less."""


def best_walk(estimator: Any, problem: Problem, progress: Progress) -> list[PathPoint]:
    """Run every start to its end and keep the best path; given starts are run once."""
    rng = check_random_state(estimator.random_state)
    n_starts = int(estimator.n_init) if isinstance(estimator.init, str) else 1
    return min((list(walk(estimator, problem, rng, progress)) for _ in range(n_starts)), key=merit)


def merit(path: list[PathPoint]) -> tuple[int, float, float]:
    """Order of preference among paths: few dead clusters; the lam asked for ('auto' may lower it); low objective."""
    last = path[-1]
    return len(last.solution.empty), -last.lam, last.solution.objective


def walk(estimator: Any, problem: Problem, rng: np.random.RandomState, progress: Progress) -> Iterator[PathPoint]:
    """One start, then one solution for each step of the path."""
    points = problem.points
    init = given_init(estimator, problem)
    restarts = KMEANS_RESTARTS if isinstance(init, str) and init == "k-means" else None
    with progress.phase("start", restarts) as step:
        start = make_start(
            points,
            problem.graph,
            init,
            estimator.n_clusters,
            rng,
            landscape=problem.landscape,
            known=problem.known,
            sample_weight=problem.sample_weight,
            sparse=problem.sparse,
            step=step,
        )
        if restarts is None:
            step(1, f"{estimator.n_clusters} clusters to start from")
    with progress.phase("alternate") as step:
        if isinstance(estimator.lam, str) and (estimator.path is None or isinstance(estimator.path, Integral)):
            yield from surviving_path(estimator, problem, start, step)
        else:
            yield from solve_path(estimator, problem, start, step)


def solve_path(estimator: Any, problem: Problem, start: Start, step: Step) -> Iterator[PathPoint]:
    """One solution for each step of the path from a given start."""
    settings = Settings(estimator.tol, min(GAP, estimator.tol) or GAP, estimator.max_iter)
    steps, weight = path_steps(estimator, problem), problem.sample_weight
    votes = start.Z if problem.anchor > 0 else None
    pull = None if votes is None else votes * votes.dtype.type(problem.anchor)
    if pull is not None:
        pull = scaled_rows(pull, weight)
    pins = None if problem.known is None else make_pins(problem.graph, problem.known, start.Z.shape[1], start.Z.dtype)
    for found in follow(
        problem.points, problem.graph, start, steps, settings, pull=pull, pins=pins, sample_weight=weight, step=step
    ):
        solution = replace(light_up(problem, found.solution), votes=votes)
        yield replace(found, solution=whole_solution(problem, solution))


def whole_solution(problem: Problem, solution: Solution) -> Solution:
    """The solution for all samples: those of weight zero follow the point that stands in for them."""
    if problem.stand_in is None:
        return solution
    unlit = np.zeros(problem.stand_in.size, dtype=bool)
    unlit[problem.kept] = solution.unlit
    votes = None if solution.votes is None else problem.spread_out(solution.votes)
    return replace(solution, Z=problem.spread_out(solution.Z), unlit=unlit, votes=votes)


def surviving_path(estimator: Any, problem: Problem, start: Start, step: Step) -> list[PathPoint]:
    """For lam='auto': quarter lam until no cluster dies, at most five times."""
    for share in range(6):
        path = list(solve_path(estimator, replace(problem, lam=problem.lam / 4**share), start, step))
        if not path[-1].solution.empty or path[-1].solution.stopped:
            break
    return path


def light_up(problem: Problem, solution: Solution) -> Solution:
    """Give each unlit component, whole, the assignment of the lit point nearest to it.

    The objective is the same for any constant assignment there (up to what the certificate resolves); this one is
    the limit of a faint edge across the gap.
    """
    dark = solution.unlit
    if not dark.any():
        return solution
    distance, candidates = _nearest_assignments(problem.points, solution)
    part = problem.graph.component[dark]
    order = np.lexsort((distance, part))
    parts, first = np.unique(part[order], return_index=True)
    speaker = np.zeros(problem.graph.n_components, dtype=np.intp)
    speaker[parts] = order[first]
    return replace(solution, Z=replaced_rows(solution.Z, dark, candidates[speaker[part]]))


def _nearest_assignments(points: Points, solution: Solution) -> tuple[Array, Any]:
    """For each unlit point the distance and assignment of the nearest lit one; of the nearest mode if all are unlit."""
    dark, C = solution.unlit, solution.C
    if dark.all():
        nearest = make_sparse_term(points, C, np.inf, None, kept=1)
        Z = one_hot(nearest.best, C.shape[0], points.dtype, sparse=issparse(solution.Z))
        return -nearest.highest, Z
    lit = np.flatnonzero(~dark)
    near = NeighborIndex(points.X[lit], points.threads).query(points.X[dark], 1)
    return near.distances[:, 0], solution.Z[lit[near.indices[:, 0]]]


def given_init(estimator: Any, problem: Problem) -> Any:
    """The start asked for, checked; given assignments are cut to the samples of positive weight."""
    points, kept = problem.points, problem.kept
    n = points.n if problem.stand_in is None else problem.stand_in.size
    wanted = estimator.init
    if isinstance(wanted, str) and wanted == "auto":
        wanted = "k-means" if problem.landscape is None else "consensus"
    init = check_init(type(estimator).__name__, wanted, n, points.d, estimator.n_clusters)
    return (init[0], init[1][kept]) if isinstance(init, tuple) and kept is not None else init


def path_steps(estimator: Any, problem: Problem) -> list[tuple[float, Any]]:
    """The (lam, bandwidth) to walk through; names stand for the resolved target."""
    path = estimator.path
    if path is None:
        return [(problem.lam, problem.bandwidth)]
    if isinstance(path, Integral):
        return geometric_steps(int(path), problem.lam, problem.bandwidth, problem.points.spread)
    return [
        (
            problem.lam if isinstance(lam, str) else float(lam),
            problem.bandwidth if isinstance(width, str) else float(width),
        )
        for lam, width in path
    ]
