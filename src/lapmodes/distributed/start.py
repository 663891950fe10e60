"""Where the alternation begins: the single-machine start on a sample, mapped to the rows of all parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from .._fit import Fitted, prepare, solve
from .._n_clusters import choose_n_clusters
from .._predict import Trained, map_chunks
from .._progress import Progress, no_step
from .._records import Array, Points, Start
from .._row_map import RowFinder, RowMap
from .._rows import one_hot
from .._settings import Settings
from .._validation import Given
from ..graph.affinity import Affinity, directed, neighbors_needed
from ..graph.neighbors import make_index
from ..solve.objective import nearest_mode
from ..start import make_start
from .assignments import begin, received
from .cluster import Sized, Tasks
from .graph import LocalGraph, PartedGraph
from .parts import Part
from .sources import Look

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
