"""What a fitted model says: of its own rows, in the order of the data, and of new points, block by block.

Neighbours of new points are searched in the part whose cell is nearest, and then in those parts that can hold nearer
ones. All of it is lazy: dask arrays whose tasks read the parts' results where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from .._fit import resolve_bandwidth
from .._predict import OUTLIER_NEIGHBORS, outlier_distances
from .._records import Array, Neighbors, Points
from .._row_map import RowFinder
from .._rows import as_dense, column_sums, largest_columns, scaled_rows
from ..graph.affinity import Affinity, directed, neighbors_needed
from ..graph.neighbors import make_index
from ..metrics import outlier_scores
from ..solve.mapping import Reference, Tails, fit_tails, log_cluster_sums, map_points
from ..solve.objective import nearest_points
from .assignments import Model, Round
from .cluster import Sized, Tasks, first_of
from .fit import Fitted
from .graph import LocalGraph, Rule
from .neighbors import BLOCK_ROWS
from .parts import Cells, Part, lazy_array
from .sources import Source, as_rows

BATCH_BYTES = 2**28
"""New points whose neighbours are searched together: an index over a part is made once for all of them."""
MEMBERS = 20_000
MEMBERS_A_CLUSTER = 100
"""Rows on which the clusters' tails are fitted."""


# New points.


@dataclass(frozen=True)
class Mapper:
    """How new points are mapped: small, and the same for all parts."""

    cells: Cells
    model: Model
    rule: Rule | None
    n_neighbors: int
    normalized: bool
    share: float
    """How near a part must be, as a share of the distance of the last neighbour so far, to be asked as well."""
    dtype: Any
    cosine: bool
    n_features: int

    @property
    def reach(self) -> int:
        """Neighbours that the mapping looks at."""
        kind = self.rule.kind if self.rule is not None and self.model.lam > 0 else None
        return neighbors_needed(kind, self.n_neighbors, "entropic" if self.model.bandwidth is None else 1.0)


@dataclass(frozen=True)
class Query(Sized):
    """Rows of a block that ask a part."""

    rows: Array
    X: Array


@dataclass(frozen=True)
class Near(Sized):
    """The nearest training rows of some new points, and what is known of them, one entry for each pair."""

    distances: Array
    own: Array
    """Whether the training row is equal to the new point."""
    Z: Any
    """CSR, a row for each pair."""
    scale: Array
    degree: Array
    weight: Array


def checked_rows(X: Any, mapper: Mapper) -> Array:
    """A block of new points as the fit's own."""
    X = np.asarray(getattr(X, "to_numpy", lambda: X)())
    if X.ndim != 2 or X.shape[1] != mapper.n_features:
        got = X.shape[1] if X.ndim == 2 else f"{X.ndim} dimensions"
        raise ValueError(f"X has {got} features, but the model was fitted with {mapper.n_features}.")
    rows = as_rows(X, mapper.dtype, mapper.cosine)
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"Row {bad} of a block of new points has NaN or infinity. Drop or repair such rows.")
    return rows


def ask_home(X: Array, mapper: Mapper) -> dict[int, Query]:
    """The rows of a block by the part whose cell is nearest."""
    part = mapper.cells.parts_of(X)
    return {p: Query(rows, X[rows]) for p in np.unique(part).tolist() for rows in [np.flatnonzero(part == p)]}


def ask_further(X: Array, near: Near, mapper: Mapper) -> dict[int, Query]:
    """Which rows ask which other parts."""
    found: dict[int, list[Array]] = {}
    home, reach = mapper.cells.parts_of(X), mapper.share * near.distances[:, -1]
    for start in range(0, X.shape[0], BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, X.shape[0]))
        asks = mapper.cells.margins(X[block]) <= reach[block, None]
        asks[np.arange(asks.shape[0]), home[block]] = False
        for q in np.flatnonzero(asks.any(axis=0)).tolist():
            found.setdefault(q, []).append(start + np.flatnonzero(asks[:, q]))
    return {q: Query(rows, X[rows]) for q, some in found.items() for rows in [np.concatenate(some)]}


