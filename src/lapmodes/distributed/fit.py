"""The way of a distributed fit: source → parts → graph → start → solution. Everything of size N stays on the workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._fit import degenerate_status
from .._progress import Progress, Step
from .._records import Array
from .._settings import Settings
from .._validation import check_init, check_weights
from ..graph.affinity import neighbors_needed
from . import alternate as loop
from .alternate import Solution
from .assignments import SWEEPS, Model, Pieces, begin, received, solve_parts
from .cluster import ClusterError, Tasks, first_of
from .graph import PartedGraph, Rule, edges_of, find_widths, finish_graph, given_rows, join_parts, width_facts
from .neighbors import search_parts
from .parts import Cells, Part, PartFacts, facts_of, join_pieces, make_cells, split_block, spread_of, usual_parts
from .sources import Look, Source, as_rows, find_source, looking_graph
from .start import (
    densest_rows,
    given_start,
    map_assignments,
    map_votes,
    modes_of,
    nearest_start,
    sample_size,
    start_on_sample,
)

OUTLIER_NEIGHBORS = 10
"""Neighbours by which outliers are judged."""
MEMORY_SHARE = 0.6
"""Share of the workers' memory that results may take before Dask writes them to disk."""
REACHED_ROWS = 100_000
"""Reached rows among which the nearest to an unreached component is looked for."""


@dataclass(frozen=True)
class Data:
    """The rows, looked at once."""

    source: Source
    sample: Any
    """Future of a random sample."""
    lengths: Array
    """Rows of each block."""
    n_features: int
    dtype: Any
    mass: float
    """Sum of the sample weights."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.lengths.sum())

    @property
    def firsts(self) -> Array:
        """Number of the first row of each block."""
        return np.concatenate([[0], np.cumsum(self.lengths)])


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
class Fitted:
    """A solved problem."""

    problem: Problem
    solution: Solution
    priors: list[Any]
    prior_weight: float


def look_over(tasks: Tasks, X: Any, weight: Any, settings: Settings, seed: int, step: Step) -> Data:
    """Read all rows once: check and count them, and draw a sample."""
    source = find_source(X, tasks)
    weights = None if weight is None else find_weights(weight, source, tasks)
    first = tasks.run(source.graph | {tasks.key("width"): (row_width, source.keys[0])}, [tasks.key("width")])
    width, itemsize = tasks.gather(list(first.values()))[0]
    options = sample_size(width, itemsize), seed, settings.metric == "cosine"
    graph, keys, sample = looking_graph(source, weights, tasks, options)
    futures = tasks.run(graph, [*keys, sample])
    tasks.watch([futures[key] for key in keys], step)
    facts = tasks.gather([futures[key] for key in keys])
    for i, (_, found, _, bad, why, _) in enumerate(facts):
        if found != width:
            raise ValueError(f"All rows must have {width} columns, but those of {source.name(i)} have {found}.")
        if bad >= 0:
            raise ValueError(
                f"Row {bad} of {source.name(i)} has {why}. Drop or repair such rows; lapmodes.distributed takes no gaps."
            )
    lengths = np.array([each[0] for each in facts], dtype=np.int64)
    if lengths.sum() < max(2, settings.n_clusters):
        raise ValueError(
            f"n_samples={lengths.sum()} should be >= n_clusters={settings.n_clusters}. Ask for fewer clusters."
        )
    dtype = np.dtype(np.float32 if all(each[2] for each in facts) else np.float64)
    return Data(source, futures[sample], lengths, width, dtype, sum(each[5] for each in facts))


def row_width(X: Any) -> tuple[int, int]:
    """(Columns, bytes of a number) of a block."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be of two dimensions. Got blocks of {X.ndim}. Reshape it to (rows, columns).")
    return X.shape[1], 4 if X.dtype in (np.float32, np.float16) else 8


def find_weights(weight: Any, source: Source, tasks: Tasks) -> Source:
    """Sample weights in the blocks of the rows."""
    import dask.array as da

    if not isinstance(weight, da.Array):
        weight = np.asarray(weight, dtype=np.float64)
        if source.lengths is None:
            raise ValueError("'sample_weight' must be a dask array where the chunk sizes of X are not known.")
        if weight.shape != (sum(source.lengths),):
            raise ValueError(
                f"'sample_weight' must have one entry a row, shape ({sum(source.lengths)},). Got {weight.shape} instead."
            )
        weight = da.from_array(weight, chunks=(source.lengths,))
    elif source.lengths is not None and not np.isnan(weight.chunks[0]).any():
        weight = weight.rechunk((source.lengths,))
    if weight.numblocks[0] != len(source.keys):
        raise ValueError(
            f"'sample_weight' must have the chunks of X. It has {weight.numblocks[0]}, X has {len(source.keys)}."
        )
    return Source(dict(weight.__dask_graph__()), list(weight.__dask_keys__()))


