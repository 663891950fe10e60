"""The graph in parts: each holds the rows of W that are its own, with columns "own, then halo".

The halo of a part are the rows of other parts that its rows have edges to. W is symmetric, so a part knows from its own
rows alone who has which of them in its halo, and in which order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from .. import _native
from .._predict import OUTLIER_NEIGHBORS
from .._progress import Step
from .._records import Array, Graph, Neighbors
from .._rows import row_arrays
from ..graph.affinity import Affinity, directed
from .cluster import Sized, Tasks
from .neighbors import Lists, scale_of
from .parts import Part


@dataclass(frozen=True)
class LocalGraph(Sized):
    """The rows of W and L of one part."""

    inner: Any
    """Edges between own rows: what L has off its diagonal, CSR (n, n)."""
    cross: Any
    """Edges to the halo, CSR (n, h)."""
    diagonal: Array
    degrees: Array
    component: Array
    """Connected component of each row among the own rows."""
    halo: Array
    """The halo's rows by their numbers among the rows of all parts, ascending."""
    bounds: dict[int, tuple[int, int]]
    """Where in the halo the rows of each neighbouring part are."""
    reach: Array
    """Distance of each row's last neighbour that outliers are judged by."""
    scale: Array | None
    """Local scale of each row, for the self-tuning affinity."""
    unit: float = 1.0
    """What the normalised Laplacian is scaled by."""

    @cached_property
    def boundary(self) -> dict[int, Array]:
        """For each neighbouring part the own rows that are in its halo, ascending."""
        by_column = self.cross.tocsc()
        return {
            q: np.unique(by_column.indices[by_column.indptr[a] : by_column.indptr[b]])
            for q, (a, b) in self.bounds.items()
        }

    def graph(self) -> Graph:
        """The own rows as a graph of their own whose diagonal is that of the whole."""
        return Graph(self.inner, self.inner, self.diagonal, self.degrees, self.component)


@dataclass(frozen=True)
class Rule:
    """How weights follow from the lists, resolved for all parts."""

    kind: Any
    n_neighbors: int
    width: float
    average: bool


@dataclass(frozen=True)
class Directed(Sized):
    """Weights from the own rows to their neighbours, and the entries that other parts must know of."""

    own: Any
    """CSR (n, n)."""
    other: Any
    """CSR (n, f), columns by `ids`."""
    ids: Array
    sent: dict[int, Any]
    """For each part CSR (its rows, own rows): the weights towards its rows."""


def weigh(
    lists: Lists, scale: Array, scales: list[Any], homes: list[int], own: int, starts: Array, rule: Rule
) -> Directed:
    """The weights of the edges that the own rows have chosen."""
    first, n = int(starts[own]), lists.ids.shape[0]
    outside = (lists.ids < first) | (lists.ids >= first + n)
    ids = np.unique(lists.ids[outside])
    columns = np.where(outside, n + np.searchsorted(ids, lists.ids), lists.ids - first).astype(np.int32)
    every = scale
    if rule.kind == "self-tuning":
        bounds = np.searchsorted(ids, starts)
        others = [scales[i][ids[bounds[q] : bounds[q + 1]] - starts[q]] for i, q in enumerate(homes)]
        every = np.concatenate([scale, *others])
    affinity = Affinity(rule.kind, rule.n_neighbors, rule.width, every if rule.kind == "self-tuning" else None)
    indices, weights = affinity.weigh(Neighbors(columns, lists.distances), 1)
    A = directed(np.ascontiguousarray(indices), np.ascontiguousarray(weights), n + ids.size)
    A.eliminate_zeros()
    other = csr_array(A[:, n:])
    sent = {}
    by_column = other.tocsc()
    for q in homes:
        a, b = np.searchsorted(ids, [starts[q], starts[q + 1]])
        piece = by_column[:, a:b].tocoo()
        if piece.nnz:
            rows = (ids[a:b][piece.col] - starts[q]).astype(np.int32)
            shape = int(starts[q + 1] - starts[q]), n
            sent[q] = coo_array((piece.data, (rows, piece.row.astype(np.int32))), shape=shape).tocsr()
    return Directed(csr_array(A[:, :n]), other, ids, sent)