def answer_queries(part: Part, local: LocalGraph, last: Round, queries: list[Query | None], k: int) -> dict[int, Near]:
    """The nearest rows of one part for the queries of several blocks; there are always k, the last at infinity."""
    there = {b: query for b, query in enumerate(queries) if query is not None and query.rows.size}
    if not there:
        return {}
    Q = np.ascontiguousarray(np.concatenate([query.X for query in there.values()]))
    with threadpool_limits(1):
        near = make_index(part.X, 1).query(Q, min(k, part.n))
    indices, distances = _full(near.indices, 0, k), _full(near.distances, np.inf, k)
    equal = np.full(Q.shape[0], -1)
    found, rows = RowFinder(part.X, 1).find(Q, 1)
    equal[found] = rows
    own = (indices == equal[:, None]) & np.isfinite(distances)
    cuts = np.cumsum([query.rows.size for query in there.values()])[:-1]
    answers = {}
    for b, at in zip(there, np.split(np.arange(Q.shape[0]), cuts), strict=True):
        flat = indices[at].ravel()
        scale = np.ones(flat.size, dtype=part.X.dtype) if local.scale is None else local.scale[flat]
        weight = np.ones(flat.size, dtype=part.X.dtype) if part.weight is None else part.weight[flat]
        answers[b] = Near(distances[at], own[at], csr_array(last.Z[flat]), scale, local.degrees[flat], weight)
    return answers


def _full(values: Array, filler: Any, k: int) -> Array:
    missing = k - values.shape[1]
    return values if missing <= 0 else np.pad(values, ((0, 0), (0, missing)), constant_values=filler)


def gather_near(
    n: int, K: int, k: int, asks: dict[int, Query], numbers: list[int], answers: list[Any], near: Any
) -> Near:
    """The nearest of what the parts answered, and of what was known before."""
    lists = [] if near is None else [(np.arange(n), near)]
    lists += [(asks[q].rows, answer) for q, answer in zip(numbers, answers, strict=True) if answer is not None]
    rows = np.concatenate([np.repeat(some, k) for some, _ in lists])
    columns = {
        name: np.concatenate([getattr(each, name).ravel() for _, each in lists])
        for name in ("distances", "own", "scale", "degree", "weight")
    }
    order = np.lexsort((columns["distances"], rows))
    begins = np.searchsorted(rows[order], np.arange(n))
    kept = order[(begins[:, None] + np.arange(k)).ravel()]
    Z = csr_array(vstack([each.Z for _, each in lists], format="csr"))[kept]
    shape = n, k
    return Near(
        columns["distances"][kept].reshape(shape),
        columns["own"][kept].reshape(shape),
        csr_array(Z),
        *(columns[name][kept] for name in ("scale", "degree", "weight")),
    )


def map_block(X: Array, near: Near | None, mapper: Mapper) -> Array:
    """Assignments of a block of new points; one that is equal to a training row has that row's."""
    model, n = mapper.model, X.shape[0]
    out = np.empty((n, model.C.shape[0]), dtype=X.dtype)
    points, sigma = Points(X), model.bandwidth
    if near is None:
        map_points(points, None, sigma, Reference(csr_array((0, out.shape[1]), dtype=X.dtype), model.C, 0.0), out)
        return out
    k = near.distances.shape[1]
    neighbors = Neighbors(np.arange(n * k, dtype=np.int32).reshape(n, k), near.distances)
    if sigma is None:
        sigma = resolve_bandwidth("entropic", mapper.n_neighbors, neighbors, 1)
    cross = None
    if mapper.rule is not None and model.lam > 0:
        rule = mapper.rule
        affinity = Affinity(rule.kind, rule.n_neighbors, rule.width, near.scale if rule.kind == "self-tuning" else None)
        indices, weights = affinity.weigh(neighbors, 1)
        cross = directed(np.ascontiguousarray(indices), np.ascontiguousarray(weights), n * k)
    degrees = near.degree if mapper.normalized else None
    lam = model.lam if cross is not None else 0.0
    weight = None if (near.weight == 1).all() else near.weight
    map_points(points, cross, sigma, Reference(near.Z, model.C, lam, weight, degrees), out)
    rows, place = np.nonzero(near.own)
    out[rows] = as_dense(near.Z[rows * k + place])
    return out


def rare_distances(near: Near) -> Array:
    """Distance of each point from its 10th training neighbour, itself apart."""
    mass = near.weight.reshape(near.distances.shape)
    return outlier_distances(near.distances, mass, near.own)


def score_block(Z: Array, distances: Array, tails: tuple[float, Tails]) -> Array:
    """How unusual the points are for members of their clusters."""
    least, fitted = tails
    return outlier_scores(Z, -np.log(np.maximum(distances, least)), fitted)


def label_block(Z: Array) -> Array:
    """The cluster of largest assignment."""
    return np.asarray(Z.argmax(axis=1), dtype=np.int32)


def sparse_block(Z: Array) -> Any:
    """Without the zeros."""
    return csr_array(Z)


