"""Neighbours across parts: each part searches its own rows, then asks those parts that can hold nearer ones.

A row of another cell lies beyond the plane half way between both centres, so a row needs to ask only parts whose margin
is smaller than the distance of its last neighbour so far. In few dimensions all of them are asked, and the search is as
exact as that of one machine. In many dimensions a share of that distance is enough; a sample of rows, whose true
neighbours are known, says which share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from .._fit import resolve_bandwidth
from .._progress import Step, no_step
from .._records import Array, Neighbors
from .._rows import replaced_rows
from ..graph.affinity import edge_scale, local_scale
from ..graph.approximate import Groups, Shortlists, every_pair, search
from ..graph.neighbors import TREE_DIMENSIONS, make_index, search_neighbors
from .cluster import Sized, Tasks, first_of
from .parts import Cells, Part

LOST = 0.003
"""Share of the true neighbours that may be missed because their part is not asked."""
LEAST_SHARE = 0.05
CHECKED_ROWS = 500
BLOCK_ROWS = 2**15
EDGES_LOOKED_AT = 20_000
"""Edges of each part from which the median length of an edge is estimated."""


@dataclass(frozen=True)
class Lists(Sized):
    """The nearest rows of each row, nearest first, by their numbers among the rows of all parts."""

    ids: Array
    distances: Array


@dataclass(frozen=True)
class Ask(Sized):
    """Rows of one part that ask another for neighbours."""

    rows: Array
    X: Array


@dataclass(frozen=True)
class Checked(Sized):
    """Rows on which the search is checked."""

    ids: Array
    X: Array
    reach: Array
    """The distance of the last neighbour in the own part."""


def id_type(n: int) -> Any:
    """The type of numbers below n."""
    return np.int32 if n < 2**31 else np.int64


def own_lists(part: Part, first: int, k: int, total: int) -> Lists:
    """The neighbours in the same part; lists that are not full end with the number -1 at an infinite distance."""
    ids = np.full((part.n, k), -1, dtype=id_type(total))
    distances = np.full((part.n, k), np.inf, dtype=part.X.dtype)
    there = min(k, part.n - 1)
    if there:
        with threadpool_limits(1):
            found = search_neighbors(part.X, make_index(part.X, 1), there)
        ids[:, :there], distances[:, :there] = first + found.indices.astype(ids.dtype), found.distances
    return Lists(ids, distances)


def find_asks(part: Part, lists: Lists, cells: Cells, own: int, share: float) -> dict[int, Ask]:
    """Which rows ask which parts."""
    reach = share * lists.distances[:, -1]
    found: dict[int, list[Array]] = {}
    for start in range(0, part.n, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, part.n))
        asks = cells.margins(part.X[block]) <= reach[block, None]
        asks[:, own] = False
        for q in np.flatnonzero(asks.any(axis=0)).tolist():
            found.setdefault(q, []).append(start + np.flatnonzero(asks[:, q]))
    rows = {q: np.concatenate(some).astype(np.int32) for q, some in sorted(found.items())}
    return {q: Ask(some, part.X[some]) for q, some in rows.items()}


def asked_parts(asks: dict[int, Ask]) -> list[tuple[int, int]]:
    """(Part, number of rows that ask it)."""
    return [(q, ask.rows.size) for q, ask in asks.items()]


def answer_asks(part: Part, first: int, asks: dict[int, Ask], k: int, total: int) -> dict[int, Lists]:
    """The nearest rows of this part for those of others that ask."""
    queries = np.ascontiguousarray(np.concatenate([ask.X for ask in asks.values()]))
    with threadpool_limits(1):
        near = make_index(part.X, 1).query(queries, min(k, part.n))
    cuts = np.cumsum([ask.rows.size for ask in asks.values()])[:-1]
    pieces = zip(np.split(near.indices, cuts), np.split(near.distances, cuts), strict=True)
    kind = id_type(total)
    return {
        p: Lists(first + indices.astype(kind), distances) for p, (indices, distances) in zip(asks, pieces, strict=True)
    }


def merge_answers(lists: Lists, asks: dict[int, Ask], answers: dict[int, Lists]) -> Lists:
    """The nearest of the own and all answered neighbours."""
    ids, distances = lists.ids.copy(), lists.distances.copy()
    k = ids.shape[1]
    for q, answer in answers.items():
        rows = asks[q].rows
        both = np.hstack([ids[rows], answer.ids]), np.hstack([distances[rows], answer.distances])
        order = np.lexsort(both, axis=1)[:, :k]
        ids[rows], distances[rows] = (np.take_along_axis(each, order, axis=1) for each in both)
    return Lists(ids, distances)


def check_rows(part: Part, lists: Lists, first: int, count: int) -> Checked:
    """Some rows of a part, drawn at random."""
    rows = np.sort(np.random.default_rng(first).choice(part.n, min(count, part.n), replace=False))
    return Checked(first + rows, part.X[rows], lists.distances[rows, -1])


def true_neighbors(part: Part, first: int, checked: Checked, k: int) -> Lists:
    """The nearest rows of this part to some rows, by a look at each pair; none is its own."""
    queries, rows = Groups.consecutive(np.ascontiguousarray(checked.X)[:]), Groups.consecutive(part.X)
    found = Shortlists.empty(checked.ids.size, min(k + 1, part.n), part.X.dtype)
    search(queries, rows, every_pair(queries, rows), found, 1, lambda share: None)
    ids = first + found.index.astype(np.int64)
    distances = np.where(ids == checked.ids[:, None], np.inf, np.sqrt(found.sqdist))
    return Lists(ids, distances)


def nearest_of(found: list[Lists], k: int) -> Lists:
    """The k nearest of the lists of several parts for the same rows."""
    both = np.hstack([each.ids for each in found]), np.hstack([each.distances for each in found])
    order = np.lexsort(both, axis=1)[:, :k]
    return Lists(*(np.take_along_axis(each, order, axis=1) for each in both))


def listed(lists: Lists, first: int, ids: Array) -> Array:
    """The lists of some rows."""
    return lists.ids[ids - first]


@dataclass(frozen=True)
class Search:
    """What the search across parts left behind: futures of the lists, and the recall in a sample."""

    lists: list[Any]
    recall: float
    share: float
    asked: float
    """Rows that asked another part, for each row."""


def search_parts(tasks: Tasks, parts: list[Any], starts: Array, cells: Cells, k: int, step: Step = no_step) -> Search:
    """Neighbours of all rows."""
    P, total = len(parts), int(starts[-1])
    own = tasks.each("search", own_lists, [(part, int(starts[p]), k, total) for p, part in enumerate(parts)])
    tasks.watch(own, step)
    exact = cells.centers.shape[1] <= TREE_DIMENSIONS
    check = None if exact else _Check.of(tasks, parts, own, starts, k)
    if P == 1:
        return Search(own, 1.0 if check is None else check.recall(tasks, own, starts), 0.0, 0.0)
    share = 1.0 if check is None else check.share(cells, starts)
    asks = tasks.each("ask", find_asks, [(part, own[p], cells, p, share) for p, part in enumerate(parts)])
    asked = tasks.gather(tasks.each("asked", asked_parts, [(ask,) for ask in asks]))
    pairs = [(p, q) for p, some in enumerate(asked) for q, _ in some]
    graph: dict[Any, Any] = {tasks.key("ask-of", p, q): (first_of, asks[p], q) for p, q in pairs}
    for q in sorted({q for _, q in pairs}):
        incoming = {p: tasks.key("ask-of", p, q) for p, other in pairs if other == q}
        graph[tasks.key("answer", q)] = (
            _answer,
            parts[q],
            int(starts[q]),
            list(incoming),
            list(incoming.values()),
            k,
            total,
        )
    graph |= {tasks.key("answer-to", q, p): (first_of, tasks.key("answer", q), p) for p, q in pairs}
    for p in range(P):
        from_parts = [q for other, q in pairs if other == p]
        keys = [tasks.key("answer-to", q, p) for q in from_parts]
        graph[tasks.key("lists", p)] = (_merge, own[p], asks[p], from_parts, keys)
    merged = list(tasks.run(graph, [tasks.key("lists", p) for p in range(P)]).values())
    tasks.watch(merged, step)
    recall = 1.0 if check is None else check.recall(tasks, merged, starts)
    return Search(merged, recall, share, sum(count for some in asked for _, count in some) / total)


def _answer(part: Part, first: int, numbers: list[int], asks: list[Ask], k: int, total: int) -> dict[int, Lists]:
    return answer_asks(part, first, dict(zip(numbers, asks, strict=True)), k, total)


def _merge(lists: Lists, asks: dict[int, Ask], numbers: list[int], answers: list[Lists]) -> Lists:
    return merge_answers(lists, asks, dict(zip(numbers, answers, strict=True)))


@dataclass(frozen=True)
class _Check:
    """Rows whose true neighbours in all parts are known."""

    checked: list[Checked]
    truth: Array

    @staticmethod
    def of(tasks: Tasks, parts: list[Any], own: list[Any], starts: Array, k: int) -> _Check:
        counts = np.ceil(CHECKED_ROWS * np.diff(starts) / starts[-1]).astype(int)
        arguments = [(part, own[p], int(starts[p]), int(counts[p])) for p, part in enumerate(parts)]
        checked = tasks.gather(tasks.each("check", check_rows, arguments))
        every = Checked(*(np.concatenate([getattr(each, name) for each in checked]) for name in ("ids", "X", "reach")))
        asked = [(part, int(starts[p]), every, k) for p, part in enumerate(parts)]
        truth = nearest_of(tasks.gather(tasks.each("truth", true_neighbors, asked)), k)
        return _Check(checked, truth.ids)

    def share(self, cells: Cells, starts: Array) -> float:
        """How near a part must be, as a share of the own reach, to be asked."""
        X, reach = (np.concatenate([getattr(each, name) for each in self.checked]) for name in ("X", "reach"))
        home = np.searchsorted(starts, self.truth, side="right") - 1
        need = np.take_along_axis(cells.margins(X), home, axis=1) / np.maximum(reach, np.finfo(X.dtype).tiny)[:, None]
        return float(np.clip(1.05 * np.quantile(need, 1 - LOST), LEAST_SHARE, 1.0))

    def recall(self, tasks: Tasks, lists: list[Any], starts: Array) -> float:
        """Share of the true neighbours in the lists."""
        arguments = [(some, int(starts[p]), self.checked[p].ids) for p, some in enumerate(lists)]
        found = np.concatenate(tasks.gather(tasks.each("listed", listed, arguments)))
        return float((found[:, :, None] == self.truth[:, None, :]).any(axis=1).mean())


@dataclass(frozen=True)
class Widths(Sized):
    """Scales and bandwidths of one part's rows."""

    scale: Array
    bandwidth: Any
    """One width for each row where they are entropic, else None."""
    total: float
    edge: float
    """Median length of some edges."""
    neighbors: list[int]
    """The parts that the lists reach into."""


