"""Where the alternation begins: the single-machine start on a sample, mapped to the rows of all parts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from .._estimator import LaplacianKModes as SingleMachine
from .._fit import Fitted, prepare, solve
from .._n_clusters import choose_n_clusters
from .._predict import Trained, map_chunks
from .._progress import Progress, no_step
from .._records import Array, Points, Solution, Start
from .._row_map import RowFinder, RowMap
from .._rows import as_rows, one_hot
from .._settings import Settings
from .._validation import Given
from ..graph.affinity import Affinity, directed, neighbors_needed
from ..graph.neighbors import make_index
from ..solve.objective import nearest_mode
from ..start import make_start
from .assignments import begin, received
from .cluster import Sized, Tasks
from .graph import LocalGraph, PartedGraph
from .parts import Cells, Part
from .sources import Look

CELLS_A_PART = 12
"""Cells that are packed into one part, on average: enough to make parts even and to follow clusters."""
MOST_CELLS = 4096
UNEVEN = 1.2
"""A part may have so many times the usual number of rows."""
CELL_SAMPLE = 20_000
"""Rows of the sample on which cells are found and their borders looked at."""
BORDER_NEIGHBORS = 5
SAMPLE_ROWS = 100_000
SAMPLE_BYTES = 2**28
"""The sample has at most so many rows and takes at most so much memory."""


@dataclass(frozen=True)
class SampleStart(Sized):
    """A start on a sample, and what maps it to other points."""

    X: Array
    C: Array
    Z: Any
    """CSR: the votes, or assignments of the sample."""
    has_prior: bool
    by_modes: bool
    """Whether points start with the nearest mode: the start says nothing but modes."""
    affinity: Affinity | None
    n_neighbors: int
    trained: Trained | None = None
    """The fitted sample, where its assignments are mapped."""


def sample_size(n_features: int, itemsize: int) -> int:
    """Rows of the sample."""
    return max(2, min(SAMPLE_ROWS, SAMPLE_BYTES // (n_features * itemsize)))


def start_on_sample(look: Look, settings: Settings, seed: int, fit: bool) -> SampleStart:
    """The start that one machine would make of these rows; with `fit` the whole fit."""
    weight = None if look.weight is None else (look.weight / look.weight.mean()).astype(look.X.dtype)
    order = np.lexsort((look.row, look.block))  # as the rows come, so that a sample of all rows is the data
    X, weight = np.ascontiguousarray(look.X[order]), None if weight is None else weight[order]
    given = Given(sample_weight=weight)
    with threadpool_limits(1):
        rows = RowMap.of(X, given, 1)
        points = rows.take(X)
        if points.shape[0] < max(settings.n_clusters, 2):
            rows = RowMap.of(X, given, 1, merge=False)
            points = rows.take(X)
        given = rows.take_given(given, X.dtype)
        if settings.chosen_by_data:
            settings = replace(settings, n_clusters=choose_n_clusters(points, given, settings, Progress()))
        prepared = prepare(points, given, settings, Progress())
        rng = np.random.RandomState(seed)
        if fit:
            return _fitted(list(solve(prepared, settings, rng, Progress()))[-1], rows, settings)
        K = settings.n_clusters
        start = make_start(
            prepared.problem, prepared.inputs, settings.init, K, rng, sparse=settings.sparse, step=no_step
        )
    return _sample_start(points, start, settings, prepared.affinity)


def _sample_start(points: Array, start: Start, settings: Settings, affinity: Affinity | None) -> SampleStart:
    by_modes = start.prior is None and settings.init != "spectral"
    reach = neighbors_needed(affinity.kind if affinity else None, settings.n_neighbors)
    return SampleStart(points, start.C, csr_array(start.Z), start.prior is not None, by_modes, affinity, reach)


def _fitted(found: Fitted, rows: RowMap, settings: Settings) -> SampleStart:
    """The fitted sample as a start; its prior is mapped, if it has one."""
    prior, solution = found.problem.prior, found.solution
    trained = Trained(replace(found, index=None), rows, settings.n_neighbors, settings.metric, settings.laplacian)
    votes = solution.Z if prior is None else prior
    start = Start(solution.C, votes, prior)
    return replace(_sample_start(found.problem.points.X, start, settings, found.affinity), trained=trained)


def modes_of(start: SampleStart) -> tuple[Array, bool]:
    """(The modes, whether there is a prior)."""
    return start.C, start.has_prior


def map_votes(part: Part, start: SampleStart) -> Any:
    """The mean of the votes of the nearest rows of the sample, CSR; rows of the sample keep their own."""
    K = start.C.shape[0]
    if start.affinity is None or start.by_modes:
        return one_hot(nearest_mode(part.points(), start.C), K, part.X.dtype, sparse=True)
    with threadpool_limits(1):
        near = make_index(start.X, 1).query(part.X, max(start.n_neighbors, 1))
    indices, weights = start.affinity.weigh(near, 1)
    total = weights.sum(axis=1, keepdims=True)
    far = total[:, 0] <= np.finfo(weights.dtype).tiny
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=~far[:, None])
    weights[far, 0] = 1
    votes = csr_array(directed(np.ascontiguousarray(indices), weights, start.X.shape[0]) @ start.Z.astype(part.X.dtype))
    votes.data /= np.repeat(np.asarray(votes.sum(axis=1)), np.diff(votes.indptr))
    found, rows = RowFinder(start.X, 1).find(part.X, 1)
    if found.size:
        own = csr_array((np.ones(found.size), (found, rows)), shape=(part.n, start.X.shape[0])) @ start.Z
        keep = np.ones(part.n, dtype=part.X.dtype)
        keep[found] = 0
        votes.data *= np.repeat(keep, np.diff(votes.indptr))
        votes = csr_array(votes + own.astype(part.X.dtype))
    votes.eliminate_zeros()
    return votes


def map_assignments(part: Part, start: SampleStart) -> Any:
    """The sample's assignments by the out-of-sample mapping, CSR."""
    assert start.trained is not None
    pieces = [csr_array(Z) for _, Z in map_chunks(start.trained, part.X, None, 1)]
    return csr_array(vstack(pieces, format="csr"), dtype=part.X.dtype)