def sent_to(chosen: Directed) -> list[int]:
    """The parts that must know of some edges."""
    return list(chosen.sent)


def edges_for(chosen: Directed, part: int) -> Any:
    """The edges towards one part."""
    return chosen.sent[part]


def join_edges(
    chosen: Directed,
    lists: Lists,
    scale: Any,
    homes: list[int],
    edges: list[Any],
    starts: Array,
    own: int,
    average: bool,
) -> LocalGraph:
    """The symmetric rows of W: the larger one of both directions, or their mean."""
    n = chosen.own.shape[0]
    got = [np.unique(piece.indices) + starts[q] for q, piece in zip(homes, edges, strict=True)]
    ids = np.unique(np.concatenate([chosen.ids, *got])).astype(chosen.ids.dtype)
    mine = chosen.other.tocoo()
    place = np.searchsorted(ids, chosen.ids)
    out = csr_array((mine.data, (mine.row, place[mine.col])), shape=(n, ids.size))
    parts = [piece.tocoo() for piece in edges]
    rows = np.concatenate([np.empty(0, dtype=np.int32), *(piece.row for piece in parts)])
    columns = [np.searchsorted(ids, piece.col + starts[q]) for q, piece in zip(homes, parts, strict=True)]
    columns = np.concatenate([np.empty(0, dtype=np.int64), *columns])  # type: ignore[assignment]
    data = np.concatenate([np.empty(0, dtype=out.dtype), *(piece.data for piece in parts)])
    back = csr_array((data, (rows, columns)), shape=(n, ids.size))
    inner = _both_ways(chosen.own, csr_array(chosen.own.T), average)
    cross = _both_ways(out, back, average)
    used = np.unique(cross.indices)
    cross = csr_array(cross[:, used])
    return from_rows(inner, cross, ids[used], starts, lists, scale)


def _both_ways(there: Any, back: Any, average: bool) -> Any:
    W = csr_array((there + back) * there.dtype.type(0.5) if average else there.maximum(back))
    W.eliminate_zeros()
    W.sort_indices()
    return W.copy()


def from_rows(inner: Any, cross: Any, halo: Array, starts: Array, lists: Lists, scale: Any) -> LocalGraph:
    """The record of rows of W whose columns are own rows and halo."""
    reach = lists.distances[:, min(OUTLIER_NEIGHBORS, lists.distances.shape[1]) - 1].copy()
    cuts = np.searchsorted(halo, starts)
    bounds = {q: (int(cuts[q]), int(cuts[q + 1])) for q in np.flatnonzero(np.diff(cuts)).tolist()}
    degrees = np.asarray(inner.sum(axis=1) + cross.sum(axis=1), dtype=inner.dtype)
    component = np.empty(inner.shape[0], dtype=np.int32)
    indptr, indices, _ = row_arrays(inner)
    _native.components(indptr, indices, component)
    return LocalGraph(inner, cross, degrees, degrees, component, halo, bounds, reach, scale)


def given_rows(rows: Any, lists: Lists, own: int, starts: Array) -> LocalGraph:
    """The rows of one part of a graph that was given, columns by the numbers among the rows of all parts."""
    first, n = int(starts[own]), rows.shape[0]
    halo = np.unique(rows.indices[(rows.indices < first) | (rows.indices >= first + n)])
    inner, cross = csr_array(rows[:, first : first + n]), csr_array(rows[:, halo])
    for each in (inner, cross):
        each.sort_indices()
    return from_rows(inner, cross, halo, starts, lists, None)


def with_weights(
    local: LocalGraph, own: Array | None, others: list[Any], homes: list[int], starts: Array
) -> LocalGraph:
    """Edges times the root of the sample weights at both ends."""
    root, at_halo = _at_both_ends(local, own, others, homes, starts, np.sqrt, 1.0)
    inner, cross = _scaled(local.inner, root, root), _scaled(local.cross, root, at_halo)
    degrees = np.asarray(inner.sum(axis=1) + cross.sum(axis=1), dtype=inner.dtype)
    return replace(local, inner=inner, cross=cross, diagonal=degrees, degrees=degrees)


