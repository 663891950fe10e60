"""Dense rows in groups, and the search for near ones among pairs of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import _native
from .._records import Array

GROUP_ROWS = 1024
NOBODY = np.iinfo(np.int32).max
"""Fills shortlists that are not full."""
CALLS = 200
"""Calls over which the pairs of a search are spread, so that progress is seen."""


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