@dataclass(frozen=True)
class Training:
    """Futures of what new points are compared with."""

    tasks: Tasks
    parts: list[Any]
    local: list[Any]
    rounds: list[Any]
    widths: list[Any]
    mapper: Mapper


def training_of(fitted: Fitted, n_neighbors: int, laplacian: str, metric: str, sparse: bool) -> Training:
    """What new points are compared with, from a fit."""
    problem, solution = fitted.problem, fitted.solution
    model = Model(solution.C, problem.lam, problem.bandwidth, fitted.prior_weight, bool(sparse))
    rest = laplacian == "normalized", problem.share or 1.0, solution.C.dtype, metric == "cosine", solution.C.shape[1]
    mapper = Mapper(problem.cells, model, problem.rule, n_neighbors, *rest)
    widths = problem.graph.widths or [None] * len(problem.parts)
    return Training(problem.tasks, problem.parts, problem.graph.local, solution.rounds, widths, mapper)


def nearest_row(part: Part, C: Array) -> tuple[Array, Array]:
    """(Squared distance, number in the data) of the row nearest to each mode."""
    rows = nearest_points(part.points(), C)
    return np.square(part.X[rows].astype(np.float64) - C).sum(axis=1), part.row_numbers[rows]


def nearest_rows(training: Training) -> Array:
    """The number of the row nearest to each mode."""
    tasks, C = training.tasks, training.mapper.model.C
    found = tasks.gather(tasks.each("nearest", nearest_row, [(part, C) for part in training.parts]))
    distances, numbers = (np.stack([each[i] for each in found]) for i in (0, 1))
    return np.asarray(numbers[distances.argmin(axis=0), np.arange(C.shape[0])])


