"""The linear term of the Z-step, B + alpha P: whole, or its largest entries where assignments are sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Certificate, Problem
from .._rows import row_arrays
from .objective import block_statistics, certificate_from, inverse_width, kernel_values, row_blocks

KEPT = 8
"""Entries kept a row in a sparse term: a point seldom hesitates between more clusters. Others are computed again."""


@dataclass(frozen=True)
class DenseTerm:
    """The term as an array, for assignments that are one."""

    B: Array
    threads: int = 1

    @property
    def best(self) -> Array:
        """Column of the largest entry of each row."""
        return self.B.argmax(axis=1)

    @property
    def highest(self) -> Array:
        """Largest entry of each row."""
        return np.asarray(self.B.max(axis=1))

    @property
    def largest(self) -> float:
        """Largest absolute entry."""
        return float(max(self.B.max(), -self.B.min()))

    @cached_property
    def scale(self) -> float:
        """What a relative gap is relative to: sum_n max_k b_nk (above the row's minimum where that is negative)."""
        sums = np.empty(-(-self.B.shape[0] // _native.BLOCK_ROWS))
        _native.row_ranges(np.ascontiguousarray(self.B), sums, self.threads)
        return float(sums.sum())

    def energy(self, Z: Array) -> float:
        """-tr(B'Z): the objective where nothing is smoothed."""
        return -float((self.B * Z).sum(dtype=np.float64))


@dataclass(frozen=True)
class SparseTerm:
    """The largest entries of each row, largest first, a bound on the others, and the rule to compute any of them.

    Beyond the points this takes 8 bytes (float32) for each kept entry, not 4 for each of all K.
    """

    column: Array
    value: Array
    least: Array
    """The smallest entry of each row."""
    native: Any
    """What the native loops need to compute any entry."""
    sources: tuple[Any, ...]
    """The arrays that `native` points to."""
    shape: tuple[int, int]
    threads: int

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
        """What a relative gap is relative to, as for a dense term."""
        return float((self.highest - np.minimum(self.least, 0)).sum(dtype=np.float64))

    @property
    def largest(self) -> float:
        """Largest absolute entry."""
        return float(max(np.abs(self.highest).max(), np.abs(self.least).max()))

    def energy(self, Z: Any) -> float:
        """-tr(B'Z): the objective where nothing is smoothed."""
        n, dtype = self.shape[0], self.value.dtype
        edges = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
        return self.certificate((*edges, np.zeros(n, dtype=dtype)), 0.0, Z).energy

    def certificate(
        self, graph_arrays: tuple[Array, Array, Array, Array], lam: float, Z: Any, slack: float = 0.0
    ) -> Certificate:
        """Energy of Z (CSR) and a bound on E(Z) - min E over all K columns.

        The bound is proven; `slack` is how much larger it may be in a row than what a look at every column would give.
        """
        stats, start = block_statistics(self.shape[0]), Z.indptr.astype(np.int64, copy=False)
        rows = np.diff(start).astype(np.int32), Z.indices.astype(np.int32, copy=False), Z.data.astype(np.float64)
        _native.sparse_sweep(
            *graph_arrays, self.native, lam, slack, start, rows, rows, None, None, 0.0, stats, self.threads
        )
        return certificate_from(stats, lam)


def linear_term(
    problem: Problem, C: Array, *, sparse: bool, kept: int = KEPT, extra: Any = None
) -> DenseTerm | SparseTerm:
    """B at modes C with the prior's pull added, stored in the way of the assignments.

    `extra` (N, K), a CSR matrix, is added as well: the pull of rows that are elsewhere and held.
    """
    if sparse:
        return _sparse_term(problem, C, kept, extra)
    limit = problem.in_kmeans_limit
    B = kernel_values(problem.points, C, problem.bandwidth, problem.sample_weight, squared=limit)
    if problem.prior is not None:
        B += problem.pull
    if extra is not None:
        _add_rows(B, extra, slice(0, problem.points.n))
    return DenseTerm(B, problem.points.threads)


def _sparse_term(problem: Problem, C: Array, kept: int, extra: Any = None) -> SparseTerm:
    """The term in blocks of rows; `kept` entries of each row stay."""
    points, sigma, weight, limit = problem.points, problem.bandwidth, problem.sample_weight, problem.in_kmeans_limit
    pull = None if problem.prior is None else csr_array(problem.pull)
    if extra is not None:
        pull = extra if pull is None else csr_array(pull + extra)
    K, dtype = C.shape[0], points.X.dtype
    m = min(kept, K)
    column, value = np.empty((points.n, m), dtype=np.int32), np.empty((points.n, m), dtype=dtype)
    bound, least = np.empty(points.n, dtype=dtype), np.empty(points.n, dtype=dtype)
    for rows, some in row_blocks(points, K):
        width = sigma[rows] if np.ndim(sigma) else sigma
        B = kernel_values(some, C, width, None if weight is None else weight[rows], squared=limit)
        if pull is not None:
            _add_rows(B, pull, rows)
        _native.keep_largest(B, column[rows], value[rows], bound[rows], least[rows], points.threads)
    sources = (
        points.arrays,
        np.ascontiguousarray(C),
        np.einsum("kd,kd->k", C, C),
        inverse_width(1.0 if limit else sigma, dtype),
        limit,
        weight,
        None if pull is None else row_arrays(pull),
        column,
        value,
        bound,
    )
    native = _native.sparse_term(*sources)
    return SparseTerm(column, value, least, native, sources, (points.n, K), points.threads)


def _add_rows(B: Array, matrix: Any, rows: slice) -> None:
    """Add the entries of some rows of a CSR matrix to B."""
    first, last = matrix.indptr[rows.start], matrix.indptr[rows.stop]
    at = np.repeat(np.arange(B.shape[0]), np.diff(matrix.indptr[rows.start : rows.stop + 1]))
    B[at, matrix.indices[first:last]] += matrix.data[first:last]
