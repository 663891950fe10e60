"""The one place that knows that rows may be merged, reordered or left out.

Inside a fit equal samples are one row that weighs as much as they do together, samples of weight zero are left out, and
many dense points are put into an order that suits the cache. Everything below the estimator works on these rows;
everything that users see is in the order of their samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial import cKDTree

from . import _native
from ._records import CHUNK_ENTRIES, Array
from ._rows import row_arrays
from ._validation import Given
from .graph.approximate import Cells
from .graph.neighbors import TREE_DIMENSIONS, make_index

ORDERED_ROWS = 50_000
"""Up to this many points, all that is known of them fits into the cache in any order."""
LEAF_ROWS = 256
PLACES = 9
"""Decimal places to which distances from the mean are compared: rounding must not decide the order."""


@dataclass(frozen=True)
class RowMap:
    """Which sample each row is, and which row answers for each sample."""

    n_samples: int
    sample_of: Array | None = None
    """The sample of each row; None where the rows are the samples."""
    row_of: Array | None = None
    """The row of each sample: its own, that of an equal one, or the nearest one where the sample was left out."""

    @staticmethod
    def of(X: Any, given: Given, threads: int, *, merge: bool = True) -> RowMap:
        """Leave out samples of weight zero, merge equal ones, and put many into an order that suits the cache.

        Samples whose partial labels differ are not equal. Those of a graph or of neighbours that were given stay as
        they are.
        """
        n, weight = X.shape[0], given.sample_weight
        first = None
        if merge and given.graph is None and given.neighbors is None:
            first = first_equal_rows(X, threads, given.known, weight)
        absent = np.zeros(n, dtype=bool) if weight is None else weight == 0
        kept = ~absent if first is None else ~absent & (first == np.arange(n))
        samples = None if kept.all() else np.flatnonzero(kept)
        many = kept.sum() > ORDERED_ROWS
        if many and not issparse(X) and given.graph is None and given.neighbors is None:
            order = local_order(X if samples is None else X[samples], threads=threads)
            samples = order if samples is None else samples[order]
        elif (
            (first is not None or weight is not None) and given.neighbors is None and is_weight_table(n, first, weight)
        ):
            samples = np.flatnonzero(kept)
            samples = samples[order_from_the_middle(X, samples, weight)]
        if samples is None:
            return RowMap(n)
        row_of = np.full(n, -1, dtype=np.intp)
        row_of[samples] = np.arange(samples.size)
        if first is not None:
            row_of = row_of[first]
        if absent.any():
            row_of[absent] = make_index(X[samples], threads).query(X[absent], 1).indices[:, 0]
        return RowMap(n, samples, row_of)

    def take(self, values: Any) -> Any:
        """Values of the samples as values of the rows; None stays None."""
        return values if values is None or self.sample_of is None else values[self.sample_of]

    def take_columns(self, matrix: Any) -> Any:
        """Columns for the samples as columns for the rows."""
        return matrix if self.sample_of is None else csr_array(matrix[:, self.sample_of])

    def take_given(self, given: Given, dtype: Any) -> Given:
        """What was given for the samples as given for the rows: equal samples weigh as much as they do together.

        Pairs of equal samples, and pairs with one that was left out, are dropped.
        """
        if self.sample_of is None or self.row_of is None:
            return given
        W, weight, pairs = given.graph, given.sample_weight, given.must_link
        if pairs is not None:
            there = np.ones(len(pairs), dtype=bool) if weight is None else (weight[pairs] > 0).all(axis=1)
            pairs = self.row_of[pairs[there]]
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if weight is not None or self.sample_of.size < self.n_samples:
            weight = np.bincount(self.row_of, weights=weight, minlength=self.sample_of.size).astype(dtype)
        W = None if W is None else csr_array(W[self.sample_of][:, self.sample_of])
        return Given(W, given.neighbors, weight, self.take(given.known), pairs)

    def spread(self, values: Any) -> Any:
        """Values of the rows as values of the samples; None stays None."""
        return values if values is None or self.row_of is None else values[self.row_of]

    def spread_graph(self, W: Any) -> Any:
        """The affinity between all samples; those that were merged into another or left out have no edges."""
        if self.sample_of is None:
            return W
        order = np.argsort(self.sample_of)
        rows = W[order]
        indptr = np.zeros(self.n_samples + 1, dtype=rows.indptr.dtype)
        indptr[self.sample_of[order] + 1] = np.diff(rows.indptr)
        indices = self.sample_of.astype(np.int32)[rows.indices]
        shape = self.n_samples, self.n_samples
        whole = csr_array((rows.data, indices, np.cumsum(indptr, dtype=indptr.dtype)), shape=shape)
        whole.sort_indices()
        return whole


def local_order(X: Array, seed: int = 0, threads: int = 1) -> Array:
    """The rows by the cells of a partition of space: near rows have near numbers."""
    if X.shape[1] <= TREE_DIMENSIONS:
        return np.asarray(cKDTree(X, leafsize=LEAF_ROWS, balanced_tree=False).indices)
    return Cells.of(X, seed, threads).rows.order.astype(np.intp)


def is_weight_table(n: int, first: Array | None, weight: Array | None) -> bool:
    """Whether fewer than half of the rows, each with its copies, have the same weight."""
    mass = np.bincount(np.arange(n) if first is None else first, weights=weight, minlength=n)
    _, counts = np.unique(mass[mass > 0], return_counts=True)
    return bool(2 * counts.max() < counts.sum())


def order_from_the_middle(X: Any, samples: Array, weight: Array | None) -> Array:
    """These samples by their distance from the mean of all, equally far ones as they come.

    A sample of weight 2 and two equal samples then have the same place among the rows, whatever the order in which the
    samples came, so that the same random draws mean the same rows. A rotation does not change the order either.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
    mean = np.asarray(X.T @ weight, dtype=np.float64).ravel() / weight.sum()
    rows = X[samples]
    if issparse(rows):
        squared = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() - 2 * (rows @ mean) + mean @ mean
    else:
        squared = np.square(rows - mean).sum(axis=1)
    return np.argsort(np.round(squared / (squared.max() or 1.0), PLACES), kind="stable")


