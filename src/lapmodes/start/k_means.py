"""K-means: the special case lam = 0 and sigma = infinity, from k-means++ seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._progress import Step, no_step
from .._records import SAME, Array, Graph, Points, Problem, Start
from .._rows import largest_columns, one_hot
from ..solve.alternate import Stopping, alternate
from ..solve.objective import kernel_values, nearest_mode

RESTARTS = 10
STOPPING = Stopping(tol=1e-3, max_iter=300, exact=False)


def best_kmeans(
    problem: Problem, K: int, rng: np.random.RandomState, *, sparse: bool = False, step: Step = no_step
) -> Start:
    """The best of several K-means runs on the points of a problem, each from k-means++ seeds."""
    points, weight = problem.points, problem.sample_weight
    kmeans = replace(problem, lam=0.0, bandwidth=np.inf, prior=None, known=None)
    best, lowest = None, np.inf
    for _ in range(RESTARTS):
        seeds = points.rows(plus_plus_rows(points, K, rng, weight))
        run = alternate(kmeans, start_from_modes(points, seeds, sparse=sparse), STOPPING)
        if best is None or run.objective < lowest * (1 - SAME):
            best, lowest = Start(run.C, run.Z), run.objective
        step(0, f"K-means inertia {lowest:.6g}")
    assert best is not None
    return best


def start_from_modes(points: Points, C: Array, *, sparse: bool = False) -> Start:
    """Given modes; each point starts with the nearest."""
    return Start(C, one_hot(nearest_mode(points, C), C.shape[0], points.X.dtype, sparse=sparse))


def dense_modes(points: Points, graph: Graph, Z: Any) -> Array:
    """For each cluster its point with most weight to others of the cluster; the heaviest where there is none."""
    if issparse(Z):
        members, inside = Z.T.tocsr(), Z.multiply(graph.affinity @ Z).T.tocsr()
        linked = np.diff(inside.indptr) > 0
        return points.rows(np.where(linked, largest_columns(inside), largest_columns(members)))
    inside = Z * (graph.affinity @ Z)
    return points.rows(np.where(inside.max(axis=0) > 0, inside.argmax(axis=0), Z.argmax(axis=0)))


def plus_plus_rows(points: Points, K: int, rng: np.random.RandomState, sample_weight: Array | None = None) -> Array:
    """K rows drawn by greedy k-means++ (Arthur & Vassilvitskii 2007).

    Of a few candidates, drawn with probability proportional to the squared distance from the rows so far, the one
    that lowers the sum of these distances most is taken.
    """
    weight = np.ones(points.n) if sample_weight is None else sample_weight.astype(np.float64)
    chosen = [int(rng.choice(points.n, p=weight / weight.sum()))]
    nearest = -kernel_values(points, points.rows(np.array(chosen)), 1.0, squared=True)[:, 0].astype(np.float64)
    trials = 2 + int(np.log(K))
    for _ in range(1, K):
        cumulated = np.cumsum(weight * nearest)
        draws = np.searchsorted(cumulated, rng.random_sample(trials) * cumulated[-1])
        draws = np.minimum(draws, points.n - 1)
        closer = np.minimum(-kernel_values(points, points.rows(draws), 1.0, squared=True), nearest[:, None])
        best = int((weight @ closer).argmin())
        chosen.append(int(draws[best]))
        nearest = closer[:, best].astype(np.float64)
    return np.array(chosen)
