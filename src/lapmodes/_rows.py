"""Rows of assignments, a dense array or a CSR matrix with sorted columns: what is asked of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

Array = NDArray[Any]


def one_hot_rows(labels: Array, K: int, dtype: Any) -> Any:
    """CSR matrix (N, K) with a single 1 in each row."""
    n = labels.shape[0]
    parts = np.ones(n, dtype=dtype), labels.astype(np.int32, copy=False), np.arange(n + 1, dtype=np.int32)
    return csr_array(parts, shape=(n, K))


def as_sparse(Z: Any, dtype: Any) -> Any:
    """Rows as a CSR matrix without stored zeros, columns sorted."""
    Z = csr_array(Z, dtype=dtype, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return Z


def as_dense(Z: Any) -> Array:
    """Rows as an array."""
    return np.asarray(Z.toarray() if issparse(Z) else Z)


def row_arrays(Z: Any) -> tuple[Array, ...]:
    """What the native kernels take: (Z,), or (indptr, indices, values) of a CSR matrix."""
    if not issparse(Z):
        return (Z,)
    return Z.indptr.astype(np.int64, copy=False), Z.indices.astype(np.int32, copy=False), Z.data


def largest_columns(Z: Any) -> Array:
    """Column of the largest entry of each row, the first among equals; 0 for a sparse row without entries."""
    if not issparse(Z):
        return np.asarray(Z.argmax(axis=1))
    size = np.diff(Z.indptr)
    filled = size > 0
    first = Z.indptr[:-1][filled]
    columns = np.zeros(Z.shape[0], dtype=np.intp)
    if first.size:
        at_top = np.flatnonzero(Z.data == np.repeat(np.maximum.reduceat(Z.data, first), size[filled]))
        columns[filled] = Z.indices[at_top[np.searchsorted(at_top, first)]]
    return columns


def largest_values(Z: Any) -> Array:
    """The largest entry of each row; 0 for a sparse row without entries."""
    if not issparse(Z):
        return np.asarray(Z.max(axis=1))
    filled = np.diff(Z.indptr) > 0
    values = np.zeros(Z.shape[0], dtype=Z.dtype)
    if filled.any():
        values[filled] = np.maximum.reduceat(Z.data, Z.indptr[:-1][filled])
    return values


def scaled_rows(Z: Any, factor: Array | None) -> Any:
    """Each row times its factor; the rows themselves where there is none."""
    if factor is None:
        return Z
    if not issparse(Z):
        return Z * factor[:, None]
    data = Z.data * np.repeat(factor, np.diff(Z.indptr))
    return csr_array((data, Z.indices, Z.indptr), shape=Z.shape)


def same_rows(one: Any, two: Any) -> bool:
    """Whether both hold the same numbers."""
    if not issparse(one):
        return bool((one == two).all())
    return all(np.array_equal(getattr(one, part), getattr(two, part)) for part in ("indptr", "indices", "data"))


def replaced_rows(Z: Any, at: Array, rows: Any) -> Any:
    """Z with `rows` in place of the rows where the mask `at` is set."""
    if not issparse(Z):
        Z = Z.copy()
        Z[at] = rows
        return Z
    source = np.arange(Z.shape[0])
    source[at] = Z.shape[0] + np.arange(int(at.sum()))
    return csr_array(csr_array(vstack([Z, rows]))[source])


def column_sums(Z: Any) -> Array:
    """Sum of each column, in double precision."""
    return np.asarray(Z.sum(axis=0, dtype=np.float64)).ravel()