def nearest_start(part: Part, C: Array) -> Any:
    """Each row with the nearest of given modes, CSR."""
    return one_hot(nearest_mode(Points(part.X), C), C.shape[0], part.X.dtype, sparse=True)


def given_start(part: Part) -> Any:
    """The given assignments of a part's rows."""
    Z = csr_array(part.start, dtype=part.X.dtype)
    Z.eliminate_zeros()
    Z.sort_indices()
    return Z


def densest_rows(part: Part, local: LocalGraph, Z: Any, halo: Any) -> tuple[Array, Array]:
    """For each cluster its row with most weight to others of it: (those weights, the rows' points)."""
    inside = csr_array(Z.multiply(local.inner @ Z + local.cross @ halo)).tocsc()
    shares = csr_array(Z).tocsc()
    best, rows = np.zeros(Z.shape[1]), np.zeros(Z.shape[1], dtype=np.intp)
    for k in range(Z.shape[1]):
        for matrix, lift in ((inside, 2.0), (shares, 0.0)):
            column = slice(matrix.indptr[k], matrix.indptr[k + 1])
            if matrix.data[column].size and matrix.data[column].max() > 0:
                at = int(matrix.data[column].argmax())
                best[k], rows[k] = matrix.data[column][at] + lift, matrix.indices[column][at]
                break
    return best, part.X[rows]


@dataclass(frozen=True)
class Begin:
    """Where a run begins: modes, futures of the first assignments and of the prior."""

    C: Array
    assignments: list[Any]
    priors: list[Any]


def begin_from_sample(
    tasks: Tasks, parts: list[Any], start: Any, dtype: Any, prior_weight: float, exact: bool
) -> Begin:
    """A start on the sample, mapped to all rows."""
    C, has_prior = tasks.gather(tasks.each("modes-of", modes_of, [(start,)]))[0]
    votes = tasks.each("votes", map_votes, [(part, start) for part in parts])
    priors = votes if has_prior and prior_weight > 0 else [None] * len(votes)
    Z = votes if exact else tasks.each("mapped", map_assignments, [(part, start) for part in parts])
    return Begin(np.ascontiguousarray(C, dtype=dtype), Z, priors)