def normalized(local: LocalGraph, others: list[Any], homes: list[int], starts: Array, unit: float) -> LocalGraph:
    """The same for the normalised Laplacian: D^-1/2 W D^-1/2, times the mean weight of a row."""
    root, at_halo = _at_both_ends(local, local.degrees, others, homes, starts, _inverse_root, 0.0)
    kind = local.inner.dtype.type
    inner, cross = _scaled(local.inner, root * kind(unit), root), _scaled(local.cross, root * kind(unit), at_halo)
    return replace(local, inner=inner, cross=cross, diagonal=(local.degrees > 0) * kind(unit), unit=unit)


def _inverse_root(values: Array) -> Array:
    found = np.zeros_like(values)
    np.divide(1, np.sqrt(values), out=found, where=values > 0)
    return found


def _at_both_ends(
    local: LocalGraph, own: Any, others: list[Any], homes: list[int], starts: Array, rule: Any, missing: float
) -> tuple[Array, Array]:
    """A number for each own row and each row of the halo."""
    n, kind = local.inner.shape[0], local.inner.dtype
    halo = np.full(local.halo.size, missing, dtype=kind)
    for q, values in zip(homes, others, strict=True):
        if values is not None and q in local.bounds:
            a, b = local.bounds[q]
            halo[a:b] = rule(values[local.halo[a:b] - starts[q]])
    return (np.ones(n, dtype=kind) if own is None else rule(own).astype(kind)), halo


def _scaled(W: Any, left: Array, right: Array) -> Any:
    data = W.data * np.repeat(left, np.diff(W.indptr)) * right[W.indices]
    return csr_array((data, W.indices, W.indptr), shape=W.shape)


def degrees_of(local: LocalGraph) -> Array:
    """The degrees alone."""
    return local.degrees


def weight_of(part: Part) -> Any:
    """The sample weights alone."""
    return part.weight


@dataclass(frozen=True)
class GraphFacts:
    """What the driver knows of a part's graph."""

    neighbors: list[int]
    halo: int
    edges: int
    diagonal: float
    """Sum of the diagonal of L."""
    n_components: int


def graph_facts(local: LocalGraph) -> GraphFacts:
    """A look at a part's graph."""
    count = int(local.component.max()) + 1 if local.component.size else 0
    total = float(local.diagonal.sum(dtype=np.float64))
    edges = local.inner.nnz + local.cross.nnz
    return GraphFacts(list(local.bounds), local.halo.size, edges, total, count)


def component_of(local: LocalGraph) -> Array:
    """The components alone."""
    return local.component


def component_links(
    local: LocalGraph, others: list[Array], homes: list[int], own: int, starts: Array, offsets: Array
) -> Array:
    """Pairs of components of different parts that have an edge, (m, 2), numbered through all parts."""
    at_halo = np.zeros(local.halo.size, dtype=np.int64)
    for q, component in zip(homes, others, strict=True):
        if q in local.bounds:
            a, b = local.bounds[q]
            at_halo[a:b] = offsets[q] + component[local.halo[a:b] - starts[q]]
    rows = np.repeat(np.arange(local.cross.shape[0]), np.diff(local.cross.indptr))
    pairs = np.column_stack([offsets[own] + local.component[rows], at_halo[local.cross.indices]])
    return np.unique(pairs, axis=0)


@dataclass(frozen=True)
class PartedGraph:
    """The graph of all parts: futures of the local graphs, and what is known of the whole."""

    local: list[Any]
    facts: list[GraphFacts]
    starts: Array
    component: list[Array]
    """For each part the connected component, among all, of each of its own components."""
    bandwidth: Any
    """One width for all points, or futures of those of each part."""
    widths: list[Any] | None = None

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return max(int(each.max()) + 1 for each in self.component if each.size)

    @property
    def mean_diagonal(self) -> float:
        """Mean of the diagonal of L."""
        return sum(each.diagonal for each in self.facts) / float(self.starts[-1])

    @property
    def halo_rows(self) -> int:
        """Rows of all halos."""
        return sum(each.halo for each in self.facts)


