"""The Z-step: a convex quadratic program on a product of simplices, solved to a certified gap."""

from __future__ import annotations

import numpy as np

from .. import _native
from .._records import Array, Assignments, Graph
from .faces import Faces, Pace
from .objective import certificate_from, certify, scale_of, statistics
from .points import one_hot


def solve_assignments(
    graph: Graph, B: Array, lam: float, Z0: Array, *, tol: float = 1e-4, max_iter: int = 5000, threads: int = 1
) -> Assignments:
    """Minimise E(Z) = lam tr(Z'LZ) - tr(B'Z) over rows on the simplex, to a certified gap.

    Stops when E(Z) - min E <= tol * sum_n max_k b_nk is proven. Never returns anything worse than Z0.
    """
    if lam == 0 or graph.weights.nnz == 0:
        Z = one_hot(B.argmax(axis=1), B.shape[1], B.dtype)
        return Assignments(Z, -float((B * Z).sum(dtype=np.float64)), 0.0, 1, True)
    target = tol * scale_of(B)
    work = np.dtype(np.float64) if rounding(graph, lam, B.dtype) > 0.1 * target else B.dtype
    problem = (graph.astype(work), B.astype(work, copy=False), lam)
    Z, bound, n_iter = _accelerated(*problem, Z0.astype(work), target, max_iter, threads)
    proof = certify(*problem, Z, threads)
    lower = max(proof.energy - proof.gap, bound - rounding(graph, lam, work))
    # The bound holds for any Z: for the one rounded back to the caller's precision, and for the start
    # where momentum ended above it.
    candidates = (Z.astype(B.dtype, copy=False), Z0)
    rounded = proof if work == B.dtype else certify(*problem, candidates[0].astype(work), threads)
    energies = [rounded.energy, certify(*problem, Z0.astype(work, copy=False), threads).energy]
    best = int(energies[1] < energies[0])
    gap = max(energies[best] - lower, 0.0)
    return Assignments(candidates[best], energies[best], gap, n_iter, gap <= target)


def _accelerated(
    graph: Graph, B: Array, lam: float, Z: Array, target: float, max_iter: int, threads: int
) -> tuple[Array, float, int]:
    """Algorithm 1 with a step for each row, L <= 2 diag(L), and momentum restarted when it points uphill.

    Where that is slow, Newton steps on faces come in between.

    Returns Z, the best lower bound on min E that any iterate proved, and the number of sweeps.
    """
    step = row_steps(graph, lam, B)
    Z_old, WZ_old, stats = Z.copy(), np.zeros_like(Z), statistics(Z.shape[0])
    t, momentum, lower = 1.0, 0.0, -np.inf
    pace = Pace(Faces(graph, B, lam), target)
    for n_iter in range(1, max_iter + 1):
        _native.sweep(*graph.arrays, B, lam, Z, Z_old, WZ_old, step, momentum, stats, threads)
        at = certificate_from(stats, lam)
        lower = max(lower, at.energy - at.gap)
        if at.energy - lower <= 0.9 * target:
            return Z, lower, n_iter
        Z, Z_old = Z_old, Z
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        uphill = stats[:, 3].sum() > 0
        momentum, t = (0.0, 1.0) if uphill else ((t - 1) / t_next, t_next)
        if pace.too_slow(at.energy - lower):
            Z, momentum, t = pace.faces.step(Z, threads), 0.0, 1.0
            Z_old[:] = Z
    return Z, lower, max_iter


def row_steps(graph: Graph, lam: float, B: Array) -> Array:
    """The steps of each row, in the precision of B."""
    return bounded_steps(graph, lam, float(np.abs(B).max())).astype(B.dtype)


def bounded_steps(graph: Graph, lam: float, largest: float) -> Array:
    """1 / (4 lam d_n), bounded for rows whose degree is (nearly) zero, where it suffices to reach a corner."""
    linked = graph.diagonal > 0
    steps = 1 / (4.0 * lam * graph.diagonal[linked].astype(np.float64))
    to_a_corner = 1e4 / max(largest, float(np.finfo(np.float32).tiny))
    longest = max(to_a_corner, float(np.median(steps)))
    step = np.full(graph.diagonal.size, longest)
    step[linked] = np.minimum(steps, longest)
    return step


def rounding(graph: Graph, lam: float, dtype: np.dtype) -> float:
    """How far rounding of the gradient may move the certificate in this precision."""
    return float(2 * lam * np.finfo(dtype).eps * graph.diagonal.sum(dtype=np.float64))
