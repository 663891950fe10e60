"""The one place that knows that rows may be reordered or left out.

Inside a fit the samples of weight zero are left out, and many dense points are put into an order that suits the cache.
Everything below the estimator works on these rows; everything that users see is in the order of their samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial import cKDTree

from ._records import Array
from ._validation import Given
from .graph.approximate import Cells
from .graph.neighbors import TREE_DIMENSIONS, make_index

ORDERED_ROWS = 50_000
"""Up to this many points, all that is known of them fits into the cache in any order."""
LEAF_ROWS = 256


@dataclass(frozen=True)
class RowMap:
    """Which sample each row is, and which row answers for each sample."""

    n_samples: int
    sample_of: Array | None = None
    """The sample of each row; None where the rows are the samples."""
    row_of: Array | None = None
    """The row of each sample: itself, or the nearest one where the sample was left out."""

    @staticmethod
    def of(X: Any, given: Given, threads: int) -> RowMap:
        """Leave out samples of weight zero; put the others into an order that suits the cache if there are many.

        A graph or neighbours that were given are in an order of their own, which stays.
        """
        n, weight = X.shape[0], given.sample_weight
        kept = None if weight is None or weight.all() else np.flatnonzero(weight)
        stays = issparse(X) or given.graph is not None or given.neighbors is not None
        if not stays and (n if kept is None else kept.size) > ORDERED_ROWS:
            order = local_order(X if kept is None else X[kept])
            kept = order if kept is None else kept[order]
        return RowMap(n) if kept is None else RowMap(n, kept, _row_of(X, kept, threads))

    def take(self, values: Any) -> Any:
        """Values of the samples as values of the rows; None stays None."""
        return values if values is None or self.sample_of is None else values[self.sample_of]

    def take_columns(self, matrix: Any) -> Any:
        """Columns for the samples as columns for the rows."""
        return matrix if self.sample_of is None else csr_array(matrix[:, self.sample_of])

    def take_given(self, given: Given) -> Given:
        """What was given for the samples as given for the rows; pairs with a sample that was left out are dropped."""
        if self.sample_of is None or self.row_of is None:
            return given
        W, pairs = given.graph, given.must_link
        if pairs is not None:
            row_of = np.where(self.sample_of[self.row_of] == np.arange(self.n_samples), self.row_of, -1)
            pairs = row_of[pairs][(row_of[pairs] >= 0).all(axis=1)]
        W = None if W is None else csr_array(W[self.sample_of][:, self.sample_of])
        return Given(W, given.neighbors, self.take(given.sample_weight), self.take(given.known), pairs)

    def spread(self, values: Any) -> Any:
        """Values of the rows as values of the samples; None stays None."""
        return values if values is None or self.row_of is None else values[self.row_of]

    def samples(self, rows: Array) -> Array:
        """Numbers of rows as numbers of samples."""
        return rows if self.sample_of is None else self.sample_of[rows]

    def spread_graph(self, W: Any) -> Any:
        """The affinity between all samples; those that were left out have no edges."""
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


def local_order(X: Array, seed: int = 0) -> Array:
    """The rows by the cells of a partition of space: near rows have near numbers."""
    if X.shape[1] <= TREE_DIMENSIONS:
        return np.asarray(cKDTree(X, leafsize=LEAF_ROWS, balanced_tree=False).indices)
    return Cells.of(X, seed).rows.order.astype(np.intp)


def _row_of(X: Any, kept: Array, threads: int) -> Array:
    """For each sample the row that it is, or the nearest one."""
    row_of = np.full(X.shape[0], -1, dtype=np.intp)
    row_of[kept] = np.arange(kept.size)
    absent = np.flatnonzero(row_of < 0)
    if absent.size:
        row_of[absent] = make_index(X[kept], threads).query(X[absent], 1).indices[:, 0]
    return row_of
