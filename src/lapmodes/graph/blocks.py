"""Nearest neighbours of dense rows by blocks of inner products: BLAS for the products, one native pass to pick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from threadpoolctl import threadpool_limits

from .. import _native
from .._records import Array

BLOCK_ROWS = 1024
NOBODY = np.iinfo(np.int32).max
"""Fills shortlists that are not full."""


@dataclass(frozen=True)
class Shortlists:
    """The nearest rows found so far for each of n rows, nearest first."""

    sqdist: Array
    index: Array

    @staticmethod
    def empty(n: int, k: int, dtype: np.dtype) -> Shortlists:
        """No neighbours yet."""
        return Shortlists(np.full((n, k), np.inf, dtype=dtype), np.full((n, k), NOBODY, dtype=np.int32))

    def first(self, k: int) -> Shortlists:
        """The k nearest only."""
        return Shortlists(self.sqdist[:, :k], self.index[:, :k])

    @property
    def full(self) -> Array:
        """Which rows have all their neighbours."""
        return np.asarray(self.index[:, -1] != NOBODY)


@dataclass(frozen=True)
class Rows:
    """Rows in groups, each with a lock for its shortlists. Inner products are taken about `origin`: no cancellation."""

    X: Array
    groups: Sequence[Array]
    origin: Array
    sqnorm: Array
    locks: Sequence[Lock] = field(default_factory=list)

    @staticmethod
    def of(X: Array, groups: Sequence[Array], origin: Array) -> Rows:
        """Prepare the squared norms, group by group."""
        sqnorm = np.empty(X.shape[0], dtype=X.dtype)
        for group in groups:
            block = X[group] - origin
            sqnorm[group] = np.einsum("ij,ij->i", block, block)
        return Rows(X, groups, origin, sqnorm, [Lock() for _ in groups])

    def block(self, i: int) -> Array:
        """The rows of a group."""
        return np.asarray(self.X[self.groups[i]] - self.origin)


def consecutive(n: int) -> list[Array]:
    """Row numbers in blocks."""
    return [np.arange(start, min(start + BLOCK_ROWS, n), dtype=np.int32) for start in range(0, n, BLOCK_ROWS)]


def every_pair(queries: Rows, rows: Rows) -> list[tuple[int, int]]:
    """All pairs of groups; where both are the same object, each unordered pair once."""
    same = queries is rows
    return [(i, j) for i in range(len(queries.groups)) for j in range(i if same else 0, len(rows.groups))]


def search(
    queries: Rows,
    rows: Rows,
    pairs: Iterable[tuple[int, int]],
    lists: Shortlists,
    threads: int,
    done: Callable[[], object],
) -> None:
    """For each pair (i, j) of groups, offer rows j to queries i; where both are the same object, each to the other."""
    same = queries is rows

    def one(pair: tuple[int, int]) -> None:
        i, j = pair
        inner = queries.block(i) @ rows.block(j).T
        first, second = queries.groups[i], rows.groups[j]
        norms = queries.sqnorm[first], rows.sqnorm[second]
        mutual = same and i != j
        low, high = min(i, j), max(i, j)
        with queries.locks[low if mutual else i], queries.locks[high] if mutual else nullcontext():
            _native.offer_block(inner, first, second, *norms, mutual, same, lists.sqdist, lists.index)

    _in_parallel(one, pairs, threads, done)


def _in_parallel(
    one: Callable[[tuple[int, int]], None], pairs: Iterable[tuple[int, int]], threads: int, done: Callable[[], object]
) -> None:
    """Each thread takes whole blocks, with BLAS on one core: sums then do not depend on the number of threads."""
    with threadpool_limits(1, user_api="blas"):
        if threads == 1:
            for pair in pairs:
                one(pair)
                done()
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(one, pairs):
                done()