def scaled_weight(weight: Any, factor: float, dtype: Any) -> Array:
    """Weights of mean 1."""
    return (np.asarray(weight, dtype=np.float64) * factor).astype(dtype)


def make_parts(
    tasks: Tasks, data: Data, n_parts: int, seed: int, weight: Any, start: Any, settings: Settings, merge: bool
) -> tuple[Cells, list[Any], list[PartFacts]]:
    """Move each row to its part, once."""
    (cells,) = tasks.gather(tasks.each("cells", cells_of_sample, [(data.sample, n_parts, seed, data.dtype)]))
    weights = None if weight is None else find_weights(weight, data.source, tasks)
    graph = dict(data.source.graph) | ({} if weights is None else dict(weights.graph))
    cosine = settings.metric == "cosine"
    starts = start_blocks(start, data, graph)
    for i, key in enumerate(data.source.keys):
        graph[tasks.key("rows", i)] = (as_rows, key, data.dtype, cosine)
        scaled = None
        if weights is not None:
            scaled = tasks.key("scaled", i)
            graph[scaled] = (scaled_weight, weights.keys[i], data.n / data.mass, data.dtype)
        graph[tasks.key("split", i)] = (
            split_block,
            tasks.key("rows", i),
            scaled,
            starts[i],
            int(data.firsts[i]),
            cells,
        )
        for p in range(cells.n_parts):
            graph[tasks.key("piece", i, p)] = (first_of, tasks.key("split", i), p)
    blocks = range(len(data.source.keys))
    for p in range(cells.n_parts):
        graph[tasks.key("part", p)] = (join_pieces, [tasks.key("piece", i, p) for i in blocks], merge)
    parts = list(tasks.run(graph, [tasks.key("part", p) for p in range(cells.n_parts)]).values())
    tasks.watch(parts)
    facts = tasks.gather(tasks.each("part-facts", facts_of, [(part,) for part in parts]))
    return cells, parts, facts


def cells_of_sample(look: Look, n_parts: int, seed: int, dtype: Any) -> Cells:
    """The cells, from the sample."""
    return make_cells(look.X.astype(dtype, copy=False), n_parts, seed)


def start_blocks(start: Any, data: Data, graph: dict[Any, Any]) -> list[Any]:
    """Given first assignments for each block: keys or sparse rows."""
    import dask.array as da

    if start is None:
        return [None] * len(data.lengths)
    if isinstance(start, da.Array):
        start = start.rechunk((tuple(data.lengths.tolist()), -1))
        graph |= dict(start.__dask_graph__())
        return [key[0] for key in start.__dask_keys__()]
    rows = csr_array(start)
    return [rows[a:b] for a, b in zip(data.firsts[:-1], data.firsts[1:], strict=True)]


def check_memory(data: Data, settings: Settings, n_parts: int, limit: int, n_workers: int) -> None:
    """Refuse a cluster that is sure to be too small, before any work is done."""
    if not limit:
        return
    need = data.n * bytes_a_point(data.n_features, settings.n_neighbors, data.dtype.itemsize)
    if need > MEMORY_SHARE * limit * n_workers:
        raise ClusterError(
            f"{data.n:,} rows need about {need / 2**30:.1f} GiB on the workers, but {n_workers} workers of "
            f"{limit / 2**30:.2f} GiB have room for {MEMORY_SHARE * limit * n_workers / 2**30:.1f} GiB beside the work "
            "itself. Use more workers, or workers with more memory; or fit a sample with exact=False."
        )
    work = data.n / n_parts * 1.2 * working_bytes(data.n_features, settings.n_clusters, data.dtype.itemsize)
    if work > MEMORY_SHARE * limit:
        raise ClusterError(
            f"The work on one of {n_parts} parts needs about {work / 2**30:.1f} GiB, but a worker has {limit / 2**30:.2f} "
            f"GiB. Use more parts (for example parts={2 * n_parts}), or workers with more memory."
        )


