"""The linear term B for many clusters: the largest entries of each row, a bound on the others, and the rule for them.

Beyond the points this takes 8 bytes (float32) for each kept entry, not 4 for each of all K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array
from .objective import fidelity, is_infinite
from .points import Points, inverse_width, row_blocks

KEPT = 8
"""Entries of B kept a row: a point seldom hesitates between more clusters. What is missing is computed again."""


@dataclass(frozen=True)
class SparseTerm:
    """B (N, K): its largest entries, largest first, and what the native loops need to compute any other."""

    column: Array
    value: Array
    least: Array
    """The smallest entry of each row."""
    bound: Array
    """No entry that is not kept is larger."""
    native: Any
    sources: tuple[Any, ...]
    """The arrays that `native` points to."""
    shape: tuple[int, int]

    @property
    def dtype(self) -> Any:
        """Precision of the entries."""
        return self.value.dtype

    @property
    def best(self) -> Array:
        """Column of the largest entry of each row."""
        return self.column[:, 0]

    @property
    def highest(self) -> Array:
        """Largest entry of each row."""
        return self.value[:, 0]

    @property
    def scale(self) -> float:
        """What a relative gap is relative to, see `objective.scale_of`."""
        return float((self.highest - np.minimum(self.least, 0)).sum(dtype=np.float64))

    @property
    def size(self) -> float:
        """Largest absolute entry."""
        return float(max(np.abs(self.highest).max(), np.abs(self.least).max()))


def make_sparse_term(
    points: Points,
    C: Array,
    sigma: float | Array,
    sample_weight: Array | None,
    pull: Any = None,
    *,
    kept: int = KEPT,
) -> SparseTerm:
    """B at modes C, `pull` (CSR) added, in blocks of rows; `kept` entries of each row stay."""
    K, dtype = C.shape[0], points.dtype
    m = min(kept, K)
    column, value = np.empty((points.n, m), dtype=np.int32), np.empty((points.n, m), dtype=dtype)
    bound, least = np.empty(points.n, dtype=dtype), np.empty(points.n, dtype=dtype)
    for rows, some in row_blocks(points, K):
        width = sigma[rows] if isinstance(sigma, np.ndarray) and sigma.ndim else sigma
        B = fidelity(some, C, width, None if sample_weight is None else sample_weight[rows])
        if pull is not None:
            _add(B, pull, rows)
        _native.keep_largest(B, column[rows], value[rows], bound[rows], least[rows], points.threads)
    nothing = np.empty(0, dtype=dtype)
    sources = (
        *points.arrays,
        np.ascontiguousarray(C),
        np.einsum("kd,kd->k", C, C),
        inverse_width(1.0 if is_infinite(sigma) else sigma, dtype),
        is_infinite(sigma),
        nothing if sample_weight is None else sample_weight,
        *(_csr_arrays(pull) if pull is not None else (np.empty(0, np.int64), np.empty(0, np.int32), nothing)),
        column,
        value,
        bound,
    )
    return SparseTerm(column, value, least, bound, _native.sparse_term(*sources), sources, (points.n, K))


def _add(B: Array, pull: Any, rows: slice) -> None:
    """Add the entries of some rows of a CSR matrix."""
    first, last = pull.indptr[rows.start], pull.indptr[rows.stop]
    at = np.repeat(np.arange(B.shape[0]), np.diff(pull.indptr[rows.start : rows.stop + 1]))
    B[at, pull.indices[first:last]] += pull.data[first:last]


def _csr_arrays(matrix: csr_array) -> tuple[Array, Array, Array]:
    """(indptr, indices, data) as the native loops take them."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data
