"""What the candidates for a start look at: neighbours, spanning trees, several weightings of the graph."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from .. import _native
from .._progress import Step, no_step
from .._records import Array, Graph, Landscape, Neighbors, Tree
from .bandwidth import local_scale
from .laplacian import build_graph
from .neighbors import TREE_DIMENSIONS, NeighborIndex
from .spanning import spanning_tree

FAINT = 1e-6
"""Least weight of an edge of the spanning tree: enough to connect, too little to matter elsewhere."""


SIGNIFICANT = 2.0**36
"""Distances that agree to one in this many are equal: double precision tells more, but not after a rotation."""
ROUGH_POINTS = 20_000
"""Above this, and without a tree to search, separate parts are joined roughly."""
SPARE = 4
"""Neighbours to search for beyond those needed, so that equals at the end of a list are all seen."""
DEEP = 64
"""The same for lists that end among equals, in few dimensions, where that is cheap."""


def settled_neighbors(X: Any, index: NeighborIndex, k: int, step: Step = no_step) -> Neighbors:
    """The k nearest, distances rounded and equals in the order of the rows: the same for scaled and rotated points.

    Single precision is left alone: its last digits are all it has.
    """
    if X.dtype != np.float64:
        return index.query_self(k, step)
    found = index.query_self(k + SPARE, step)
    unit = float(found.distances.mean()) or 1.0  # the grid of rounding scales with the points
    near = _settled(found.indices, unit * rounded(found.distances / unit))
    more = near.distances.shape[1] - k
    if more > 0 and X.shape[1] <= TREE_DIMENSIONS:
        unseen = np.flatnonzero(near.distances[:, -1] == near.distances[:, k - 1])
        if unseen.size:
            wide = index.query(X[unseen], k + DEEP)
            own = wide.indices == unseen[:, None]
            distances = np.where(own, np.inf, unit * rounded(wide.distances / unit))
            wide = _settled(wide.indices, distances)
            near.indices[unseen, :k], near.distances[unseen, :k] = wide.indices[:, :k], wide.distances[:, :k]
    indices, distances = (np.ascontiguousarray(each[:, :k]) for each in (near.indices, near.distances))
    return Neighbors(indices, distances, found.recall)


def _settled(indices: Array, distances: Array) -> Neighbors:
    """Each list by distance, equals by row."""
    indices, distances = indices.copy(), distances.copy()
    tied = np.flatnonzero((distances[:, 1:] <= distances[:, :-1]).any(axis=1))
    order = np.lexsort((indices[tied], distances[tied]), axis=1)
    indices[tied], distances[tied] = (np.take_along_axis(each[tied], order, axis=1) for each in (indices, distances))
    return Neighbors(indices, distances)


def rounded(lengths: Any) -> Any:
    """Lengths to one part in `SIGNIFICANT`."""
    mantissa, exponent = np.frexp(lengths)
    return np.ldexp(np.round(mantissa * SIGNIFICANT) / SIGNIFICANT, exponent)


def survey(X: Any, neighbors: Neighbors, n_neighbors: int, threads: int, only: Graph | None = None) -> Landscape:
    """The landscape of points with their (2 n_neighbors) nearest neighbours.

    With `only`, for many clusters or points, this graph is the one weighting, and separate parts are joined roughly.
    """
    half = max(1, n_neighbors // 2)
    core = neighbors.distances[:, min(max(half - 2, 0), neighbors.distances.shape[1] - 1)]
    rough = only is not None or (X.shape[0] > ROUGH_POINTS and X.shape[1] > TREE_DIMENSIONS)
    make = partial(spanning_tree, X, neighbors, threads, rough=rough)
    if threads == 1:  # in this thread: what one frees the other uses again
        trees = tuple(map(make, (None, core)))
    else:
        with ThreadPoolExecutor(2) as pool:
            trees = tuple(pool.map(make, (None, core)))
    if only is not None:
        return Landscape((only,), neighbors, trees, n_neighbors)
    fair = without_hubs(neighbors, n_neighbors)
    weights = (self_tuned(fair, neighbors), binary(neighbors.first(half)), shared(fair), binary(fair))
    bond = _bond(trees[0], neighbors)
    graphs = tuple(build_graph(csr_array(W.maximum(bond))) for W in weights)
    return Landscape(graphs, neighbors, trees, n_neighbors)


def thinned(X: Any, landscape: Landscape, rows: Any, threads: int) -> Landscape:
    """The landscape of most of the rows: their neighbours are among those already found, or are searched again."""
    if landscape.neighbors is None:
        return given(landscape.graphs[0].affinity[rows][:, rows])
    near = landscape.neighbors
    place = np.full(near.indices.shape[0], -1, dtype=np.int32)
    place[rows] = np.arange(rows.size, dtype=np.int32)
    indices, distances = place[near.indices[rows]], near.distances[rows]
    left = int((indices >= 0).sum(axis=1).min())
    if left < min(landscape.n_neighbors, rows.size - 1):
        near = NeighborIndex(X[rows], threads).query_self(near.indices.shape[1])
        return survey(X[rows], near, landscape.n_neighbors, threads)
    order = np.argsort(indices < 0, axis=1, kind="stable")[:, :left]  # those that are left, nearest first
    indices, distances = (np.take_along_axis(each, order, axis=1) for each in (indices, distances))
    return survey(X[rows], Neighbors(indices, distances), landscape.n_neighbors, threads)


def given(W: Any) -> Landscape:
    """The landscape of a given graph, where there are no distances."""
    return Landscape((build_graph(W.astype(np.float64)),))


def without_hubs(neighbors: Neighbors, k: int) -> Neighbors:
    """The k neighbours that are nearest in units of both points' own scales.

    In many dimensions some points are among the nearest of very many others, and tie clusters together. Distances
    over local scales have few such hubs (Schnitzer, Flexer, Schedl & Widmer 2012).
    """
    scale = local_scale(neighbors).astype(np.float64)
    relative = np.square(neighbors.distances, dtype=np.float64) / (scale[:, None] * scale[neighbors.indices])
    order = np.sort(np.argsort(relative, axis=1, kind="stable")[:, :k], axis=1)
    indices, distances = (np.take_along_axis(each, order, axis=1) for each in (neighbors.indices, neighbors.distances))
    return Neighbors(indices, distances, neighbors.recall)


def self_tuned(near: Neighbors, neighbors: Neighbors) -> Any:
    """W = exp(-d^2 / (s_n s_m)), s the distance to the 7th neighbour (Zelnik-Manor & Perona 2005)."""
    scale = local_scale(neighbors).astype(np.float64)
    d2 = np.square(near.distances, dtype=np.float64)
    return _symmetric(near, np.exp(-d2 / (scale[:, None] * scale[near.indices])))


def binary(near: Neighbors) -> Any:
    """W = 1 between neighbours."""
    return _symmetric(near, np.ones(near.indices.shape))


def shared(near: Neighbors) -> Any:
    """W = the Jaccard index of the two neighbourhoods (each with its own point), between neighbours."""
    n, k = near.indices.shape
    rows = np.repeat(np.arange(n), k + 1)
    columns = np.column_stack([near.indices, np.arange(n)]).ravel()
    A = coo_array((np.ones(rows.size), (rows, columns)), shape=(n, n)).tocsr()
    links = csr_array(A.maximum(A.T))
    links.setdiag(0)
    links.eliminate_zeros()
    common = np.empty(links.nnz)
    around = np.sort(columns.reshape(n, k + 1), axis=1).astype(np.int32)
    _native.shared_neighbors(around, links.indptr.astype(np.int64), links.indices.astype(np.int32), common)
    return csr_array((common / (2 * (k + 1) - common), links.indices, links.indptr), shape=(n, n))


def _symmetric(near: Neighbors, weights: Any) -> Any:
    n, k = near.indices.shape
    A = csr_array((weights.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return csr_array(A.maximum(A.T))


def _bond(tree: Tree, neighbors: Neighbors) -> Any:
    """The spanning tree as a graph: self-tuned weights, none below FAINT."""
    n = neighbors.indices.shape[0]
    scale = local_scale(neighbors).astype(np.float64)
    weight = np.maximum(np.exp(-np.square(tree.length) / (scale[tree.start] * scale[tree.end])), FAINT)
    A = coo_array((weight, (tree.start, tree.end)), shape=(n, n)).tocsr()
    return csr_array(A.maximum(A.T))
