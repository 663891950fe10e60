"""Partial labels: known rows of Z are pinned, and the others see them through the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from .._records import Array, Assignments, Graph
from .assignments import solve_assignments
from .consensus import contingency
from .objective import certify
from .points import one_hot


@dataclass(frozen=True)
class Pins:
    """The Z-step over the free rows only: what the pinned ones contribute is linear."""

    free: Array
    pinned: Array
    Z: Array
    """Assignments of the pinned rows, one-hot."""
    inner: Graph
    """Edges between free rows; the diagonal is that of the whole graph."""
    cross: Array
    """(W - c d d') Z over the pinned rows, for each free row."""


def make_pins(graph: Graph, known: Array, K: int, dtype: Any) -> Pins:
    """From the known cluster of each point, -1 where it is not known."""
    free, pinned = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    Z = one_hot(known[pinned], K, dtype)
    rows = csr_array(graph.weights[free])
    W = csr_array(rows[:, free])
    inner = Graph(W, W, graph.diagonal[free], graph.degrees[free], graph.component[free], graph.evenness)
    cross = rows[:, pinned] @ Z
    if graph.evenness > 0:
        held = graph.diagonal[pinned].astype(np.float64) @ Z
        cross = cross - np.outer(graph.evenness * inner.diagonal, held)
    return Pins(free, pinned, Z, inner, np.ascontiguousarray(cross, dtype=dtype))


def solve_pinned(
    graph: Graph, B: Array, lam: float, Z0: Array, pins: Pins, *, tol: float = 1e-4, threads: int = 1
) -> Assignments:
    """Minimise E(Z) with some rows held: b_n + 2 lam (W Z)_n over the pinned neighbours takes the place of b_n."""
    linear = B[pins.free] + B.dtype.type(2 * lam) * pins.cross
    part = solve_assignments(pins.inner, linear, lam, Z0[pins.free], tol=tol, threads=threads)
    Z = np.empty_like(Z0)
    Z[pins.free], Z[pins.pinned] = part.Z, pins.Z
    return replace(part, Z=Z, energy=certify(graph, B, lam, Z, threads).energy)


def spread_labels(graph: Graph, known: Array, K: int) -> Array:
    """Labels of all points from a few known ones by Poisson learning (Calder, Cook, Thorpe & Slepcev 2020).

    Solves L U = sources, one unit at each known point less the mean: unlike harmonic extension this stays informative
    with one label a class.
    """
    at = np.flatnonzero(known >= 0)
    source = np.zeros((known.size, K))
    source[at, known[at]] = 1
    source[at] -= source[at].mean(axis=0)
    degrees = np.where(graph.degrees > 0, graph.degrees, 1).astype(np.float64)
    root = 1 / np.sqrt(degrees)
    scaled = diags_array(root) @ graph.affinity.astype(np.float64) @ diags_array(root)
    L = csr_array(diags_array(np.full(known.size, 1 + 1e-9)) - scaled)
    U = np.column_stack([cg(L, root * source[:, k], rtol=1e-4, maxiter=1000)[0] for k in range(K)]) * root[:, None]
    labels = U.argmax(axis=1).astype(np.int32)
    labels[at] = known[at]
    return labels


def cluster_order(Z: Array, named: Array) -> Array:
    """For each class that `named` gives to points the column of Z that has most points with it."""
    from scipy.optimize import linear_sum_assignment  # not needed at import

    return np.asarray(linear_sum_assignment(-contingency(named, Z.argmax(axis=1), Z.shape[1]))[1])
