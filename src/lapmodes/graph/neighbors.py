"""Nearest neighbours behind one signature: a k-d tree, blocks of inner products, cells for many rows, sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from scipy.spatial import cKDTree

from .._progress import Step, no_step
from .._records import Array, Neighbors
from .approximate import CellSearch, Groups, Shortlists, every_pair, search

TREE_DIMENSIONS = 12
"""Up to this dimension a k-d tree beats brute force on ordinary data."""
EXACT_WORK = 4e11
"""Pairs of rows times (dimensions + 64) up to which every pair is looked at: some five seconds on two cores."""
CHUNK_ROWS = 8192
SIGNIFICANT = 2.0**36
"""Distances that agree to one in this many are equal: double precision tells more, but not after a rotation."""
SPARE = 4
"""Neighbours to search for beyond those needed, so that equals at the end of a list are all seen."""
DEEP = 64
"""The same for lists that end among equals, in few dimensions, where that is cheap."""


class NeighborIndex(Protocol):
    """Finds the nearest of the rows X, for rows of X itself or for new points."""

    def query(self, Q: Any, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest rows to each row of Q, all of them where there are fewer."""

    def query_self(self, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest other rows to each row."""


def make_index(X: Any, threads: int) -> NeighborIndex:
    """The index that suits these rows."""
    if issparse(X):
        return SparseIndex(X, threads)
    return TreeIndex(X, threads) if X.shape[1] <= TREE_DIMENSIONS else DenseIndex(X, threads)


def search_neighbors(X: Any, index: NeighborIndex, k: int, step: Step = no_step) -> Neighbors:
    """The k nearest rows of each row, distances rounded and equals in the order of the rows.

    So scaled and rotated points have the same neighbours. Single precision is left alone: its last digits are all it
    has.
    """
    if X.dtype != np.float64:
        return index.query_self(k, step)
    found = index.query_self(k + SPARE, step)
    unit = float(found.distances.mean()) or 1.0  # the grid of rounding scales with the points
    near = _by_distance_and_row(found.indices, found.distances, unit)
    if near.indices.shape[1] > k and X.shape[1] <= TREE_DIMENSIONS:
        unseen = np.flatnonzero(near.distances[:, -1] == near.distances[:, k - 1])
        if unseen.size:
            wide = index.query(X[unseen], k + DEEP)
            distances = np.where(wide.indices == unseen[:, None], np.inf, wide.distances)
            wide = _by_distance_and_row(wide.indices, distances, unit)
            near.indices[unseen, :k], near.distances[unseen, :k] = wide.indices[:, :k], wide.distances[:, :k]
    indices, distances = (np.ascontiguousarray(each[:, :k]) for each in (near.indices, near.distances))
    return Neighbors(indices, distances, found.recall)


def _by_distance_and_row(indices: Array, distances: Array, unit: float) -> Neighbors:
    """Each list by distance, rounded to one part in `SIGNIFICANT` of the unit's grid, and equals by row."""
    mantissa, exponent = np.frexp(distances / unit)
    indices, distances = indices.copy(), unit * np.ldexp(np.round(mantissa * SIGNIFICANT) / SIGNIFICANT, exponent)
    tied = np.flatnonzero((distances[:, 1:] <= distances[:, :-1]).any(axis=1))
    order = np.lexsort((indices[tied], distances[tied]), axis=1)
    indices[tied], distances[tied] = (np.take_along_axis(each[tied], order, axis=1) for each in (indices, distances))
    return Neighbors(indices, distances)


class _ByChunks:
    """Queries chunk by chunk; a row's own neighbours are its k + 1 nearest without itself."""

    _X: Any

    def _chunk(self, Q: Any, k: int) -> tuple[Array, Array]:
        raise NotImplementedError

    def query(self, Q: Any, k: int, step: Step = no_step) -> Neighbors:
        k = min(k, self._X.shape[0])
        indices = np.empty((Q.shape[0], k), dtype=np.int32)
        distances = np.empty((Q.shape[0], k), dtype=Q.dtype)
        for start in range(0, Q.shape[0], CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            distances[rows], indices[rows] = self._chunk(Q[rows], k)
            step(min(CHUNK_ROWS, Q.shape[0] - start))
        return Neighbors(indices, distances)

    def query_self(self, k: int, step: Step = no_step) -> Neighbors:
        k = min(k, self._X.shape[0] - 1)
        found = self.query(self._X, k + 1, step)
        own = found.indices == np.arange(self._X.shape[0], dtype=np.int32)[:, None]
        # Among more than k duplicates a point may not find itself: then its last neighbour goes.
        own[~own.any(axis=1), -1] = True
        shape = (self._X.shape[0], k)
        return Neighbors(found.indices[~own].reshape(shape), found.distances[~own].reshape(shape))


class TreeIndex(_ByChunks):
    """Few dimensions: a k-d tree, whose unbalanced splits keep repeated values of columns from slowing it down."""

    def __init__(self, X: Array, threads: int) -> None:
        self._X, self._threads, self._tree = X, threads, cKDTree(X, balanced_tree=False)

    def _chunk(self, Q: Array, k: int) -> tuple[Array, Array]:
        distances, indices = self._tree.query(Q, k, workers=self._threads)
        return distances.reshape(-1, k), indices.reshape(-1, k)


class SparseIndex(_ByChunks):
    """Sparse rows: scikit-learn's products."""

    def __init__(self, X: Any, threads: int) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._X = X
        self._brute = NearestNeighbors(algorithm="brute", n_jobs=threads).fit(X)

    def _chunk(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, indices = self._brute.kneighbors(Q, k)
        return distances, indices


class DenseIndex:
    """Many dimensions: every pair of rows where that takes seconds, cells where it would take longer."""

    def __init__(self, X: Array, threads: int) -> None:
        self._X, self._threads = np.ascontiguousarray(X), threads
        self._cells: CellSearch | None = None

    def query(self, Q: Any, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest rows to each row of Q."""
        X, k = self._X, min(k, self._X.shape[0])
        Q = np.ascontiguousarray(Q, dtype=X.dtype)[:]  # not X itself, whose rows would pass over themselves
        report = _stepper(step, Q.shape[0])
        if self._is_cheap(Q.shape[0]):
            lists, recall = self._all_pairs(Groups.consecutive(Q), Groups.consecutive(X), k, report), 1.0
        else:
            lists, recall = self._by_cells().query(Q, k, report)
        report(1.0)
        return _found(lists, recall)

    def query_self(self, k: int, step: Step = no_step) -> Neighbors:
        """The k nearest other rows to each row."""
        X, k = self._X, min(k, self._X.shape[0] - 1)
        report = _stepper(step, X.shape[0])
        if self._is_cheap(X.shape[0]):
            rows = Groups.consecutive(X)
            lists, recall = self._all_pairs(rows, rows, k, report), 1.0
        else:
            lists, recall = self._by_cells().query_self(k, report)
        report(1.0)
        return _found(lists, recall)

    def _is_cheap(self, n_queries: int) -> bool:
        return float(n_queries) * self._X.shape[0] * (self._X.shape[1] + 64) <= EXACT_WORK

    def _by_cells(self) -> CellSearch:
        self._cells = self._cells or CellSearch(self._X, self._threads)
        return self._cells

    def _all_pairs(self, queries: Groups, rows: Groups, k: int, report: Callable[[float], object]) -> Shortlists:
        lists = Shortlists.empty(queries.X.shape[0], k, queries.X.dtype)
        search(queries, rows, every_pair(queries, rows), lists, self._threads, report)
        return lists


def _stepper(step: Step, total: int) -> Callable[[float], object]:
    """Turns shares of the work into steps that sum to `total`."""
    done = 0.0
    reported = 0

    def report(share: float) -> None:
        nonlocal done, reported
        done = min(1.0, done + share)
        new = int(done * total) - reported
        if new:
            reported += new
            step(new)

    return report


def _found(lists: Shortlists, recall: float) -> Neighbors:
    """Distances in place of their squares."""
    return Neighbors(lists.index, np.sqrt(lists.sqdist, out=lists.sqdist), recall)
