"""Minimum spanning trees: of the neighbour graph, with separate parts joined where they are nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Neighbors, Tree
from .._rows import as_dense
from .neighbors import make_index

BLOCK_ENTRIES = 2**19
SMALL_PART = 256
"""A part with fewer points finds others among as many neighbours of its points."""


def spanning_tree(
    X: Any, neighbors: Neighbors, threads: int, core: Array | None = None, *, rough: bool = False
) -> Tree:
    """A spanning tree of least total length over the neighbour graph; with `core`, no edge is shorter than at its ends.

    The core distances turn lengths into mutual reachability (Campello, Moulavi & Sander 2013). Parts that no neighbours
    link are joined where they are nearest; `rough`: where a search from their medoids finds them near.
    """
    n = neighbors.indices.shape[0]
    start, end, length = neighbors.edges()
    tree, parts = _forest(start, end, _raised(start, end, length, core), n)
    while parts.max() > 0:
        bridges = rough_bridges(X, parts) if rough else _bridges(X, parts, threads)
        # No other edge of the graph can be in its tree: within a part the forest holds the shortest.
        start, end = np.concatenate([tree.start, bridges[0]]), np.concatenate([tree.end, bridges[1]])
        length = np.concatenate([tree.length, _raised(*bridges, core)])
        tree, parts = _forest(start, end, length, n)
    return tree


def _raised(start: Array, end: Array, length: Array, core: Array | None) -> Array:
    return length if core is None else np.maximum(length, np.maximum(core[start], core[end]))


def _forest(start: Array, end: Array, length: Array, n: int) -> tuple[Tree, Array]:
    """Kruskal's algorithm: the tree (a forest while there are parts) and the part of each point."""
    order = stable_order(length)
    start, end = start[order], end[order]
    kept, parts = np.empty(start.size, dtype=bool), np.empty(n, dtype=np.int32)
    _native.spanning_forest(start, end, kept, parts)
    return Tree(start[kept], end[kept], length[order[kept]].astype(np.float64)), parts


def stable_order(values: Array) -> Array:
    """`numpy.argsort(values, kind="stable")` for floating-point numbers, in a fraction of the time."""
    if values.size > np.iinfo(np.int32).max:
        return np.argsort(values, kind="stable")
    order = np.empty(values.size, dtype=np.int32)
    _native.stable_order(np.ascontiguousarray(values), order)
    return order


def _bridges(X: Any, parts: Array, threads: int) -> tuple[Array, Array, Array]:
    """For each part but the largest the shortest edge that leaves it."""
    sizes = np.bincount(parts)
    found = [_from_small_parts(X, parts, sizes, threads)]
    for part in np.flatnonzero(sizes >= SMALL_PART):
        if part != sizes.argmax():
            found.append(_from_large_part(X, parts == part, threads))
    start, end, length = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return start.astype(np.int32), end.astype(np.int32), length.astype(np.float64)


def _from_small_parts(X: Any, parts: Array, sizes: Array, threads: int) -> tuple[Array, Array, Array]:
    rows = np.flatnonzero((sizes < SMALL_PART)[parts] & (parts != sizes.argmax()))
    if rows.size == 0:
        return rows, rows, np.empty(0)
    near = make_index(X, threads).query(X[rows], min(SMALL_PART, X.shape[0]))
    away = parts[near.indices] != parts[rows][:, None]
    first = away.argmax(axis=1)  # fewer points than neighbours are in the part, so there is one
    each = np.arange(rows.size)
    return _shortest(parts[rows], rows, near.indices[each, first], near.distances[each, first].astype(np.float64))


def _from_large_part(X: Any, inside: Array, threads: int) -> tuple[Array, Array, Array]:
    asking, asked = np.flatnonzero(inside), np.flatnonzero(~inside)
    if asking.size > asked.size:
        asking, asked = asked, asking
    near = make_index(X[asked], threads).query(X[asking], 1)
    one = np.zeros(asking.size, dtype=np.intp)
    return _shortest(one, asking, asked[near.indices[:, 0]], near.distances[:, 0].astype(np.float64))


def _shortest(group: Array, start: Array, end: Array, length: Array) -> tuple[Array, Array, Array]:
    """The shortest of the edges of each group."""
    order = np.lexsort((length, group))
    _, first = np.unique(group[order], return_index=True)
    best = order[first]
    return start[best], end[best], length[best]


def rough_bridges(X: Any, parts: Array) -> tuple[Array, Array, Array]:
    """For each part a short edge that leaves it: (start, end, length).

    Each part looks for the nearest medoid of another part, then both ends move to the nearest member of their part.
    Work grows with the number of points times that of parts, not with the square of the points.
    """
    order = np.argsort(parts, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(parts))[:-1])
    medoids = _medoids(X, parts, members)
    nearest, distance = _nearest_medoids(X, parts, medoids)
    starts, ends, lengths = [], [], []
    for own in members:
        start = own[distance[own].argmin()]
        others = members[nearest[start]]
        end = others[_distances(X, others, start).argmin()]
        back = _distances(X, own, end)
        starts.append(own[back.argmin()])
        ends.append(end)
        lengths.append(back.min())
    return np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32), np.array(lengths, dtype=np.float64)


def _medoids(X: Any, parts: Array, members: list[Array]) -> Array:
    """The member of each part that is nearest to its mean."""
    share = (1 / np.bincount(parts))[parts].astype(X.dtype)
    means = as_dense(csr_array((share, (parts, np.arange(parts.size)))) @ X)
    away = np.empty(parts.size)
    for rows in _blocks(parts.size, X.shape[1]):
        away[rows] = np.square(as_dense(X[rows]) - means[parts[rows]]).sum(axis=1)
    return np.array([own[away[own].argmin()] for own in members])


def _nearest_medoids(X: Any, parts: Array, medoids: Array) -> tuple[Array, Array]:
    """For each point the part whose medoid is nearest, its own aside, and the squared distance less its own norm."""
    M = as_dense(X[medoids])
    sqnorm = np.einsum("ij,ij->i", M, M)
    nearest, distance = np.empty(parts.size, dtype=np.int64), np.empty(parts.size)
    for rows in _blocks(parts.size, len(M)):
        d2 = sqnorm - 2 * np.asarray(X[rows] @ M.T)
        each = np.arange(len(d2))
        d2[each, parts[rows]] = np.inf
        nearest[rows] = d2.argmin(axis=1)
        own = as_dense(X[rows])
        distance[rows] = d2[each, nearest[rows]] + np.einsum("ij,ij->i", own, own)
    return nearest, distance


def _distances(X: Any, rows: Array, to: int) -> Array:
    return np.asarray(np.linalg.norm(as_dense(X[rows]) - as_dense(X[[to]]), axis=1))


def _blocks(n: int, width: int) -> list[slice]:
    size = max(1, BLOCK_ENTRIES // width)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
