"""Approximate nearest neighbours of many dense rows: nearby cells of a few partitions, then neighbours of neighbours.

Rows are compared in groups, by native tiles of inner products. For many rows the groups are cells of about 1000, by
two levels of K-means. Each row visits the cells whose centres are nearest to it, one after the other, where it and the
rows of the cell are offered to each other; then those of another partition, with its borders elsewhere, until a random
sample of rows, compared with all others, shows that the neighbours of neighbours hold what recall asks for. With these
each list is improved at the end. Rows of many dimensions are compared along their principal axes, where these show who
is near. Work grows linearly with the number of rows. The result depends on the seed, and not on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array

GROUP_ROWS = 1024
NOBODY = np.iinfo(np.int32).max
"""Fills shortlists that are not full."""
CALLS = 200
"""Calls over which the pairs of a search are spread, so that progress is seen."""
COMPONENTS = 64
PROJECTED_ROWS = 8192
SAMPLE_ROWS = 10_000
"""Rows from which the axes are found."""
TRIED_ROWS, TRIED_NEIGHBORS = 200, 10
"""Rows for which, and neighbours with which, it is tried whether the axes show enough."""
WIDE = 3
"""Lists along the axes are this many times as long as those asked for."""
ENOUGH = 0.99
"""Share of the true neighbours that such lists must hold."""
CELL_ROWS = 1000
LLOYD_STEPS = 2
"""Steps of K-means: where the borders of cells lie does not matter much."""
SAMPLE_PER_CELL = 50
"""Rows on which the centre of each cell is found."""
VISITS = 12
"""Most cells that each row visits in one partition."""
VISIT_SHARE = 0.1
"""How many visits will be needed is not known: for the progress bar each counts this share of what is left."""
AROUND = 256
"""Cells around its own among which a row finds those to visit."""
MAX_PARTITIONS = 8
CHECKED_ROWS = 500
RECALL = 0.985
CHUNK_ROWS = 65536
LOCAL_GAP = 64
"""Rows of a cell that are less than this apart are near each other in memory."""
BLAS = Lock()
LIST_MARGIN = 2
"""Neighbours kept beyond those asked for while lists are improved."""


@dataclass(frozen=True)
class Shortlists:
    """The nearest rows found so far for each of n rows, nearest first, equals by number; squared distances."""

    sqdist: Array
    index: Array

    @staticmethod
    def empty(n: int, k: int, dtype: np.dtype) -> Shortlists:
        """No neighbours yet."""
        return Shortlists(np.full((n, k), np.inf, dtype=dtype), np.full((n, k), NOBODY, dtype=np.int32))

    @property
    def full(self) -> Array:
        """Which rows have all their neighbours."""
        return np.asarray(self.index[:, -1] != NOBODY)


@dataclass(frozen=True)
class Groups:
    """Rows of X in groups: those of group g have the numbers order[starts[g] : starts[g + 1]]."""

    X: Array
    order: Array
    starts: Array

    @staticmethod
    def of(X: Array, groups: Sequence[Array]) -> Groups:
        """From the numbers of the rows of each group."""
        starts = np.concatenate([[0], np.cumsum([group.size for group in groups])]).astype(np.int64)
        return Groups(X, np.concatenate(groups).astype(np.int32), starts)

    @staticmethod
    def consecutive(X: Array) -> Groups:
        """Rows in their order, a thousand or so a group."""
        n = X.shape[0]
        starts = np.append(np.arange(0, n, GROUP_ROWS, dtype=np.int64), n)
        return Groups(X, np.arange(n, dtype=np.int32), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1


def every_pair(queries: Groups, rows: Groups) -> Array:
    """All pairs of groups; where both are the same object, each unordered pair once, those with themselves first."""
    i, j = np.indices((len(queries), len(rows))).reshape(2, -1)
    pairs = np.column_stack([i, j])
    return pairs[i <= j][np.argsort((j - i)[i <= j], kind="stable")] if queries is rows else pairs


def same_numbers(count: int) -> Array:
    """Each group with the one of the same number."""
    return np.repeat(np.arange(count)[:, None], 2, axis=1)


def search(
    queries: Groups, rows: Groups, pairs: Array, lists: Shortlists, threads: int, done: Callable[[float], object]
) -> None:
    """For each pair (i, j) of groups, offer rows j to queries i; where both are of the same X, each to the other.

    The lists do not depend on the order of the pairs, nor on the number of threads. Those that hold nothing but
    duplicates at the beginning stay as they are: among thousands, who is listed does not matter. `done` gets shares of
    the work.
    """
    closed = lists.sqdist[:, -1] == 0
    for some in np.array_split(pairs.astype(np.int32), min(CALLS, -(-len(pairs) // (8 * threads)))):
        _native.compare_groups(
            queries.X,
            queries.order,
            queries.starts,
            rows.X,
            rows.order,
            rows.starts,
            some,
            queries.X is rows.X,
            lists.sqdist,
            lists.index,
            closed,
            threads,
        )
        done(len(some) / len(pairs))


def nearest(queries: Groups, rows: Groups, pairs: Array, k: int, threads: int) -> Array:
    """Numbers of the k nearest rows to each query."""
    lists = Shortlists.empty(queries.X.shape[0], k, queries.X.dtype)
    search(queries, rows, pairs, lists, threads, lambda share: None)
    return lists.index


def picked(Q: Array, X: Array, candidates: Array, k: int, threads: int, *, further: bool = False) -> Shortlists:
    """The k nearest rows of X among the candidates of each row of Q; `further`: or the candidates of these."""
    lists = Shortlists.empty(Q.shape[0], k, Q.dtype)
    _native.pick_neighbors(Q, X, candidates, further, lists.sqdist, lists.index, threads)
    return lists


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products of matrices that round alike whatever number of threads BLAS may use; one caller at a time."""
    from threadpoolctl import threadpool_limits

    with BLAS, threadpool_limits(1, user_api="blas"):
        yield