def bytes_a_point(n_features: int, n_neighbors: int, itemsize: int) -> float:
    """What stays on the workers for each point: coordinates, number, graph, prior and two assignments."""
    return itemsize * n_features + 24 + 1.5 * n_neighbors * (4 + itemsize) + 3 * (8 + 1.5 * (4 + itemsize))


def working_bytes(n_features: int, n_clusters: int, itemsize: int) -> float:
    """What the work on a part takes at once, for each of its points."""
    return itemsize * (3 * n_features + 4 * n_clusters) + 400


def build_problem(
    tasks: Tasks,
    cells: Cells,
    parts: list[Any],
    facts: list[PartFacts],
    settings: Settings,
    given: Any,
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
        rule = Rule(kind, min(n_neighbors, total - 1), float(width), kind == "entropic")
        if kind == "precomputed":
            rule, local = None, split_graph(tasks, parts, starts, given)
        elif kind is None:
            rule = None
            arguments = [(csr_array((size, total), dtype=np.float32), p, starts) for p, size in enumerate(sizes)]
            local = tasks.each("no-graph", given_rows, arguments)
        else:
            local = edges_of(tasks, search.lists, widths, [each[2] for each in found], starts, rule, step)
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
        tasks, cells, parts, facts, graph, lam, bandwidth, float(length), spread, rule, search.recall, search.asked
    )


def bandwidths_of(widths: Any) -> Array:
    """The rows' own widths alone."""
    return widths.bandwidth


def median_of(values: Array) -> float:
    """The median."""
    return float(np.median(values))


def split_graph(tasks: Tasks, parts: list[Any], starts: Array, W: Any) -> list[Any]:
    """A graph that was given, by parts."""
    numbers = np.concatenate(tasks.gather(tasks.each("numbers", row_numbers, [(part,) for part in parts])))
    place = np.empty(numbers.size, dtype=np.int64)
    place[numbers] = np.arange(numbers.size)
    rows = csr_array(W[numbers])
    rows = csr_array((rows.data, place[rows.indices], rows.indptr), shape=rows.shape)
    rows.sort_indices()
    pieces = [rows[starts[p] : starts[p + 1]] for p in range(len(parts))]
    return tasks.each("given", given_rows, [(piece, p, starts) for p, piece in enumerate(pieces)])


def row_numbers(part: Part) -> Array:
    """The number in the data of each row."""
    return part.row_numbers


def checked_graph(graph: Any, n: int, dtype: Any) -> Any:
    """A given graph, checked as one machine does."""
    from .._validation import check_graph

    if not issparse(graph):
        return check_graph(graph, n, dtype)
    return check_graph(check_weights(graph, dtype), n, dtype)


@dataclass(frozen=True)
class Begin:
    """Where a run begins: modes, futures of the first assignments and of the prior."""

    C: Array
    assignments: list[Any]
    priors: list[Any]


def begin_from_sample(problem: Problem, start: Any, dtype: Any, prior_weight: float, exact: bool) -> Begin:
    """A start on the sample, mapped to all rows."""
    tasks = problem.tasks
    C, has_prior = tasks.gather(tasks.each("modes-of", modes_of, [(start,)]))[0]
    votes = tasks.each("votes", map_votes, [(part, start) for part in problem.parts])
    priors = votes if has_prior and prior_weight > 0 else [None] * len(votes)
    Z = votes if exact else tasks.each("mapped", map_assignments, [(part, start) for part in problem.parts])
    return Begin(np.ascontiguousarray(C, dtype=dtype), Z, priors)


def begin_as_given(problem: Problem, init: Any, dtype: Any) -> Begin:
    """Given modes, or given assignments with or without modes."""
    tasks, none = problem.tasks, [None] * len(problem.parts)
    modes = init[0] if isinstance(init, tuple) else init
    C = None if modes is None else np.ascontiguousarray(modes, dtype=dtype)
    if not isinstance(init, tuple):
        assert C is not None
        return Begin(C, tasks.each("nearest", nearest_start, [(part, C) for part in problem.parts]), none)
    Z = tasks.each("given-start", given_start, [(part,) for part in problem.parts])
    if C is None:
        C = densest_modes(problem, Z)
    return Begin(np.ascontiguousarray(C, dtype=dtype), Z, none)