def find_widths(lists: Lists, own: int, starts: Array, n_neighbors: int, entropic: bool) -> Widths:
    """What the weights and the bandwidth depend on."""
    near = Neighbors(lists.ids, lists.distances)
    scale = local_scale(near)
    some = max(1, lists.ids.shape[0] // max(1, EDGES_LOOKED_AT // n_neighbors))
    edge = edge_scale(Neighbors(lists.ids[::some, :n_neighbors], lists.distances[::some, :n_neighbors]))
    width = resolve_bandwidth("entropic", n_neighbors, near, 1) if entropic else None
    homes = np.unique(np.searchsorted(starts, lists.ids[:, :].ravel(), side="right") - 1)
    return Widths(scale, width, float(scale.sum(dtype=np.float64)), edge, [q for q in homes.tolist() if q != own])


def width_facts(widths: Widths) -> tuple[float, float, list[int]]:
    """(Sum of the scales, median edge, neighbouring parts)."""
    return widths.total, widths.edge, widths.neighbors


def scale_of(widths: Widths) -> Array:
    """The scales alone."""
    return widths.scale


def bandwidths_of(widths: Any) -> Array:
    """The rows' own widths alone."""
    return widths.bandwidth


def median_of(values: Array) -> float:
    """The median."""
    return float(np.median(values))


# Components of the graph that no kernel reaches.


def nearest_reached(part: Part, local: Any, component: Array, unreached: Array, X: Array) -> Any:
    """For each unreached component (its number, the least distance from a reached row, which one)."""
    numbers = component[local.component]
    rows = np.flatnonzero(np.isin(numbers, unreached))
    if rows.size == 0:
        return []
    near = make_index(X, 1).query(part.X[rows], 1)
    order = np.lexsort((near.distances[:, 0], numbers[rows]))
    found, first = np.unique(numbers[rows][order], return_index=True)
    at = order[first]
    return list(zip(found.tolist(), near.distances[at, 0].tolist(), near.indices[at, 0].tolist(), strict=True))


def reached_rows(part: Part, local: Any, component: Array, unreached: Array, last: Any, most: int) -> Any:
    """Some rows of reached components and their assignments."""
    rows = np.flatnonzero(~np.isin(component[local.component], unreached))
    rows = rows[:: max(1, -(-rows.size // most))]
    return part.X[rows], csr_array(last.Z[rows])


def with_components(local: Any, component: Array, rows: dict[int, Any], last: Any) -> Any:
    """Some components, whole, with the assignments of a row elsewhere."""
    numbers = component[local.component]
    at = np.isin(numbers, list(rows))
    if not at.any():
        return last
    new = csr_array(vstack([rows[number] for number in numbers[at].tolist()], format="csr"), dtype=last.Z.dtype)
    return replace(last, Z=replaced_rows(last.Z, at, new))