def begin_as_given(tasks: Tasks, parts: list[Any], graph: PartedGraph, init: Any, dtype: Any) -> Begin:
    """Given modes, or given assignments with or without modes."""
    none = [None] * len(parts)
    modes = init[0] if isinstance(init, tuple) else init
    C = None if modes is None else np.ascontiguousarray(modes, dtype=dtype)
    if not isinstance(init, tuple):
        assert C is not None
        return Begin(C, tasks.each("nearest", nearest_start, [(part, C) for part in parts]), none)
    Z = tasks.each("given-start", given_start, [(part,) for part in parts])
    if C is None:
        C = densest_modes(tasks, parts, graph, Z)
    return Begin(np.ascontiguousarray(C, dtype=dtype), Z, none)


def densest_modes(tasks: Tasks, parts: list[Any], graph: PartedGraph, Z: list[Any]) -> Array:
    """For each cluster its row with most weight to others of the cluster."""
    P = len(Z)
    rounds = tasks.each("begin-modes", begin, [(graph.local[p], Z[p]) for p in range(P)])
    neighbors = [each.neighbors for each in graph.facts]
    halos = tasks.each(
        "halo",
        halo_of,
        [(graph.local[p], rounds[p], neighbors[p], [rounds[q] for q in neighbors[p]], p) for p in range(P)],
    )
    arguments = [(parts[p], graph.local[p], Z[p], halos[p]) for p in range(P)]
    found = tasks.gather(tasks.each("densest", densest_rows, arguments))
    weight, points = np.stack([each[0] for each in found]), np.stack([each[1] for each in found])
    return points[weight.argmax(axis=0), np.arange(weight.shape[1])]


def halo_of(local: Any, own: Any, senders: list[int], others: list[Any], number: int) -> Any:
    """The halo's assignments, all of them from the other parts' first rounds."""
    return received(local, own.halo, senders, [each.out.get(number) for each in others])


# A sample of a fitted model, for one machine: what a report shows of many rows.


def take_rows(part: Part, last: Any, prior: Any, numbers: Array) -> tuple[Array, Array, Any, Any, Any]:
    """(Places among the numbers, points, assignments, prior, weights) of those rows that a part has."""
    there = np.flatnonzero(np.isin(numbers, part.numbers))
    samples = np.searchsorted(part.numbers, numbers[there])
    rows = samples if part.rows.row_of is None else part.rows.row_of[samples]
    weight = None if part.weight is None else part.weight[rows]
    return there, part.X[rows], csr_array(last.Z[rows]), None if prior is None else csr_array(prior[rows]), weight


def sample_problem(found: list[Any], settings: Settings) -> tuple[Array, Any, Any, Any]:
    """(Order of the rows, the problem of these rows alone, their assignments, their affinity)."""
    order = np.argsort(np.concatenate([each[0] for each in found]), kind="stable")
    X = np.ascontiguousarray(np.concatenate([each[1] for each in found])[order])
    Z = as_rows(csr_array(vstack([each[2] for each in found], format="csr"))[order], X.dtype, sparse=settings.sparse)
    prior = None
    if found[0][3] is not None:
        prior = csr_array(vstack([each[3] for each in found], format="csr"))[order]
        prior = as_rows(prior, X.dtype, sparse=settings.sparse)
    with threadpool_limits(1):
        prepared = prepare(X, Given(), replace(settings, consensus=False), Progress())
    return order, replace(prepared.problem, prior=prior), Z, prepared.affinity