def densest_modes(problem: Problem, Z: list[Any]) -> Array:
    """For each cluster its row with most weight to others of the cluster."""
    tasks, P = problem.tasks, len(Z)
    rounds = tasks.each("begin-modes", begin, [(problem.graph.local[p], Z[p]) for p in range(P)])
    neighbors = [each.neighbors for each in problem.graph.facts]
    halos = tasks.each(
        "halo",
        halo_of,
        [(problem.graph.local[p], rounds[p], neighbors[p], [rounds[q] for q in neighbors[p]], p) for p in range(P)],
    )
    arguments = [(problem.parts[p], problem.graph.local[p], Z[p], halos[p]) for p in range(P)]
    found = tasks.gather(tasks.each("densest", densest_rows, arguments))
    weight, points = np.stack([each[0] for each in found]), np.stack([each[1] for each in found])
    return points[weight.argmax(axis=0), np.arange(weight.shape[1])]


def halo_of(local: Any, own: Any, senders: list[int], others: list[Any], number: int) -> Any:
    """The halo's assignments, all of them from the other parts' first rounds."""
    return received(local, own.halo, senders, [each.out.get(number) for each in others])


def solve(
    problem: Problem, start: Begin, settings: Settings, step: Step, exact: bool, keep: Any = None, resumed: Any = None
) -> Fitted:
    """From a start to a solution; a lam that was left to the library is quartered while a cluster dies of it."""
    shares = range(6) if settings.lam is None and exact else range(1)
    for share in shares:
        at = replace(problem, lam=problem.lam / 4**share)
        fitted = _solve_once(at, start, settings, step, exact, keep, resumed)
        if fitted.solution.status.name != "empty clusters":
            break
    return fitted


def _solve_once(
    problem: Problem, start: Begin, settings: Settings, step: Step, exact: bool, keep: Any, resumed: Any
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
        model, found, history, status, traffic = loop.alternate(
            tasks, pieces, model, rounds, settings.stopping, problem.length, step, keep, resumed
        )
    else:
        found = solve_parts(tasks, pieces, rounds, model, settings.stopping.gap, sweeps=0)
        row = (found.energy, found.gap, 0.0, 0, 0, 0.0, 0.0)
        history, status, traffic = np.array([row], dtype=loop.HISTORY), loop.Status(), np.zeros((0, 4))
    rounds = found.rounds
    unreached = loop.unreached_components(tasks, pieces, graph, model)
    if unreached.size:
        rounds = assign_unreached(problem, rounds, unreached)
    rounds = tasks.each("finish", loop.finish_assignments, [(each,) for each in rounds])
    arguments = [(problem.parts[p], rounds[p]) for p in range(len(rounds))]
    sizes = np.sum(tasks.gather(tasks.each("sizes", loop.cluster_sizes, arguments)), axis=0)
    if status.name != "stopped" and ((sizes == 0).any() or unreached.size):
        lost = sum(int(np.isin(each, unreached).sum()) for each in graph.component) if unreached.size else 0
        status = degenerate_status(sizes, lost, int(problem.starts[-1]))
    solution = Solution(model.C, rounds, found.energy, found.gap, history, sizes, status, traffic)
    return Fitted(problem, solution, start.priors, model.pull)


def assign_unreached(problem: Problem, rounds: list[Any], unreached: Array) -> list[Any]:
    """Give each unreached component, whole, the assignment of the reached row nearest to it, among a sample of them."""
    tasks, P, graph = problem.tasks, len(rounds), problem.graph
    most = -(-REACHED_ROWS // P)
    own = [(problem.parts[p], graph.local[p], graph.component[p], unreached) for p in range(P)]
    found = tasks.gather(tasks.each("reached-rows", loop.reached_rows, [(*own[p], rounds[p], most) for p in range(P)]))
    X = np.concatenate([points for points, _ in found])
    if len(X) == 0:
        return rounds
    from scipy.sparse import vstack

    Z = csr_array(vstack([rows for _, rows in found], format="csr"))
    nearest: dict[int, tuple[float, int]] = {}
    for part in tasks.gather(tasks.each("nearest-reached", loop.nearest_reached, [(*each, X) for each in own])):
        for number, distance, row in part:
            nearest[number] = min(nearest.get(number, (np.inf, 0)), (distance, row))
    rows = {number: csr_array(Z[[row]]) for number, (_, row) in nearest.items()}
    arguments = [(graph.local[p], graph.component[p], rows, rounds[p]) for p in range(P)]
    return tasks.each("with-components", loop.with_components, arguments)


__all__ = ["SWEEPS", "Begin", "Data", "Fitted", "Problem", "check_init", "usual_parts"]
