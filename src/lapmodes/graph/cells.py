"""Approximate nearest neighbours of many dense rows: nearby cells of a few partitions, then neighbours of neighbours.

The rows are cut into cells of about 1000 by two levels of K-means. Rows are compared with those of their own cell and
of the nearest few, and each list is then improved by the neighbours of its neighbours. Another partition, with its
borders elsewhere, follows until a random sample of rows, compared with all others, shows the recall asked for. Work
grows linearly with the number of rows. The result depends on the seed, and on rounding in scikit-learn's K-means.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .. import _native
from .._records import Array
from .groups import Groups, Shortlists, every_pair, search

CELL_ROWS = 1000
SAMPLE_PER_CELL = 50
"""Rows on which the centre of each cell is found."""
PROBES = 8
"""Cells visited from each cell in one partition, its own included."""
MAX_PARTITIONS = 8
CHECKED_ROWS = 500
RECALL = 0.985
CHUNK_ROWS = 65536
LIST_MARGIN = 2
"""Neighbours kept beyond those asked for while lists are improved."""


@dataclass(frozen=True)
class Cells:
    """Groups of rows around centres, the borders depending on a seed."""

    centers: Array
    groups: list[Array]

    @staticmethod
    def of(X: Array, seed: int) -> Cells:
        """Two levels of K-means, a few steps each; cells with more than twice the usual number of rows are cut."""
        rng = np.random.RandomState(seed)
        n_cells = max(1, X.shape[0] // CELL_ROWS)
        coarse = _kmeans_groups(X, np.arange(X.shape[0]), int(np.ceil(np.sqrt(n_cells))), rng)
        groups = [
            np.sort(part).astype(np.int32)
            for group in coarse
            for fine in _kmeans_groups(X, group, max(1, round(group.size / CELL_ROWS)), rng)
            for part in np.array_split(fine, -(-fine.size // (2 * CELL_ROWS)))
        ]
        return Cells(np.stack([X[group].mean(axis=0) for group in groups]), groups)

    def nearest(self, Q: Array, count: int) -> Array:
        """For each row of Q the nearest centres: (n, count)."""
        C = self.centers - self.centers.mean(axis=0)
        half = np.einsum("ij,ij->i", C, C) / 2
        count = min(count, len(C))
        found = np.empty((Q.shape[0], count), dtype=np.int32)
        for start in range(0, Q.shape[0], 1024):
            rows = slice(start, start + 1024)
            score = half - (Q[rows] - self.centers.mean(axis=0)) @ C.T
            some = np.sort(np.argpartition(score, count - 1, axis=1)[:, :count], axis=1)
            order = np.argsort(np.take_along_axis(score, some, axis=1), axis=1, kind="stable")
            found[rows] = np.take_along_axis(some, order, axis=1)
        return found


def _kmeans_groups(X: Array, rows: Array, n_groups: int, rng: np.random.RandomState) -> list[Array]:
    """Rows by their nearest of `n_groups` centres, found on a sample; empty groups are left out."""
    from sklearn.cluster import KMeans

    if n_groups == 1:
        return [rows]
    sample = np.sort(rng.choice(rows, min(rows.size, n_groups * SAMPLE_PER_CELL), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two steps do not converge, and duplicated rows leave centres out
        model = KMeans(n_groups, init="random", n_init=1, max_iter=2, random_state=rng).fit(X[sample])
        labels = np.concatenate([model.predict(X[rows[i : i + 65536]]) for i in range(0, rows.size, 65536)])
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(1, n_groups))
    return [part for part in np.split(rows[order], cuts) if part.size]


class CellSearch:
    """Approximate neighbours among the rows X; partitions are made when first needed.

    The rows are kept in the order of the first partition's cells, so that rows that are compared lie near each other.
    """

    def __init__(self, X: Array, threads: int, seed: int = 0) -> None:
        self._threads = threads
        self._seed = seed
        first = Cells.of(X, seed)
        rows = Groups.of(X, first.groups)
        self._order = rows.order
        self._X = X[self._order]
        self._partitions = [(first, Groups(self._X, np.arange(X.shape[0], dtype=np.int32), rows.starts))]

    def query_self(self, k: int, done: Callable[[float], object]) -> tuple[Shortlists, float]:
        """The k nearest other rows of each row, and the recall in a sample; `done` gets shares of the work."""
        X, n = self._X, self._X.shape[0]
        checked = np.sort(np.random.RandomState(self._seed).choice(n, min(CHECKED_ROWS, n), replace=False))
        truth = self._truth(X[checked], k + 1)
        own = truth == checked[:, None]
        own[~own.any(axis=1), -1] = True
        truth = truth[~own].reshape(checked.size, k)
        lists = Shortlists.empty(n, k + LIST_MARGIN, X.dtype)
        recall = 0.0
        for number, (cells, rows) in enumerate(self._each_partition()):
            pairs = _pairs_once(cells.nearest(cells.centers, PROBES))
            search(rows, rows, pairs, lists, self._threads, _share(done, number))
            if lists.full.all():
                lists = refined(X, lists, self._threads)
                recall = _recall(lists.index[checked, :k], truth)
            if recall >= RECALL:
                break
        return self._as_given(lists, k), recall

    def query(self, Q: Array, k: int, done: Callable[[float], object]) -> tuple[Shortlists, float]:
        """The k nearest rows to each row of Q, and the recall in a sample of Q."""
        n = Q.shape[0]
        checked = np.sort(np.random.RandomState(self._seed).choice(n, min(CHECKED_ROWS, n), replace=False))
        truth = self._truth(Q[checked], k)
        lists = Shortlists.empty(n, k, Q.dtype)
        recall = 0.0
        for number, (cells, rows) in enumerate(self._each_partition()):
            near = cells.nearest(Q, PROBES)
            home = near[:, 0]
            groups = {cell: np.flatnonzero(home == cell).astype(np.int32) for cell in np.unique(home).tolist()}
            queries = Groups.of(Q, list(groups.values()))
            pairs = np.array([(i, j) for i, group in enumerate(groups.values()) for j in np.unique(near[group])])
            search(queries, rows, pairs, lists, self._threads, _share(done, number))
            recall = _recall(lists.index[checked], truth)
            if recall >= RECALL and lists.full.all():
                break
        return Shortlists(lists.sqdist, self._order[lists.index]), recall

    def _as_given(self, lists: Shortlists, k: int) -> Shortlists:
        """The first k of each list, rows in the order of the caller and by its numbers."""
        out = Shortlists(*(np.empty((each.shape[0], k), each.dtype) for each in (lists.sqdist, lists.index)))
        for start in range(0, lists.index.shape[0], CHUNK_ROWS):
            some = slice(start, start + CHUNK_ROWS)
            out.sqdist[self._order[some]] = lists.sqdist[some, :k]
            out.index[self._order[some]] = self._order[lists.index[some, :k]]
        return out

    def _each_partition(self) -> Iterator[tuple[Cells, Groups]]:
        """Partitions in order, each with the rows in its groups."""
        for number in range(MAX_PARTITIONS):
            if number == len(self._partitions):
                cells = Cells.of(self._X, self._seed + number)
                self._partitions.append((cells, Groups.of(self._X, cells.groups)))
            yield self._partitions[number]

    def _truth(self, Q: Array, k: int) -> Array:
        """The true nearest rows of some queries."""
        rows, queries = Groups.consecutive(self._X), Groups.consecutive(np.ascontiguousarray(Q))
        lists = Shortlists.empty(Q.shape[0], k, Q.dtype)
        search(queries, rows, every_pair(queries, rows), lists, self._threads, lambda share: None)
        return lists.index


def _share(done: Callable[[float], object], number: int) -> Callable[[float], object]:
    """How many partitions will be needed is not known: each counts half of what is left."""
    return lambda share: done(0.5 ** (number + 1) * share)


def _pairs_once(near: Array) -> Array:
    """Each unordered pair of cells once."""
    own = np.broadcast_to(np.arange(len(near))[:, None], near.shape)
    pairs = np.stack([np.minimum(own, near), np.maximum(own, near)], axis=-1).reshape(-1, 2)
    return np.unique(pairs, axis=0)


def refined(X: Array, lists: Shortlists, threads: int) -> Shortlists:
    """Lists improved by neighbours of neighbours."""
    new = Shortlists(np.empty_like(lists.sqdist), np.empty_like(lists.index))
    _native.refine_neighbors(X, lists.index, new.sqdist, new.index, threads)
    return new


def _recall(found: Array, truth: Array) -> float:
    """Share of the true neighbours that were found."""
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=1)
    return float(hits.mean())