@dataclass(frozen=True)
class Projection:
    """The axes (D, COMPONENTS) of the largest variance about a centre."""

    center: Array
    axes: Array

    @staticmethod
    def worthwhile(X: Array, threads: int, seed: int) -> Projection | None:
        """The principal axes of X; None where they save little, or do not show who is near."""
        if X.shape[1] <= 2 * COMPONENTS:
            return None
        from sklearn.utils.extmath import randomized_svd  # not needed at import

        rng = np.random.RandomState(seed)
        sample = X[rng.choice(X.shape[0], min(SAMPLE_ROWS, X.shape[0]), replace=False)]
        center = sample.mean(axis=0)
        # Rough axes will do, and take seconds where there are tens of thousands of dimensions.
        with one_blas_thread():
            axes = randomized_svd(sample - center, COMPONENTS, n_iter=2, random_state=rng)[2].T
        found = Projection(center, np.ascontiguousarray(axes, dtype=X.dtype))
        tried = X[rng.choice(X.shape[0], min(TRIED_ROWS, X.shape[0]), replace=False)]
        near = _first(tried, X, TRIED_NEIGHBORS, threads)
        seen = _first(found.along(tried), found.along(X), WIDE * TRIED_NEIGHBORS, threads)
        return found if (near[:, :, None] == seen[:, None, :]).any(axis=2).mean() >= ENOUGH else None

    def along(self, X: Array) -> Array:
        """The rows along the axes."""
        out = np.empty((X.shape[0], self.axes.shape[1]), dtype=X.dtype)
        with one_blas_thread():
            for start in range(0, X.shape[0], PROJECTED_ROWS):
                rows = slice(start, start + PROJECTED_ROWS)
                np.matmul(X[rows] - self.center, self.axes, out=out[rows])
        return out


def _first(Q: Array, X: Array, k: int, threads: int) -> Array:
    queries, rows = Groups.consecutive(Q), Groups.consecutive(X)
    return nearest(queries, rows, every_pair(queries, rows), k, threads)