def edges_of(
    tasks: Tasks, lists: list[Any], widths: list[Any], homes: list[list[int]], starts: Array, rule: Rule, step: Step
) -> list[Any]:
    """Weigh the edges and send each to the part of its other end: futures of the local graphs."""
    P = len(lists)
    scales = tasks.each("scale", scale_of, [(each,) for each in widths])
    weighed = tasks.each(
        "weigh",
        weigh,
        [(lists[p], scales[p], [scales[q] for q in homes[p]], homes[p], p, starts, rule) for p in range(P)],
    )
    sent = tasks.gather(tasks.each("sent", sent_to, [(each,) for each in weighed]))
    graph: dict[Any, Any] = {
        tasks.key("edges", p, q): (edges_for, weighed[p], q) for p, some in enumerate(sent) for q in some
    }
    kept = [scales[p] if rule.kind == "self-tuning" else None for p in range(P)]
    for p in range(P):
        senders = [q for q in range(P) if p in sent[q]]
        edges = [tasks.key("edges", q, p) for q in senders]
        graph[tasks.key("graph", p)] = (
            join_edges,
            weighed[p],
            lists[p],
            kept[p],
            senders,
            edges,
            starts,
            p,
            rule.average,
        )
    local = list(tasks.run(graph, [tasks.key("graph", p) for p in range(P)]).values())
    tasks.watch(local, step)
    return local


def finish_graph(
    tasks: Tasks, parts: list[Any], local: list[Any], starts: Array, weighted: bool, laplacian: str, unit: float
) -> list[Any]:
    """Sample weights and the normalised Laplacian, which need a number of each row of the halo."""
    homes = [each.neighbors for each in tasks.gather(tasks.each("facts", graph_facts, [(each,) for each in local]))]
    if weighted:
        weights = tasks.each("weight", weight_of, [(part,) for part in parts])
        arguments = [
            (each, weights[p], [weights[q] for q in homes[p]], homes[p], starts) for p, each in enumerate(local)
        ]
        local = tasks.each("weighted", with_weights, arguments)
    if laplacian == "normalized":
        degrees = tasks.each("degrees", degrees_of, [(each,) for each in local])
        others = [([degrees[q] for q in homes[p]], homes[p], starts, unit) for p in range(len(local))]
        local = tasks.each("normalized", normalized, [(each, *others[p]) for p, each in enumerate(local)])
    return local


def join_parts(tasks: Tasks, local: list[Any], starts: Array, bandwidth: Any, widths: list[Any] | None) -> PartedGraph:
    """Find the connected components of the whole graph from those of the parts."""
    facts = tasks.gather(tasks.each("facts-of", graph_facts, [(each,) for each in local]))
    offsets = np.concatenate([[0], np.cumsum([each.n_components for each in facts])])
    components = tasks.each("component", component_of, [(each,) for each in local])
    arguments = [
        (local[p], [components[q] for q in each.neighbors], each.neighbors, p, starts, offsets)
        for p, each in enumerate(facts)
    ]
    links = np.concatenate(tasks.gather(tasks.each("links", component_links, arguments)))
    n = int(offsets[-1])
    A = coo_array((np.ones(len(links), dtype=np.int8), (links[:, 0], links[:, 1])), shape=(n, n))
    found = connected_components(A, directed=False)[1].astype(np.int32)
    return PartedGraph(local, facts, starts, np.split(found, offsets[1:-1]), bandwidth, widths)


def split_graph(tasks: Tasks, parts: list[Any], lists: list[Any], starts: Array, W: Any) -> list[Any]:
    """A graph that was given, by parts."""
    numbers = np.concatenate(tasks.gather(tasks.each("numbers", row_numbers, [(part,) for part in parts])))
    place = np.empty(numbers.size, dtype=np.int64)
    place[numbers] = np.arange(numbers.size)
    rows = csr_array(W[numbers])
    rows = csr_array((rows.data, place[rows.indices], rows.indptr), shape=rows.shape)
    rows.sort_indices()
    pieces = [rows[starts[p] : starts[p + 1]] for p in range(len(parts))]
    return tasks.each("given", given_rows, [(piece, lists[p], p, starts) for p, piece in enumerate(pieces)])


def row_numbers(part: Part) -> Array:
    """The number in the data of each row."""
    return part.row_numbers
