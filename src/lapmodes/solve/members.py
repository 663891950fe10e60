"""Lists of each cluster's members: what the C-step runs over, as most assignments are zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse

from .. import _native
from .._records import Array

PIECE_BYTES = 32 * 2**20
"""Most that the sums of all pieces may take."""
PIECE_MEMBERS = 1024


@dataclass(frozen=True)
class Members:
    """The points with a share in each cluster, in order, and their shares."""

    indptr: Array
    rows: Array
    values: Array

    @staticmethod
    def of(Z: Any, threads: int) -> Members:
        """The positive entries of Z (N, K), an array or sparse, column by column."""
        if issparse(Z):
            Z = csc_array(Z)
            Z.sort_indices()
            return Members(Z.indptr.astype(np.int64), Z.indices.astype(np.int32, copy=False), Z.data)
        n, K = Z.shape
        counts = np.empty((max(1, min(64, n // 1024)), K), dtype=np.int64)
        _native.count_members(Z, counts, threads)
        ends = counts.T.cumsum().reshape(K, -1)
        rows, values = np.empty(ends[-1, -1], dtype=np.int32), np.empty(ends[-1, -1], dtype=Z.dtype)
        _native.list_members(Z, np.ascontiguousarray((ends - counts.T).T), rows, values, threads)
        return Members(np.concatenate([[0], ends[:, -1]]), rows, values)

    def pieces(self, active: Array, D: int) -> Pieces:
        """The lists of active clusters cut up: fixed by the problem, so that threads do not change the result."""
        length = max(PIECE_MEMBERS, -(-8 * D * self.rows.size // PIECE_BYTES))
        parts = np.where(active, -(-np.diff(self.indptr) // length), 0)
        begins = np.concatenate([[0], parts.cumsum()])
        owner = np.repeat(np.arange(active.size), parts)
        start = self.indptr[owner] + length * (np.arange(owner.size) - begins[owner])
        return Pieces(begins, np.column_stack([owner, start, np.minimum(start + length, self.indptr[owner + 1])]))


@dataclass(frozen=True)
class Pieces:
    """Stretches of the lists, each with sums of its own."""

    begins: Array
    """First piece of each cluster."""
    bounds: Array
    """Cluster, first and last + 1 of its members."""

    @property
    def owner(self) -> Array:
        """The cluster of each piece."""
        return np.asarray(self.bounds[:, 0])

    def total(self, share: Array, parts: Array) -> Array:
        """Sums over the pieces of each cluster, each piece times its share."""
        shape = (self.begins.size - 1, share.size)
        return np.asarray(csr_array((share, np.arange(share.size), self.begins), shape=shape) @ parts)