@dataclass(frozen=True)
class Cells:
    """Rows in groups around centres, the borders depending on a seed."""

    centers: Array
    rows: Groups

    @staticmethod
    def of(X: Array, seed: int, threads: int = 1) -> Cells:
        """Two levels of K-means, a few steps each; cells with more than twice the usual number of rows are cut."""
        rng = np.random.RandomState(seed)
        n_cells = max(1, X.shape[0] // CELL_ROWS)
        coarse = _kmeans_groups(X, np.arange(X.shape[0]), int(np.ceil(np.sqrt(n_cells))), rng, threads)
        groups = [
            np.sort(part)
            for group in coarse
            for fine in _kmeans_groups(X, group, max(1, round(group.size / CELL_ROWS)), rng, threads)
            for part in np.array_split(fine, -(-fine.size // (2 * CELL_ROWS)))
        ]
        return Cells(np.stack([X[group].mean(axis=0) for group in groups]), Groups.of(X, groups))

    def in_order(self, X: Array) -> Cells:
        """The same cells of rows that were put into the cells' order."""
        return Cells(self.centers, Groups(X, np.arange(X.shape[0], dtype=np.int32), self.rows.starts))

    def to_visit(self, Q: Array, count: int, threads: int) -> Array:
        """The cells nearest to each row of Q, nearest first: (n, count)."""
        queries, centers = Groups.consecutive(Q), Groups.consecutive(self.centers)
        return nearest(queries, centers, every_pair(queries, centers), min(count, len(self.rows)), threads)

    def visits_of(self, Q: Array, threads: int) -> Iterator[Groups]:
        """Rows of Q in groups by the nearest cell, by the second nearest, and so on."""
        for to in self.to_visit(Q, VISITS, threads).T:
            yield self._grouped_by_cell(Q, to)

    def visits_of_own(self, threads: int) -> Iterator[Groups]:
        """The same for the rows in the cells: first their own, then the nearest ones around it."""
        yield self.rows
        around = min(AROUND, len(self.rows))
        near = self.to_visit(self.centers.copy(), around, threads)
        centers = Groups(self.centers, near.ravel(), np.arange(0, near.size + 1, around, dtype=np.int64))
        to = nearest(self.rows, centers, same_numbers(len(self.rows)), min(VISITS, around), threads)
        own = np.empty(to.shape[0], dtype=np.int32)
        own[self.rows.order] = np.repeat(np.arange(len(self.rows), dtype=np.int32), np.diff(self.rows.starts))
        np.put_along_axis(to, (to == own[:, None]).argmax(axis=1)[:, None], to[:, :1], axis=1)
        for others in to[:, 1:].T:
            yield self._grouped_by_cell(self.rows.X, others)

    def _grouped_by_cell(self, Q: Array, to: Array) -> Groups:
        """Rows of Q in groups by the cell `to` which each goes."""
        n = to.size
        visits = csr_array((np.ones(n, dtype=np.int8), to.copy(), np.arange(n + 1)), shape=(n, len(self.rows)))
        by_cell = visits.tocsc()
        return Groups(Q, by_cell.indices.astype(np.int32), by_cell.indptr.astype(np.int64))


def _kmeans_groups(X: Array, rows: Array, n_groups: int, rng: np.random.RandomState, threads: int) -> list[Array]:
    """Rows by their nearest of `n_groups` centres, found on a sample; empty groups are left out.

    scikit-learn's K-means would do too, but its sums depend on the number of threads, and so would all that follows.
    """
    if n_groups == 1:
        return [rows]
    sample = X[np.sort(rng.choice(rows, min(rows.size, n_groups * SAMPLE_PER_CELL), replace=False))]
    centers = sample[rng.choice(len(sample), n_groups, replace=False)]
    for _ in range(LLOYD_STEPS):
        labels = _first(sample, centers, 1, threads)[:, 0]
        members = csr_array(
            (np.ones_like(labels, X.dtype), labels, np.arange(labels.size + 1)), (labels.size, n_groups)
        )
        count = np.bincount(labels, minlength=n_groups)
        centers = np.where(count[:, None] > 0, (members.T @ sample) / np.maximum(count, 1)[:, None], centers)
        centers = np.ascontiguousarray(centers, dtype=X.dtype)
    pieces = (X[rows[start : start + CHUNK_ROWS]] for start in range(0, rows.size, CHUNK_ROWS))
    labels = np.concatenate([_first(piece, centers, 1, threads)[:, 0] for piece in pieces])
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(1, n_groups))
    return [part for part in np.split(rows[order], cuts) if part.size]


class CellSearch:
    """Approximate neighbours among the rows X; partitions are made when first needed.

    Rows that are compared must lie near each other in memory: unless they do, they are put into the order of the first
    partition's cells. Rows of many dimensions are compared along their principal axes, where these show who is near;
    longer lists are found there, and measured again.
    """

    def __init__(self, X: Array, threads: int, seed: int = 0) -> None:
        self._threads = threads
        self._seed = seed
        self._projection = Projection.worthwhile(X, threads, seed)
        seen = self._seen(X)
        first = Cells.of(seen, seed, threads)
        self._order = None if _is_local(first.rows) else first.rows.order
        self._X = X if self._order is None else X[self._order]
        self._compared = seen if self._order is None else seen[self._order] if self._projection else self._X
        self._partitions = [first if self._order is None else first.in_order(self._compared)]

    def query_self(self, k: int, done: Callable[[float], object]) -> tuple[Shortlists, float]:
        """The k nearest other rows of each row, and the recall in a sample; `done` gets shares of the work."""
        X, n = self._X, self._X.shape[0]
        checked = np.sort(np.random.RandomState(self._seed).choice(n, min(CHECKED_ROWS, n), replace=False))
        truth = self._truth(X[checked], k + 1)
        own = truth == checked[:, None]
        own[~own.any(axis=1), -1] = True
        truth = truth[~own].reshape(checked.size, k)
        lists = self._empty_lists(n, k + LIST_MARGIN)
        for _ in self._visits(lambda cells: cells.visits_of_own(self._threads), lists, done):
            same = lists.sqdist[checked, k - 1] == 0
            if lists.full.all() and _recall(self._within_reach(lists, checked), truth, same) >= RECALL:
                break
        lists = picked(X, X, lists.index, k, self._threads, further=self._projection is None)
        return self._as_given(lists), _recall(lists.index[checked], truth, lists.sqdist[checked, -1] == 0)

    def query(self, Q: Array, k: int, done: Callable[[float], object]) -> tuple[Shortlists, float]:
        """The k nearest rows to each row of Q, and the recall in a sample of Q."""
        n, seen = Q.shape[0], self._seen(Q)
        checked = np.sort(np.random.RandomState(self._seed).choice(n, min(CHECKED_ROWS, n), replace=False))
        truth = self._truth(Q[checked], k)
        lists = self._empty_lists(n, k)
        for _ in self._visits(lambda cells: cells.visits_of(seen, self._threads), lists, done):
            same = lists.sqdist[checked, k - 1] == 0
            if lists.full.all() and _recall(lists.index[checked], truth, same) >= RECALL:
                break
        if self._projection:
            lists = picked(Q, self._X, lists.index, k, self._threads)
        index = lists.index if self._order is None else self._order[lists.index]
        return Shortlists(lists.sqdist, index), _recall(lists.index[checked], truth, lists.sqdist[checked, -1] == 0)

    def _seen(self, X: Array) -> Array:
        """Rows as they are compared."""
        return self._projection.along(X) if self._projection else X

    def _empty_lists(self, n: int, k: int) -> Shortlists:
        rows = self._X.shape[0] - 1
        return Shortlists.empty(n, min(WIDE * k, rows) if self._projection else k, self._X.dtype)

    def _within_reach(self, lists: Shortlists, rows: Array) -> Array:
        """Among whom the neighbours of some rows will be picked: their lists and, where these are short, theirs."""
        near = lists.index[rows]
        return near if self._projection else np.hstack([near, lists.index[near].reshape(rows.size, -1)])

    def _visits(
        self, among: Callable[[Cells], Iterator[Groups]], lists: Shortlists, done: Callable[[float], object]
    ) -> Iterator[None]:
        """One visit after the other, the nearest cells first: few rows of later ones are near enough to count."""
        left = 1.0
        for number in range(MAX_PARTITIONS):
            if number == len(self._partitions):
                self._partitions.append(Cells.of(self._compared, self._seed + number, self._threads))
            cells = self._partitions[number]
            for visitors in among(cells):
                share, left = VISIT_SHARE * left, (1 - VISIT_SHARE) * left
                pairs = same_numbers(len(visitors))[np.diff(visitors.starts) > 0]
                search(visitors, cells.rows, pairs, lists, self._threads, partial(_report, done, share))
                yield

    def _as_given(self, lists: Shortlists) -> Shortlists:
        """Rows in the order of the caller and by its numbers."""
        if self._order is None:
            return lists
        out = Shortlists(np.empty_like(lists.sqdist), np.empty_like(lists.index))
        for start in range(0, lists.index.shape[0], CHUNK_ROWS):
            some = slice(start, start + CHUNK_ROWS)
            out.sqdist[self._order[some]] = lists.sqdist[some]
            out.index[self._order[some]] = self._order[lists.index[some]]
        return out

    def _truth(self, Q: Array, k: int) -> Array:
        """The true nearest rows of some queries."""
        rows, queries = Groups.consecutive(self._X), Groups.consecutive(np.ascontiguousarray(Q))
        return nearest(queries, rows, every_pair(queries, rows), k, self._threads)


def _is_local(rows: Groups) -> bool:
    """Whether the rows of a group mostly follow each other closely."""
    return bool(np.median(np.abs(np.diff(rows.order))) < LOCAL_GAP)


def _report(done: Callable[[float], object], share: float, part: float) -> None:
    """Part of a visit as a share of the whole."""
    done(share * part)


def _recall(found: Array, truth: Array, same: Array) -> float:
    """Share of the true neighbours that were found; rows that found only the `same` as themselves have all."""
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=1)
    return float((hits | same[:, None]).mean())