def gather_sample(fitted: Any, numbers: Array, model: SingleMachine, settings: Settings) -> SingleMachine:
    """A model of some rows for one machine, as they are in the fit of all; neighbours are those among them."""
    problem, solution, tasks = fitted.problem, fitted.solution, fitted.problem.tasks
    own = zip(problem.parts, solution.rounds, fitted.priors, strict=True)
    found = tasks.gather(tasks.each("take", take_rows, [(*each, numbers) for each in own]))
    _, posed, Z, affinity = sample_problem(found, settings)
    nowhere = np.zeros(Z.shape[0], dtype=bool)
    rest = solution.objective, solution.gap, solution.history, nowhere, solution.status
    one = Fitted(posed, Solution(solution.C, Z, *rest), affinity, None, problem.recall)
    model.n_features_in_ = solution.C.shape[1]
    rows = RowMap(numbers.size)
    model._store(Trained(one, rows, settings.n_neighbors, settings.metric, settings.laplacian))
    return model


# Cells.


def make_cells(sample: Array, n_parts: int, seed: int) -> Cells:
    """K-means on a sample, and its cells packed into parts that are even and have few neighbours elsewhere."""
    from sklearn.cluster import KMeans

    n_cells = min(n_parts * CELLS_A_PART, MOST_CELLS, sample.shape[0]) if n_parts > 1 else 1
    some = np.random.default_rng(seed).permutation(sample.shape[0])[: max(CELL_SAMPLE, 8 * n_cells)]
    X = np.ascontiguousarray(sample[np.sort(some)])
    if n_cells == 1:
        return Cells(np.ascontiguousarray(X[:1]), np.zeros(1, dtype=np.int32))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal rows leave centres out, and five steps do not converge
        found = KMeans(n_cells, init="random", n_init=1, max_iter=5, random_state=seed, tol=0).fit(X)
    centers = np.ascontiguousarray(found.cluster_centers_, dtype=X.dtype)
    cell = nearest_mode(Points(X), centers)
    used, cell = np.unique(cell, return_inverse=True)  # each cell that is left holds a row of the data
    near = make_index(X, 1).query_self(BORDER_NEIGHBORS).indices
    links = np.zeros((used.size, used.size))
    np.add.at(links, (np.repeat(cell, near.shape[1]), cell[near].ravel()), 1.0)
    part = pack_cells(links + links.T, np.bincount(cell).astype(np.float64), n_parts)
    return Cells(np.ascontiguousarray(centers[used]), part)


def pack_cells(links: Array, size: Array, n_parts: int) -> Array:
    """The part of each cell: those with most links for their size are joined while the parts stay even.

    What cannot be joined any more is packed with the smallest.
    """
    n = size.size
    limit, size = UNEVEN * size.sum() / n_parts, size.copy()
    links = links.copy()
    np.fill_diagonal(links, 0)
    part, alive = np.arange(n), np.ones(n, dtype=bool)
    score = _scores(links, size, limit)
    for _ in range(n - min(n_parts, n)):
        one, two = np.unravel_index(int(score.argmax()), score.shape)
        if score[one, two] <= 0:
            left = np.flatnonzero(alive)
            one, two = left[np.argsort(size[left], kind="stable")[:2]]
        links[one] += links[two]
        links[:, one] += links[:, two]
        links[one, one] = 0
        size[one] += size[two]
        part[part == two], alive[two] = one, False
        links[two], links[:, two] = 0, 0
        row = np.where(alive, _scores(links[one], size, limit, size[one]), -1.0)
        row[one] = -1.0
        score[one], score[:, one], score[two], score[:, two] = row, row, -1.0, -1.0
    return np.unique(part, return_inverse=True)[1].astype(np.int32)


def _scores(links: Array, size: Array, limit: float, own: Any = None) -> Array:
    """Links for the size of the smaller one of two; -1 where both together are too large."""
    own = size[:, None] if own is None else own
    found = np.where(own + size > limit, -1.0, links / np.maximum(np.minimum(own, size), 1.0))
    if found.ndim == 2:
        np.fill_diagonal(found, -1.0)
    return found


def cells_of_sample(look: Look, n_parts: int, seed: int, dtype: Any) -> Cells:
    """The cells, from the sample."""
    return make_cells(look.X.astype(dtype, copy=False), n_parts, seed)
