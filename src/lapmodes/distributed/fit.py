"""The way of a distributed fit: parts → graph → start → solution, and the outer loop over parts.

Everything of size N stays on the workers. The driver holds modes, a few numbers for each part, and futures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from .._fit import degenerate_status
from .._predict import OUTLIER_NEIGHBORS
from .._progress import Progress, Step, no_step
from .._records import HISTORY, Array, Modes, Status
from .._rows import scaled_rows
from .._settings import Settings
from ..graph.affinity import neighbors_needed
from ..solve.alternate import Stopping, status_of
from ..solve.modes import Members, Shift, Sums, add_up, climb, cluster_sums
from ..solve.objective import inverse_width
from .assignments import (
    Model,
    Pieces,
    Round,
    Solved,
    begin,
    cluster_sizes,
    finish_assignments,
    reached,
    solve_parts,
)
from .cluster import Tasks
from .graph import PartedGraph, Rule, edges_of, finish_graph, given_rows, join_parts, split_graph
from .neighbors import (
    bandwidths_of,
    find_widths,
    median_of,
    nearest_reached,
    reached_rows,
    search_parts,
    width_facts,
    with_components,
)
from .parts import Cells, Data, Part, PartFacts, look_over, make_parts, spread_of, usual_parts
from .sample import Begin, begin_as_given, begin_from_sample, cells_of_sample, sample_size, start_on_sample
from .sources import sample_digest

REACHED_ROWS = 100_000
"""Reached rows among which the nearest to an unreached component is looked for."""
FAINT = 1e-6
"""Kernel values below this share of the usual ones do not reach a component."""


@dataclass(frozen=True)
class Problem:
    """Everything that a fit needs but a start: futures for each part, and small facts."""

    tasks: Tasks
    cells: Cells
    parts: list[Any]
    facts: list[PartFacts]
    graph: PartedGraph
    lam: float
    bandwidth: float | None
    """None: each row has one of its own."""
    length: float
    """The bandwidth, or the spread of the data where that is infinite."""
    spread: float
    rule: Rule | None
    """How new points are weighed; None for a given graph or none."""
    recall: float
    asked: float
    """Rows that asked another part for neighbours, for each row."""
    share: float
    """How near a part had to be, as a share of the own reach, to be asked."""

    @property
    def starts(self) -> Array:
        """The first row of each part, and the end of the last."""
        return self.graph.starts

    def pieces(self, priors: list[Any]) -> Pieces:
        """What the steps work on."""
        widths = self.graph.widths or [None] * len(self.parts)
        neighbors = [each.neighbors for each in self.graph.facts]
        return Pieces(self.parts, self.graph.local, priors, widths, neighbors, int(self.starts[-1]))


@dataclass(frozen=True)
class Options:
    """What a distributed fit has beside the settings of one machine."""

    exact: bool
    parts: int | str
    seeds: list[int]
    parameters: dict[str, Any]
    kept: Any = None
    """The checkpoint, if one is wanted."""


@dataclass(frozen=True)
class Fitted:
    """A solved problem."""

    problem: Problem
    solution: Solution
    priors: list[Any]
    prior_weight: float


def fit_source(
    tasks: Tasks, X: Any, weight: Any, settings: Settings, options: Options, check: Any, progress: Progress
) -> tuple[Data, Fitted]:
    """The whole way from the data to a solution; `check` refuses what is not possible and gives start and graph."""
    kept, exact = options.kept, options.exact
    seeds = options.seeds if kept is None else kept.seeds(options.seeds)
    with progress.phase("reading") as step:
        data = look_over(tasks, X, weight, settings, seeds[0], sample_size, step)
    n_parts = options.parts
    if isinstance(n_parts, str):
        n_parts = usual_parts(data.n, data.n_features, settings.n_clusters)
    init, graph = check(data, n_parts)
    digest = tasks.gather(tasks.each("digest", sample_digest, [(data.sample,)]))[0]
    fingerprint = {"data": [data.n, data.n_features, str(data.dtype), digest], "parameters": options.parameters}
    problem = None if kept is None else kept.problem(fingerprint)
    resumed = None if problem is None else kept.resumed(len(problem.parts))
    on_sample = []
    if isinstance(init, str) and resumed is None:
        kind = settings.affinity if graph is None else "self-tuning"
        like = replace(settings, threads=1, random_state=None, affinity=kind)
        on_sample = tasks.each("start", start_on_sample, [(data.sample, like, seed, not exact) for seed in seeds[2:]])
    if problem is None:
        given = init[1] if isinstance(init, tuple) else None
        with progress.phase("parts", n_parts) as step:
            found = tasks.each("cells", cells_of_sample, [(data.sample, n_parts, seeds[1], data.dtype)])
            (cells,) = tasks.gather(found)
            parts, facts = make_parts(tasks, data, cells, weight, given, settings, graph is None, step)
        problem = build_problem(tasks, cells, parts, facts, settings, graph, data.dtype, progress)
        if kept is not None:
            problem = kept.keep_problem(problem, fingerprint, seeds)
    with progress.phase("start") as step:
        own = tasks, problem.parts
        if resumed is not None:
            starts = [resumed.start]
        elif on_sample:
            starts = [begin_from_sample(*own, each, data.dtype, settings.prior_weight, exact) for each in on_sample]
        else:
            starts = [begin_as_given(*own, problem.graph, init, data.dtype)]
        if kept is not None and resumed is None:
            starts = [kept.keep_start(starts[0])]
        step(1, f"{starts[0].C.shape[0]} clusters to start from")
    keep = None if kept is None else kept.keep_state
    with progress.phase("alternate") as step:
        runs = [solve(problem, start, settings, step, exact, keep, resumed) for start in starts]
    # As on one machine: no trouble first, then the lam asked for, then a low objective.
    return data, min(
        runs, key=lambda run: (bool(run.solution.status.message), -run.problem.lam, run.solution.objective)
    )


def build_problem(
    tasks: Tasks,
    cells: Cells,
    parts: list[Any],
    facts: list[PartFacts],
    settings: Settings,
    given: Any,
    dtype: Any,
    progress: Progress,
) -> Problem:
    """Search neighbours, weigh the edges, and resolve bandwidth and lam."""
    sizes = [each.n_rows for each in facts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total, kind, n_neighbors = int(starts[-1]), settings.affinity, settings.n_neighbors
    spread = spread_of(facts)
    weighted = any(each.weighted for each in facts)
    reach = neighbors_needed(None if kind == "precomputed" else kind, n_neighbors, settings.bandwidth)
    reach = min(max(reach, OUTLIER_NEIGHBORS), total - 1)
    with progress.phase("neighbours", 3 * len(parts)) as step:
        search = search_parts(tasks, parts, starts, cells, reach, step)
        entropic = settings.bandwidth == "entropic"
        arguments = [(lists, p, starts, n_neighbors, entropic) for p, lists in enumerate(search.lists)]
        widths = tasks.each("widths", find_widths, arguments)
        found = tasks.gather(tasks.each("width-facts", width_facts, [(each,) for each in widths]))
        bandwidth: Any = settings.bandwidth
        if isinstance(bandwidth, str):
            bandwidth = None if entropic else sum(total_scale for total_scale, _, _ in found) / total
        one_width = bandwidth is not None and np.isfinite(bandwidth)
        width = bandwidth if one_width else float(np.average([edge for _, edge, _ in found], weights=sizes))
        rule: Rule | None = Rule(kind, min(n_neighbors, total - 1), float(width), kind == "entropic")
        if kind == "precomputed":
            rule, local = None, split_graph(tasks, parts, search.lists, starts, given)
        elif kind is None:
            rule = None
            none = [csr_array((size, total), dtype=dtype) for size in sizes]
            local = tasks.each(
                "no-graph", given_rows, [(none[p], search.lists[p], p, starts) for p in range(len(parts))]
            )
        else:
            local = edges_of(tasks, search.lists, widths, [each[2] for each in found], starts, rule, step)  # type: ignore[arg-type]
        mean_weight = sum(each.mass for each in facts) / total
        local = finish_graph(tasks, parts, local, starts, weighted, settings.laplacian, mean_weight)
        rows = tasks.each("row-widths", bandwidths_of, [(each,) for each in widths]) if bandwidth is None else None
        graph = join_parts(tasks, local, starts, bandwidth, rows)
    length = spread if bandwidth is not None and np.isinf(bandwidth) else bandwidth
    if length is None:
        length = float(np.median(tasks.gather(tasks.each("median", median_of, [(each,) for each in rows or []]))))
    lam = settings.lam
    if lam is None:
        unit = spread**2 if bandwidth is not None and np.isinf(bandwidth) else 1.0
        mean = graph.mean_diagonal / (mean_weight if weighted else 1.0)
        lam = unit / mean if mean > 0 else 0.0
    return Problem(
        tasks,
        cells,
        parts,
        facts,
        graph,
        lam,
        bandwidth,
        float(length),
        spread,
        rule,
        search.recall,
        search.asked,
        search.share,
    )


def solve(
    problem: Problem, start: Begin, settings: Settings, step: Step, exact: bool, keep: Any = None, resumed: Any = None
) -> Fitted:
    """From a start to a solution; a lam that was left to the library is quartered while a cluster dies of it."""
    shares = range(6) if settings.lam is None and exact else range(1)
    first = problem.lam if resumed is None else resumed.lam
    for share in shares:
        history = resumed.history if resumed is not None and share == 0 else None
        fitted = _solve_once(replace(problem, lam=first / 4**share), start, settings, step, exact, keep, history)
        if fitted.solution.status.name != "empty clusters":
            break
    return fitted


def _solve_once(
    problem: Problem, start: Begin, settings: Settings, step: Step, exact: bool, keep: Any, past: Any
) -> Fitted:
    tasks, graph = problem.tasks, problem.graph
    limit = problem.bandwidth is not None and bool(np.isinf(problem.bandwidth))
    unit = problem.spread**2 if limit else 1.0
    pull = settings.prior_weight * unit if start.priors[0] is not None else 0.0
    model = Model(start.C, problem.lam, problem.bandwidth, pull, settings.sparse)
    pieces = problem.pieces(start.priors)
    arguments = [(graph.local[p], Z) for p, Z in enumerate(start.assignments)]
    rounds = tasks.each("begin", begin, arguments)
    if exact:
        model, found, history, status, traffic = alternate(
            tasks, pieces, model, rounds, settings.stopping, problem.length, step, keep, past
        )
    else:
        found = solve_parts(tasks, pieces, rounds, model, settings.stopping.gap, sweeps=0)
        row = (found.energy, found.gap, 0.0, 0, 0, 0.0, 0.0)
        history, status, traffic = np.array([row], dtype=HISTORY), Status(), np.zeros((0, 4))
    rounds = found.rounds
    unreached, lost = unreached_components(tasks, pieces, graph, model)
    if unreached.size:
        rounds = assign_unreached(problem, rounds, unreached)
    rounds = tasks.each("finish", finish_assignments, [(each,) for each in rounds])
    arguments = [(problem.parts[p], rounds[p]) for p in range(len(rounds))]
    sizes = np.sum(tasks.gather(tasks.each("sizes", cluster_sizes, arguments)), axis=0)
    if status.name != "stopped" and ((sizes == 0).any() or unreached.size):
        status = degenerate_status(sizes, lost, int(problem.starts[-1]))
    solution = Solution(model.C, rounds, found.energy, found.gap, history, sizes, status, traffic)
    return Fitted(problem, solution, start.priors, model.pull)


def assign_unreached(problem: Problem, rounds: list[Any], unreached: Array) -> list[Any]:
    """Give each unreached component, whole, the assignment of the reached row nearest to it, among a sample of them."""
    tasks, P, graph = problem.tasks, len(rounds), problem.graph
    most = -(-REACHED_ROWS // P)
    own = [(problem.parts[p], graph.local[p], graph.component[p], unreached) for p in range(P)]
    found = tasks.gather(tasks.each("reached-rows", reached_rows, [(*own[p], rounds[p], most) for p in range(P)]))
    X = np.concatenate([points for points, _ in found])
    if len(X) == 0:
        return rounds
    Z = csr_array(vstack([rows for _, rows in found], format="csr"))
    nearest: dict[int, tuple[float, int]] = {}
    for part in tasks.gather(tasks.each("nearest-reached", nearest_reached, [(*each, X) for each in own])):
        for number, distance, row in part:
            nearest[number] = min(nearest.get(number, (np.inf, 0)), (distance, row))
    rows = {number: csr_array(Z[[row]]) for number, (_, row) in nearest.items()}
    arguments = [(graph.local[p], graph.component[p], rows, rounds[p]) for p in range(P)]
    return tasks.each("with-components", with_components, arguments)


@dataclass(frozen=True)
class Solution:
    """A fixed point of the alternation: futures of the assignments, and small arrays."""

    C: Array
    rounds: list[Any]
    objective: float
    gap: float
    history: Array
    sizes: Array
    """Samples in each cluster."""
    status: Status
    traffic: Array
    """For each alternation (rounds, sweeps, halo rows sent, bytes sent)."""


def list_members(part: Part, last: Round) -> Members:
    """The rows with a share in each cluster."""
    Z = last.Z if part.weight is None else scaled_rows(last.Z, part.weight)
    return Members.of(Z, 1)


def shift_sums(part: Part, members: Members, C: Array, sigma: Any, width: Any, active: Array) -> Sums:
    """What mean-shift adds up over one part."""
    h = inverse_width(width if sigma is None else sigma, part.X.dtype)
    return cluster_sums(part.points(), members, C, h, active)


def shift_parts(tasks: Tasks, pieces: Pieces, rounds: list[Any], model: Model, tol: float, length: float) -> Modes:
    """The C-step: mean-shift over all parts, whose sums are added in their order."""
    P = len(rounds)
    members = tasks.each("members", list_members, [(pieces.parts[p], rounds[p]) for p in range(P)])

    def shift(C: Array, active: Array) -> Shift:
        arguments = [(pieces.parts[p], members[p], C, model.bandwidth, pieces.widths[p], active) for p in range(P)]
        found = tasks.gather(tasks.each("shift", shift_sums, arguments))
        by_cluster = [
            np.stack([getattr(each, name) for each in found], axis=1) for name in ("peak", "mass", "value", "sums")
        ]
        flat = [each.reshape(-1, *each.shape[2:]) for each in by_cluster]
        return add_up(Sums(*flat), np.arange(0, C.shape[0] * P + 1, P))

    sigma = np.inf if model.in_kmeans_limit else length
    return climb(model.C, sigma, shift, tol=tol)


def alternate(
    tasks: Tasks,
    pieces: Pieces,
    model: Model,
    rounds: list[Any],
    stopping: Stopping,
    length: float,
    step: Step = no_step,
    keep: Callable[[list[Any], Model, list[Any]], list[Any]] | None = None,
    past: list[Any] | None = None,
) -> tuple[Model, Solved, Array, Status, Array]:
    """Minimise the objective from a start; `keep` is called after each alternation, to write a checkpoint."""
    rest = stopping.tol * length
    history = list(past or [])
    traffic: list[tuple[float, ...]] = []
    rests = stopped = False
    while len(history) < stopping.max_iter and not (rests or stopped):
        began = perf_counter()
        modes = shift_parts(tasks, pieces, rounds, model, 0.1 * rest, length)
        model, middle = replace(model, C=modes.C), perf_counter()
        found = solve_parts(tasks, pieces, rounds, model, stopping.gap)
        rests = modes.moved <= rest and (model.lam > 0 or not stopping.exact or not found.changed)
        rounds, seconds = found.rounds, (middle - began, perf_counter() - middle)
        steps = max(1, round(found.sweeps))
        history.append((found.energy, found.gap, modes.moved, modes.n_iter, steps, *seconds))
        traffic.append((found.n_rounds, found.sweeps, found.rows_sent, found.bytes_sent))
        stopped = step(1, f"objective {found.energy:.6g}  gap {found.gap:.1e}  moved {modes.moved:.1e}")
        if keep is not None:
            rounds = keep(rounds, model, history)
            found = replace(found, rounds=rounds)
    table = np.array(history, dtype=HISTORY)
    status = status_of(table, found.certified, rests, stopped)
    return model, found, table, status, np.array(traffic)


def unreached_components(tasks: Tasks, pieces: Pieces, graph: PartedGraph, model: Model) -> tuple[Array, int]:
    """Components whose kernel values sum to less than the certificate resolves, and their rows: any Z is optimal."""
    if model.lam == 0 or model.in_kmeans_limit or graph.n_components == 1:
        return np.empty(0, dtype=np.int64), 0
    arguments = [
        (pieces.parts[p], pieces.local[p], pieces.priors[p], pieces.widths[p], model, graph.component[p])
        for p in range(len(pieces.parts))
    ]
    sums, sizes = np.zeros(graph.n_components), np.zeros(graph.n_components)
    for highest, count in tasks.gather(tasks.each("reached", reached, arguments)):
        sums[: highest.size] += highest
        sizes[: count.size] += count
    faint = sums <= FAINT * sums.sum() * sizes / sizes.sum()
    return np.flatnonzero(faint), int(sizes[faint].sum())
