"""Rows of Z that are held at a known cluster: the others see them through the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._records import Array, Assignments, Graph
from .._rows import one_hot
from .assignments import solve_assignments
from .objective import certify
from .terms import DenseTerm


@dataclass(frozen=True)
class HeldRows:
    """The Z-step over the free rows only: what the held ones contribute is linear."""

    free: Array
    held: Array
    Z: Array
    """Assignments of the held rows, one-hot."""
    inner: Graph
    """Edges between free rows; the diagonal is that of the whole graph."""
    cross: Array
    """W Z over the held rows, for each free row."""


def hold_rows(graph: Graph, known: Array, K: int, dtype: Any) -> HeldRows:
    """From the known cluster of each point, -1 where it is not known."""
    free, held = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    Z = one_hot(known[held], K, dtype)
    rows = csr_array(graph.weights[free])
    W = csr_array(rows[:, free])
    inner = Graph(W, W, graph.diagonal[free], graph.degrees[free], graph.component[free])
    return HeldRows(free, held, Z, inner, np.ascontiguousarray(rows[:, held] @ Z, dtype=dtype))


def solve_free_rows(
    graph: Graph, term: DenseTerm, lam: float, Z0: Array, rows: HeldRows, *, tol: float = 1e-4
) -> Assignments:
    """Minimise E(Z) with some rows held: b_n + 2 lam (W Z)_n over the held neighbours takes the place of b_n."""
    linear = term.B[rows.free] + term.B.dtype.type(2 * lam) * rows.cross
    part = solve_assignments(rows.inner, linear, lam, Z0[rows.free], tol=tol, threads=term.threads)
    Z = np.empty_like(Z0)
    Z[rows.free], Z[rows.held] = part.Z, rows.Z
    return replace(part, Z=Z, energy=certify(graph, term.B, lam, Z, term.threads).energy)