def near_graph(training: Training, source: Source, k: int, graph: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Adds the tasks that find the k nearest training rows of all blocks: (keys of the blocks, of their neighbours)."""
    tasks, mapper, P = training.tasks, training.mapper, len(training.parts)
    number, K = tasks.number(), mapper.model.C.shape[0]
    graph |= source.graph
    rows = []
    for b, key in enumerate(source.keys):
        rows.append(tasks.key("new-rows", number, b))
        graph[rows[b]] = (checked_rows, key, mapper)
    if k == 0:
        return rows, [None] * len(rows)
    known: list[Any] = [None] * len(rows)
    for phase in range(2 if P > 1 else 1):
        name = f"{number}-{phase}"
        for b, X in enumerate(rows):
            ask = (ask_further, X, known[b], mapper) if phase else (ask_home, X, mapper)
            graph[tasks.key(f"ask-{name}", b)] = ask
        for batch in _batches(source, mapper):
            for p in range(P):
                asks = []
                for b in batch:
                    asks.append(tasks.key(f"ask-of-{name}", b, p))
                    graph[asks[-1]] = (first_of, tasks.key(f"ask-{name}", b), p)
                own = training.parts[p], training.local[p], training.rounds[p]
                graph[tasks.key(f"answer-{name}", batch[0], p)] = (answer_queries, *own, asks, k)
                for place, b in enumerate(batch):
                    answer = tasks.key(f"answer-{name}", batch[0], p)
                    graph[tasks.key(f"answer-of-{name}", b, p)] = (first_of, answer, place)
        for b, X in enumerate(rows):
            answers = [tasks.key(f"answer-of-{name}", b, p) for p in range(P)]
            gathered = _gather, X, K, k, tasks.key(f"ask-{name}", b), list(range(P)), answers, known[b]
            graph[tasks.key(f"near-{name}", b)] = gathered
        known = [tasks.key(f"near-{name}", b) for b in range(len(rows))]
    return rows, known


def _gather(X: Array, K: int, k: int, asks: Any, numbers: list[int], answers: list[Any], near: Any) -> Near:
    return gather_near(X.shape[0], K, k, asks, numbers, answers, near)


def _batches(source: Source, mapper: Mapper) -> list[list[int]]:
    """Blocks whose queries are answered together."""
    lengths = source.lengths or [1 << 18] * len(source.keys)
    most = BATCH_BYTES // (mapper.n_features * np.dtype(mapper.dtype).itemsize)
    batches: list[list[int]] = [[]]
    rows = 0
    for b, length in enumerate(lengths):
        if rows and rows + length > most:
            batches.append([])
            rows = 0
        batches[-1].append(b)
        rows += length
    return batches


def map_source(training: Training, source: Source, what: str, tails: Any = None) -> Any:
    """A lazy array of labels, assignments ('shares'), or outlier scores of new points."""
    tasks, mapper = training.tasks, training.mapper
    graph: dict[Any, Any] = {}
    k = max(mapper.reach, OUTLIER_NEIGHBORS + 1 if what == "outliers" else 0)
    rows, near = near_graph(training, source, k, graph)
    name = f"lapmodes-{what}-{tasks.token}-{tasks.number()}"
    K, sparse = mapper.model.C.shape[0], mapper.model.sparse
    for b, X in enumerate(rows):
        mapped = (name + "-mapped", b)
        graph[mapped] = (map_block, X, near[b], mapper)
        if what == "labels":
            graph[name, b] = (label_block, mapped)
        elif what == "shares":
            graph[name, b, 0] = (sparse_block, mapped) if sparse else (as_dense, mapped)
        else:
            graph[name + "-far", b] = (rare_distances, near[b])
            graph[name, b] = (score_block, mapped, (name + "-far", b), tails)
    lengths = source.lengths or (np.nan,) * len(rows)
    kinds = {"labels": (0, np.int32, False), "shares": (K, mapper.dtype, sparse), "outliers": (0, np.float64, False)}
    return lazy_array(graph, name, tuple(lengths), *kinds[what])


def member_distances(part: Part, local: LocalGraph, last: Round, count: int) -> tuple[Array, Array, Any]:
    """(Distance from the 10th neighbour, cluster, weight) of some rows of a part."""
    rows = np.sort(np.random.default_rng(0).choice(part.n, min(count, part.n), replace=False))
    weight = None if part.weight is None else part.weight[rows]
    return local.reach[rows].astype(np.float64), largest_columns(last.Z)[rows], weight


def member_tails(training: Training, sizes: Array) -> tuple[float, Tails]:
    """(The least distance above 0 of a member, the clusters' tails)."""
    tasks, K = training.tasks, training.mapper.model.C.shape[0]
    limit = max(MEMBERS, MEMBERS_A_CLUSTER * K)
    counts = np.ceil(limit * sizes / sizes.sum()).astype(int)
    arguments = [
        (training.parts[p], training.local[p], training.rounds[p], int(counts[p])) for p in range(len(training.parts))
    ]
    found = tasks.gather(tasks.each("members", member_distances, arguments))
    distances, labels = (np.concatenate([each[i] for each in found]) for i in (0, 1))
    weights = [np.ones(each[0].size) if each[2] is None else each[2] for each in found]
    least = float(distances.min(initial=np.inf, where=distances > 0))
    least = least if np.isfinite(least) else 1.0
    weight = None if all(each[2] is None for each in found) else np.concatenate(weights)
    return least, fit_tails(np.log(np.maximum(distances, least)), labels, K, weight)


# Densities.


def cluster_mass(part: Part, last: Round) -> Array:
    """Weight of each cluster in a part."""
    return column_sums(last.Z if part.weight is None else scaled_rows(last.Z, part.weight))


def add_density(sums: Any, X: Array, part: Part, last: Round, width: Any, sigma: Any) -> Array:
    """Log of the kernel sums of each cluster at new points, a part more."""
    Z = last.Z.astype(np.float64)
    Z = as_dense(Z if part.weight is None else scaled_rows(Z, part.weight))
    with np.errstate(divide="ignore", invalid="ignore"):
        more = log_cluster_sums(part.points(), Points(X), Z, width if sigma is None else sigma)
        return more if sums is None else np.logaddexp(sums, more)


def mixture_score(sums: Array, total: float) -> Array:
    """Log density of all clusters together."""
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(sums, axis=1) - np.log(total))


def score_source(training: Training, source: Source) -> Any:
    """A lazy array of log densities: exact sums over all training rows, part after part."""
    tasks, mapper = training.tasks, training.mapper
    mass = tasks.gather(tasks.each("mass", cluster_mass, list(zip(training.parts, training.rounds, strict=True))))
    graph: dict[Any, Any] = {}
    rows, _ = near_graph(training, source, 0, graph)
    name = f"lapmodes-scores-{tasks.token}-{tasks.number()}"
    for b, X in enumerate(rows):
        sums = None
        for p, part in enumerate(training.parts):
            own = part, training.rounds[p], training.widths[p], mapper.model.bandwidth
            graph[name + "-sums", b, p] = (add_density, sums, X, *own)
            sums = (name + "-sums", b, p)
        graph[name, b] = (mixture_score, sums, float(np.sum(mass)))
    return lazy_array(graph, name, tuple(source.lengths or (np.nan,) * len(rows)), 0, np.float64, False)