def first_equal_rows(X: Any, threads: int, labels: Array | None = None, weight: Array | None = None) -> Array | None:
    """For each row the first one that is equal to it, labels and whether it weighs anything included; None: no two are.

    Rows are compared only where their keys are the same.
    """
    n, keys = X.shape[0], row_keys(X, threads)
    marks = [each for each in (labels, None if weight is None else weight > 0) if each is not None]
    for mark in marks:
        keys = keys * np.uint64(31) + mark.astype(np.uint64)
    if np.unique(keys).size == n:
        return None
    order = np.argsort(keys, kind="stable")
    new = np.append(True, keys[order[1:]] != keys[order[:-1]])
    first = np.empty(n, dtype=np.intp)
    first[order] = order[new][np.cumsum(new) - 1]
    copies = np.flatnonzero(first != np.arange(n))
    same = equal_rows(X, copies, X, first[copies])
    for mark in marks:
        same &= mark[copies] == mark[first[copies]]
    first[copies[~same]] = copies[~same]
    return first


class RowFinder:
    """Finds the rows of X that are equal to others."""

    def __init__(self, X: Any, threads: int) -> None:
        keys = row_keys(X, threads)
        self._X, self._order = X, np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, Q: Any, threads: int) -> tuple[Array, Array]:
        """(rows of Q that are in X, the rows of X that they are equal to)."""
        keys = row_keys(Q, threads)
        place = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        found = np.flatnonzero(self._keys[place] == keys)
        rows = self._order[place[found]]
        same = equal_rows(Q, found, self._X, rows)
        return found[same], rows[same]


def row_keys(X: Any, threads: int) -> Array:
    """A number for each row: equal rows have equal numbers, others almost surely not."""
    keys = np.empty(X.shape[0], dtype=np.uint64)
    _native.row_keys(*row_arrays(X), keys, threads)
    return keys


def equal_rows(X: Any, rows: Array, Y: Any, others: Array) -> Array:
    """Whether each of these rows of X is equal to that of the others of Y."""
    same = np.empty(rows.size, dtype=bool)
    size = max(1, CHUNK_ENTRIES // X.shape[1])
    for start in range(0, rows.size, size):
        part = slice(start, start + size)
        unequal = X[rows[part]] != Y[others[part]]
        same[part] = np.asarray(unequal.sum(axis=1)).ravel() == 0
    return same
