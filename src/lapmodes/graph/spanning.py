"""Minimum spanning trees: of the neighbour graph, with separate parts joined where they are nearest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._order import stable_order
from .._records import Array, Neighbors, Tree
from .bridges import rough_bridges
from .neighbors import NeighborIndex

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
    near = NeighborIndex(X, threads).query(X[rows], min(SMALL_PART, X.shape[0]))
    away = parts[near.indices] != parts[rows][:, None]
    first = away.argmax(axis=1)  # fewer points than neighbours are in the part, so there is one
    each = np.arange(rows.size)
    return _shortest(parts[rows], rows, near.indices[each, first], near.distances[each, first].astype(np.float64))


def _from_large_part(X: Any, inside: Array, threads: int) -> tuple[Array, Array, Array]:
    asking, asked = np.flatnonzero(inside), np.flatnonzero(~inside)
    if asking.size > asked.size:
        asking, asked = asked, asking
    near = NeighborIndex(X[asked], threads).query(X[asking], 1)
    one = np.zeros(asking.size, dtype=np.intp)
    return _shortest(one, asking, asked[near.indices[:, 0]], near.distances[:, 0].astype(np.float64))


def _shortest(group: Array, start: Array, end: Array, length: Array) -> tuple[Array, Array, Array]:
    """The shortest of the edges of each group."""
    order = np.lexsort((length, group))
    _, first = np.unique(group[order], return_index=True)
    best = order[first]
    return start[best], end[best], length[best]
