"""The Z-step for many clusters: the same sweeps as `assignments`, over rows that hold only what is not zero.

The sweeps are those over all K columns: an entry is left out only where a bound proves that it is zero, or that it does
not matter beside the gap. Energy and gap are those of the whole problem. All arithmetic is in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from .._records import Array, Assignments, Certificate, Graph
from .._rows import one_hot_rows
from .assignments import bounded_steps, rounding
from .objective import certificate_from, statistics
from .sparse_term import SparseTerm

SLACK = 0.02
"""Columns that could lower the objective by less than this share of the gap, all rows together, are not looked for."""
SPARE = 2
"""Entries for which a row has room beyond those it starts with."""


def solve_sparse(
    graph: Graph, term: SparseTerm, lam: float, Z0: Any, *, tol: float = 1e-4, max_iter: int = 5000, threads: int = 1
) -> Assignments:
    """Minimise E(Z) = lam tr(Z'LZ) - tr(B'Z) over rows on the simplex, to a certified gap; Z0 and Z are CSR.

    As :func:`~lapmodes.solve.assignments.solve_assignments`, without Newton steps on long graphs.
    """
    if lam == 0 or graph.weights.nnz == 0:
        Z = one_hot_rows(term.best, term.shape[1], term.dtype)
        return Assignments(Z, certify_sparse(None, term, 0.0, Z, threads).energy, 0.0, 1, True)
    target = tol * term.scale
    slack = SLACK * target / term.shape[0]
    rows, lower, n_iter, start = _accelerated(graph, term, lam, Z0, target, slack, max_iter, threads)
    candidates = (rows.matrix(term.shape, term.dtype), Z0)
    proof = certify_sparse(graph, term, lam, candidates[0], threads, slack=slack)
    lower = max(proof.energy - proof.gap, lower - rounding(graph, lam, np.dtype(np.float64)))
    energies = proof.energy, start
    best = int(energies[1] < energies[0])
    gap = max(energies[best] - lower, 0.0)
    return Assignments(candidates[best], energies[best], gap, n_iter, gap <= target)


def certify_sparse(
    graph: Graph | None, term: SparseTerm, lam: float, Z: Any, threads: int = 1, *, slack: float = 0.0
) -> Certificate:
    """Energy of Z and a bound on E(Z) - min E over all K columns; no graph is one without edges.

    The bound is proven; `slack` is how much larger it may be in a row than what a look at every column would give.
    """
    rows, stats, none = _Rows.of(Z, 0), statistics(term.shape[0]), np.empty(0)
    nobody = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), none
    arrays = _no_edges(term) if graph is None else graph.arrays
    _native.sparse_sweep(
        *arrays, term.native, lam, slack, rows.start, *rows.now, *rows.now, *nobody, none, 0.0, stats, threads
    )
    return certificate_from(stats, lam)


def _accelerated(
    graph: Graph, term: SparseTerm, lam: float, Z0: Any, target: float, slack: float, max_iter: int, threads: int
) -> tuple[_Rows, float, int, float]:
    """Returns the rows, the best lower bound on min E that any iterate proved, the sweeps, and the energy of Z0."""
    step = bounded_steps(graph, lam, term.size)
    rows, stats = _Rows.of(Z0, SPARE), statistics(term.shape[0])
    t, momentum, lower, start = 1.0, 0.0, -np.inf, np.inf
    for n_iter in range(1, max_iter + 1):
        while True:
            iterates = *rows.now, *rows.before, *rows.after
            _native.sparse_sweep(
                *graph.arrays, term.native, lam, slack, rows.start, *iterates, step, momentum, stats, threads
            )
            if rows.fit():
                break
        at = certificate_from(stats, lam)
        lower, start = max(lower, at.energy - at.gap), at.energy if n_iter == 1 else start
        if at.energy - lower <= 0.9 * target:
            return rows, lower, n_iter, start
        rows.turn()
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        uphill = stats[:, 3].sum() > 0
        momentum, t = (0.0, 1.0) if uphill else ((t - 1) / t_next, t_next)
    return rows, lower, max_iter, start


def _no_edges(term: SparseTerm) -> tuple[Array, Array, Array, Array]:
    """The arrays of a graph without edges."""
    n = term.shape[0]
    nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=term.dtype)
    return np.zeros(n + 1, dtype=np.int64), *nothing, np.zeros(n, dtype=term.dtype)


class _Rows:
    """Three iterates, now, before and after, each as (count, column, value) with the same room for every row."""

    def __init__(self, start: Array, now: tuple[Array, ...], before: tuple[Array, ...]) -> None:
        self.start = start
        self.now, self.before = now, before
        self.after = _empty_like(now)

    @staticmethod
    def of(Z: Any, spare: int) -> _Rows:
        """The rows of a CSR matrix, with room for some more entries in each."""
        size = np.diff(Z.indptr).astype(np.int32)
        start = _starts(np.minimum(size + spare, Z.shape[1]))
        now = _moved((size, Z.indices, Z.data), _starts(size), start)
        return _Rows(start, now, tuple(part.copy() for part in now) if spare else now)

    def fit(self) -> bool:
        """Whether the last sweep had room for all of its result; if not, there is more now and it must be repeated."""
        room = np.diff(self.start)
        short = self.after[0] > room
        if not short.any():
            return True
        start = _starts(np.where(short, np.maximum(2 * room, self.after[0]), room))
        self.now, self.before = (_moved(rows, self.start, start) for rows in (self.now, self.before))
        self.start, self.after = start, _empty_like(self.now)
        return False

    def turn(self) -> None:
        """After becomes now, and now before."""
        self.before, self.now, self.after = self.now, self.after, self.before

    def matrix(self, shape: tuple[int, int], dtype: Any) -> Any:
        """The current iterate as a CSR matrix."""
        start = _starts(self.now[0])
        _, column, value = _moved(self.now, self.start, start)
        Z = csr_array((value.astype(dtype), column, start), shape=shape)
        Z.eliminate_zeros()
        Z.sort_indices()
        return Z


def _empty_like(rows: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.empty_like(part) for part in rows)


def _starts(room: Array) -> Array:
    """Where each row's room begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(room, dtype=np.int64)])


def _moved(rows: tuple[Array, ...], old: Array, new: Array) -> tuple[Array, Array, Array]:
    """The same rows in other places."""
    count, column, value = rows
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count, dtype=np.int64) - count, count)
    source, target = np.repeat(old[:-1], count) + within, np.repeat(new[:-1], count) + within
    columns, values = np.empty(new[-1], dtype=np.int32), np.empty(new[-1])
    columns[target], values[target] = column[source], value[source]
    return count, columns, values
