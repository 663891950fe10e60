"""The linear term of the Z-step, B + alpha P: whole, or its largest entries where assignments are sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import _native
from .._records import Array, Certificate, Graph, Problem
from .._rows import row_arrays
from .objective import block_statistics, certificate_from, certify, fidelity, inverse_width, row_blocks, scale_of

KEPT = 8
"""Entries kept a row in a sparse term: a point seldom hesitates between more clusters. Others are computed again."""


@dataclass(frozen=True)
class DenseTerm:
    """The term as an array, for assignments that are one."""

    B: Array
    threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """(N, K)."""
        return self.B.shape[0], self.B.shape[1]

    @property
    def dtype(self) -> Any:
        """Precision of the entries."""
        return self.B.dtype

    @property
    def best(self) -> Array:
        """Column of the largest entry of each row."""
        return self.B.argmax(axis=1)

    @property
    def highest(self) -> Array:
        """Largest entry of each row."""
        return np.asarray(self.B.max(axis=1))

    @cached_property
    def scale(self) -> float:
        """What a relative gap is relative to."""
        return scale_of(self.B, self.threads)

    @property
    def size(self) -> float:
        """Largest absolute entry."""
        return float(max(self.B.max(), -self.B.min()))

    def certificate(self, graph: Graph | None, lam: float, Z: Array) -> Certificate:
        """Energy of Z and a proven bound on its distance to the optimum; no graph is one without edges."""
        if graph is None:
            return Certificate(-float((self.B * Z).sum(dtype=np.float64)), 0.0)
        return certify(graph, self.B, lam, Z, self.threads)


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

    def certificate(self, graph: Graph | None, lam: float, Z: Any, slack: float = 0.0) -> Certificate:
        """Energy of Z (CSR) and a bound on E(Z) - min E over all K columns; no graph is one without edges.

        The bound is proven; `slack` is how much larger it may be in a row than what a look at every column would give.
        """
        stats, start = block_statistics(self.shape[0]), Z.indptr.astype(np.int64, copy=False)
        rows = np.diff(start).astype(np.int32), Z.indices.astype(np.int32, copy=False), Z.data.astype(np.float64)
        arrays = self._no_edges if graph is None else graph.arrays
        _native.sparse_sweep(
            *arrays, self.native, lam, slack, start, rows, rows, None, None, 0.0, stats, self.threads
        )
        return certificate_from(stats, lam)

    @property
    def _no_edges(self) -> tuple[Array, Array, Array, Array]:
        """The arrays of a graph without edges."""
        n = self.shape[0]
        return (
            np.zeros(n + 1, dtype=np.int64),
            np.empty(0, dtype=np.int32),
            np.empty(0, dtype=self.dtype),
            np.zeros(n, dtype=self.dtype),
        )


def linear_term(problem: Problem, C: Array, *, sparse: bool, kept: int = KEPT) -> DenseTerm | SparseTerm:
    """B at modes C with the prior's pull added, stored in the way of the assignments."""
    if sparse:
        return _sparse_term(problem, C, kept)
    B = fidelity(problem.points, C, problem.bandwidth, problem.sample_weight)
    if problem.pull is not None:
        B += problem.pull
    return DenseTerm(B, problem.points.threads)


def _sparse_term(problem: Problem, C: Array, kept: int) -> SparseTerm:
    """The term in blocks of rows; `kept` entries of each row stay."""
    points, sigma, weight, pull = problem.points, problem.bandwidth, problem.sample_weight, problem.pull
    K, dtype = C.shape[0], points.dtype
    m = min(kept, K)
    column, value = np.empty((points.n, m), dtype=np.int32), np.empty((points.n, m), dtype=dtype)
    bound, least = np.empty(points.n, dtype=dtype), np.empty(points.n, dtype=dtype)
    for rows, some in row_blocks(points, K):
        width = sigma[rows] if np.ndim(sigma) else sigma
        B = fidelity(some, C, width, None if weight is None else weight[rows])
        if pull is not None:
            _add_rows(B, pull, rows)
        _native.keep_largest(B, column[rows], value[rows], bound[rows], least[rows], points.threads)
    sources = (
        points.arrays,
        np.ascontiguousarray(C),
        np.einsum("kd,kd->k", C, C),
        inverse_width(1.0 if problem.in_kmeans_limit else sigma, dtype),
        problem.in_kmeans_limit,
        weight,
        None if pull is None else row_arrays(pull),
        column,
        value,
        bound,
    )
    native = _native.sparse_term(*sources)
    return SparseTerm(column, value, least, native, sources, (points.n, K), points.threads)


def _add_rows(B: Array, matrix: Any, rows: slice) -> None:
    """Add the entries of some rows of a CSR matrix (or array) to B."""
    if not issparse(matrix):
        B += matrix[rows]
        return
    first, last = matrix.indptr[rows.start], matrix.indptr[rows.stop]
    at = np.repeat(np.arange(B.shape[0]), np.diff(matrix.indptr[rows.start : rows.stop + 1]))
    B[at, matrix.indices[first:last]] += matrix.data[first:last]
