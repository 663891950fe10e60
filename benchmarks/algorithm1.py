"""The paper's Algorithm 1 for the Z-step, in NumPy and SciPy: one step size for all rows, momentum without restart."""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse.linalg import eigsh

from lapmodes._records import Graph
from lapmodes.solve.terms import DenseTerm

LOOK = 10
"""Iterations between certificates, so that they cost the reference next to nothing."""


def project(V: np.ndarray) -> np.ndarray:
    """Rows onto the simplex, by sorting (Duchi et al. 2008)."""
    sorted_rows = -np.sort(-V, axis=1)
    excess = (np.cumsum(sorted_rows, axis=1) - 1) / np.arange(1, V.shape[1] + 1)
    rank = (sorted_rows > excess).sum(axis=1) - 1
    return np.maximum(V - np.take_along_axis(excess, rank[:, None], axis=1), 0)


def algorithm1(
    graph: Graph, B: np.ndarray, lam: float, Z: np.ndarray, tol: float, limit: float
) -> tuple[int, float, float]:
    """Iterations, seconds and relative gap when a gap of `tol` was proven or the limit in seconds was reached.

    The largest eigenvalue M of L, for the step 1 / (2 lam M), is not part of the time.
    """
    L = graph.laplacian
    start = np.random.default_rng(0).random(L.shape[0]).astype(L.dtype)
    M = 1.01 * float(eigsh(L, k=1, which="LA", tol=1e-2, v0=start, return_eigenvectors=False)[0])
    step, t, Y, lower = L.dtype.type(1 / (2 * lam * M)), 1.0, Z, -np.inf
    scale, began, n_iter = DenseTerm(B).scale, time.perf_counter(), 0
    while True:
        if n_iter % LOOK == 0:
            G = 2 * lam * (L @ Z) - B
            energy = 0.5 * float(np.vdot(G, Z) - np.vdot(B, Z))
            lower = max(lower, energy - float(np.vdot(G, Z) - G.min(axis=1).sum(dtype=np.float64)))
            seconds = time.perf_counter() - began
            if energy - lower <= tol * scale or seconds > limit:
                return n_iter, seconds, (energy - lower) / scale
        new = project(Y - step * (2 * lam * (L @ Y) - B))
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        Y = new + L.dtype.type((t - 1) / t_next) * (new - Z)
        Z, t, n_iter = new, t_next, n_iter + 1
