"""The way of a fit: from rows and settings to a problem, from a start to solutions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ._progress import Progress, Step
from ._records import MANY_POINTS, Array, Graph, Neighbors, Points, Problem, Solution, Start, StartInputs, Status
from ._rows import one_hot, replaced_rows
from ._settings import Settings
from ._validation import Given, check_lam
from .graph.affinity import (
    ENTROPIC_REACH,
    Affinity,
    edge_scale,
    effective_neighbors,
    entropic_bandwidth,
    local_scale,
    mean_scale,
    neighbors_needed,
    symmetric,
)
from .graph.anchors import usual_anchors
from .graph.laplacian import build_graph, link_pairs
from .graph.neighbors import NeighborIndex, make_index, search_neighbors
from .solve.alternate import alternate
from .solve.objective import nearest_mode
from .start import make_start
from .start.consensus import is_large, start_inputs

SCALE_SAMPLE = 500
"""Points on which the scale of many points with a given graph is estimated."""
FIRST_LAM_SHARE = 0.01
"""Where a path of geometric steps begins to smooth, as a share of its last lam."""


@dataclass(frozen=True)
class Prepared:
    """Everything that a fit needs but a start."""

    problem: Problem
    affinity: Affinity | None
    """The rule behind the graph, for new points; None for a given graph or none."""
    index: NeighborIndex | None
    """Finds neighbours among the points; None where none were searched for."""
    recall: float
    """Share of true neighbours that the search found, in a sample; 1 where it was exact or not needed."""
    inputs: StartInputs | None
    """What the candidates of a consensus look at."""

    def fitted(self, problem: Problem, solution: Solution) -> Fitted:
        """A solution with what new points are mapped by."""
        return Fitted(problem, solution, self.affinity, self.index, self.recall)


@dataclass(frozen=True)
class Fitted:
    """A solved problem, and what new points are mapped by."""

    problem: Problem
    solution: Solution
    affinity: Affinity | None
    index: NeighborIndex | None
    recall: float


def prepare(X: Any, given: Given, settings: Settings, progress: Progress) -> Prepared:
    """Search neighbours once, build the graph, and resolve lam and bandwidth."""
    points, kind, threads = Points(X, settings.threads, settings.units), settings.affinity, settings.threads
    index, neighbors = _find_neighbors(X, given, settings, progress)
    bandwidth = settings.bandwidth
    if isinstance(bandwidth, str):
        assert neighbors is not None
        bandwidth = resolve_bandwidth(bandwidth, settings.n_neighbors, neighbors, threads)
    affinity, W = None, given.graph
    if kind == "anchor":
        affinity = Affinity(kind, settings.n_neighbors, anchors=usual_anchors(X, settings.random_state))
        W = affinity.anchors.between_training()  # type: ignore[union-attr]
    elif kind not in (None, "precomputed"):
        assert neighbors is not None
        # The heat kernel is as wide as the density's, as in the paper, where that is one finite number for the whole
        # fit; elsewhere (a path, entropic or infinite bandwidth) as the median edge is long.
        one_width = settings.steps is None and np.ndim(bandwidth) == 0 and np.isfinite(bandwidth)
        width = bandwidth if one_width else edge_scale(neighbors.first(settings.n_neighbors))
        scale = local_scale(neighbors) if kind == "self-tuning" else None
        affinity = Affinity(kind, min(settings.n_neighbors, neighbors.indices.shape[1]), width, scale)
        W = symmetric(*affinity.weigh(neighbors, threads), average=kind == "entropic")
    elif W is None:
        W = csr_array((points.n, points.n), dtype=X.dtype)
    if given.must_link is not None:
        W = link_pairs(W, given.must_link)
    graph = build_graph(W, settings.laplacian, given.sample_weight)
    lam = auto_lam(graph, points, bandwidth, given.sample_weight) if settings.lam is None else settings.lam
    typed = [settings.lam] if not isinstance(settings.steps, list) else [each for each, _ in settings.steps]
    for each in typed:
        if isinstance(each, float) and each > 0:
            check_lam(settings.owner, each, graph.diagonal)
    problem = Problem(
        points, graph, lam, bandwidth, given.sample_weight, prior_weight=settings.prior_weight, known=given.known
    )
    inputs = None
    if settings.consensus:
        near = None if kind == "precomputed" else neighbors
        inputs = start_inputs(points, graph, near, settings.n_neighbors, settings.n_clusters, given.sample_weight)
    return Prepared(problem, affinity, index, 1.0 if neighbors is None else neighbors.recall, inputs)


def _find_neighbors(
    X: Any, given: Given, settings: Settings, progress: Progress
) -> tuple[NeighborIndex | None, Neighbors | None]:
    """The index over X and the neighbours of its rows; None for both where nothing needs them.

    With a given graph and many points only the mean scale needs them: those of some rows do.
    """
    n, on_graph = X.shape[0], settings.affinity == "precomputed"
    reach = neighbors_needed(settings.affinity, settings.n_neighbors, settings.bandwidth)
    if settings.consensus and not on_graph:
        reach = max(reach, settings.n_neighbors * (1 if is_large(n, settings.n_clusters) else 2))
    reach = min(reach, n - 1)
    if given.neighbors is not None or reach == 0:
        return None, given.neighbors
    index = make_index(X, settings.threads)
    if on_graph and settings.bandwidth == "auto" and n > MANY_POINTS:
        some = np.linspace(0, n - 1, SCALE_SAMPLE).astype(np.intp)
        found = index.query(X[some], reach + 1)
        return index, Neighbors(found.indices[:, 1:], found.distances[:, 1:], found.recall)
    with progress.phase("neighbours", n) as step:
        return index, search_neighbors(X, index, reach, step)


def resolve_bandwidth(rule: str, n_neighbors: int, neighbors: Neighbors, threads: int) -> Any:
    """'auto': one width for all; 'entropic': an array with one for each point."""
    if rule == "auto":
        return mean_scale(neighbors)
    wide = neighbors.first(ENTROPIC_REACH * n_neighbors)
    return entropic_bandwidth(wide, effective_neighbors(n_neighbors, wide), threads)


def auto_lam(graph: Graph, points: Points, bandwidth: Any, sample_weight: Array | None) -> float:
    """One over the mean degree, for each unit of weight: smoothing of the same strength on any graph.

    With infinite bandwidth the fidelity is a squared distance, and so is the unit of lam.
    """
    mean = float(graph.diagonal.mean(dtype=np.float64))
    if sample_weight is not None:
        mean /= float(sample_weight.mean(dtype=np.float64))
    unit = points.spread**2 if np.isinf(bandwidth).all() else 1.0
    return unit / mean if mean > 0 else 0.0


def solve(prepared: Prepared, settings: Settings, rng: np.random.RandomState, progress: Progress) -> Iterator[Fitted]:
    """One start, then a solution for each step of the path, as they are found."""
    problem = prepared.problem
    with progress.phase("start") as step:
        sparse, K = settings.sparse, settings.n_clusters
        start = make_start(problem, prepared.inputs, settings.init, K, rng, sparse=sparse, step=step)
        step(1, f"{K} clusters to start from")
    with progress.phase("alternate") as step:
        left_to_us = settings.lam is None and not isinstance(settings.steps, list)
        solutions = solve_with_all_clusters if left_to_us else solve_path
        for at, solution in solutions(problem, start, settings, step):
            yield Fitted(at, solution, prepared.affinity, prepared.index, prepared.recall)


def solve_with_all_clusters(
    problem: Problem, start: Start, settings: Settings, step: Step
) -> list[tuple[Problem, Solution]]:
    """The path with a lam that the library chose: it is quartered until no cluster dies of it, at most five times."""
    for share in range(6):
        path = list(solve_path(replace(problem, lam=problem.lam / 4**share), start, settings, step))
        if path[-1][1].status.name != "empty clusters":
            break
    return path


def solve_path(problem: Problem, start: Start, settings: Settings, step: Step) -> Iterator[tuple[Problem, Solution]]:
    """One solution for each (lam, bandwidth) of the path, started from the one before; a stopped one is the last."""
    problem = replace(problem, prior=start.prior if problem.prior_weight > 0 else None)
    steps = settings.steps
    for lam, bandwidth in [(problem.lam, problem.bandwidth)] if steps is None else path_steps(problem, steps):
        at = replace(problem, lam=lam, bandwidth=bandwidth)
        found = alternate(at, start, settings.stopping, step)
        start = Start(found.C, found.Z)
        if found.unreached.any():
            found = _assign_unreached_components(at, found)
        if found.status.name == "stopped":
            yield at, found
            return
        few = np.unique(found.labels).size < found.Z.shape[1]
        if few or found.unreached.any():
            sizes, unreached = np.bincount(found.labels, minlength=found.Z.shape[1]), found.unreached
            found = replace(found, status=degenerate_status(sizes, int(unreached.sum()), unreached.size))
        yield at, found


def path_steps(problem: Problem, steps: Any) -> list[tuple[float, Any]]:
    """The (lam, bandwidth) to go through; names stand for the resolved target.

    A number of steps: K-means, then geometric ones, the bandwidth from the spread of the data, lam from a hundredth.
    """
    if isinstance(steps, list):
        return [
            (problem.lam if isinstance(lam, str) else lam, problem.bandwidth if isinstance(width, str) else width)
            for lam, width in steps
        ]
    lams = problem.lam * np.geomspace(FIRST_LAM_SHARE, 1, steps - 1)
    typical = float(np.median(problem.bandwidth))
    if problem.in_kmeans_limit:
        return [(0.0, np.inf), *((float(lam), np.inf) for lam in lams)]
    wider = np.geomspace(max(problem.points.spread / typical, 1.0), 1, steps - 1)
    return [(0.0, np.inf), *((float(lam), problem.bandwidth * wide) for lam, wide in zip(lams, wider, strict=True))]


def degenerate_status(sizes: Array, unreached: int, n: int) -> Status:
    """The status that names an outcome nobody asked for, from the points of each cluster and those out of reach."""
    empty = np.flatnonzero(sizes == 0).tolist()
    if empty:
        return Status(
            "empty clusters",
            f"Clusters {empty} ended without any point: 'lam' is too large for their modes to hold "
            "their neighbourhood, two modes started in one cluster, or there are too few distinct points. Use a "
            "smaller 'lam', another 'init', or fewer clusters.",
        )
    return Status(
        "unreached points",
        f"{unreached} of {n} points lie in parts of the graph that no "
        "mode's kernel reaches; they went to the cluster of the nearest point elsewhere. Use more 'n_neighbors' "
        "or a larger 'bandwidth'.",
    )


def _assign_unreached_components(problem: Problem, solution: Solution) -> Solution:
    """Give each unreached component, whole, the assignment of the reached point nearest to it.

    The objective is the same for any constant assignment there (up to what the certificate resolves); this one is
    the limit of a faint edge across the gap.
    """
    points, unreached, C = problem.points, solution.unreached, solution.C
    if unreached.all():
        Z = one_hot(nearest_mode(points, C), C.shape[0], solution.Z.dtype, sparse=issparse(solution.Z))
        distance = np.linalg.norm(points.rows(np.arange(points.n)) - C[Z.argmax(axis=1)], axis=1)
    else:
        reached = np.flatnonzero(~unreached)
        near = make_index(points.X[reached], points.threads).query(points.X[unreached], 1)
        distance, Z = near.distances[:, 0], solution.Z[reached[near.indices[:, 0]]]
    part = problem.graph.component[unreached]
    order = np.lexsort((distance, part))
    parts, first = np.unique(part[order], return_index=True)
    nearest = np.zeros(problem.graph.component.max() + 1, dtype=np.intp)
    nearest[parts] = order[first]
    return replace(solution, Z=replaced_rows(solution.Z, unreached, Z[nearest[part]]))
