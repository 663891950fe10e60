"""The starts: modes and assignments from which the alternation begins. All randomness of the solver is here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._progress import Step, no_step
from .._records import MANY_CLUSTERS, Array, Graph, Landscape, Start
from .._rows import as_dense, as_sparse, largest_columns
from .alternate import Settings, alternate
from .consensus import SAME, Consensus, find_consensus
from .partial import cluster_order, spread_labels
from .points import Points, as_points, kernel_values, nearest_mode, one_hot
from .spectral import spectral_labels

KMEANS_RESTARTS = 10
KMEANS_CANDIDATE_RESTARTS = 4
KMEANS_ROWS, KMEANS_ROWS_A_CLUSTER = 5_000, 50
"""Where there are many points, K-means as a candidate is run on this many at least."""
KMEANS_SETTINGS = Settings(tol=1e-3, max_iter=300, hard=False)


def make_start(
    points: Points,
    graph: Graph,
    init: Any,
    K: int,
    rng: np.random.RandomState,
    *,
    landscape: Landscape | None = None,
    known: Array | None = None,
    sample_weight: Array | None = None,
    sparse: bool = False,
    step: Step = no_step,
) -> Start:
    """One start of the named kind, or from given modes, or from (modes or None, assignments).

    Its assignments are an array, or a CSR matrix if `sparse`. With partial labels (an array only) the clusters of a
    start are named by what the labels say when they spread over the graph.
    """
    start = _unnamed(points, graph, init, K, rng, landscape, sample_weight, sparse, step)
    if known is None:
        return start
    named = spread_labels(graph if landscape is None else landscape.graphs[0], known, K)
    order = cluster_order(start.Z, named)
    Z = np.ascontiguousarray(start.Z[:, order])
    at = np.flatnonzero(known >= 0)
    Z[at] = one_hot(known[at], K, Z.dtype)
    return Start(np.ascontiguousarray(start.C[order]), Z)


def _unnamed(
    points: Points,
    graph: Graph,
    init: Any,
    K: int,
    rng: np.random.RandomState,
    landscape: Landscape | None,
    sample_weight: Array | None,
    sparse: bool,
    step: Step,
) -> Start:
    if isinstance(init, tuple):
        modes, Z = init
        Z = as_sparse(Z, points.dtype) if sparse else np.ascontiguousarray(as_dense(Z), dtype=points.dtype)
        return Start(dense_modes(points, graph, Z) if modes is None else _typed(modes, points), Z)
    if not isinstance(init, str):
        return from_modes(points, _typed(init, points), sparse=sparse)
    if init == "k-means":
        return best_kmeans(points, graph, K, rng, sample_weight=sample_weight, sparse=sparse, step=step)
    if init == "consensus":
        assert landscape is not None
        found = reach_consensus(points, graph, landscape, K, rng, sample_weight, sparse=sparse)
        return start_from(points, graph, found)
    if init == "spectral":
        Z = one_hot(spectral_labels(graph, K, rng), K, points.dtype, sparse=sparse)
        return Start(dense_modes(points, graph, Z), Z)
    return from_modes(points, _seeds(points, init, K, rng, sample_weight), sparse=sparse)


def from_modes(points: Points, C: Array, *, sparse: bool = False) -> Start:
    """Given modes; each point starts with the nearest."""
    return Start(C, one_hot(nearest_mode(points, C), C.shape[0], points.dtype, sparse=sparse))


def dense_modes(points: Points, graph: Graph, Z: Any) -> Array:
    """For each cluster its point with most weight to others of the cluster; the heaviest where there is none."""
    if issparse(Z):
        members, inside = Z.T.tocsr(), Z.multiply(graph.affinity @ Z).T.tocsr()
        linked = np.diff(inside.indptr) > 0
        return points.rows(np.where(linked, largest_columns(inside), largest_columns(members)))
    inside = Z * (graph.affinity @ Z)
    return points.rows(np.where(inside.max(axis=0) > 0, inside.argmax(axis=0), Z.argmax(axis=0)))


def start_from(points: Points, graph: Graph, consensus: Consensus) -> Start:
    """The votes, and the modes where they are densest."""
    votes = consensus.votes.astype(points.dtype)
    return Start(dense_modes(points, graph, votes), votes)


def reach_consensus(
    points: Points,
    graph: Graph,
    landscape: Landscape,
    K: int,
    rng: np.random.RandomState,
    sample_weight: Array | None = None,
    *,
    quick: bool = False,
    sparse: bool = False,
) -> Consensus:
    """The partition that candidates of unlike kinds agree on; `quick` leaves the costly ones out."""
    from .candidates import make_candidates, sample_rows  # not needed at import

    rows = sample_rows(points.n, rng, max(KMEANS_ROWS, KMEANS_ROWS_A_CLUSTER * K))
    some = points if rows.size == points.n else as_points(points.X[rows], points.threads)
    weight = None if sample_weight is None else sample_weight[rows]
    restarts = KMEANS_CANDIDATE_RESTARTS if K < MANY_CLUSTERS else 1
    means = best_kmeans(some, graph, K, rng, restarts=restarts, sample_weight=weight, sparse=sparse).C
    kmeans = nearest_mode(points, means)
    found = make_candidates(points, landscape, K, kmeans, rng, quick)
    return find_consensus(found or {"k-means": kmeans}, landscape.graphs[0].affinity, K, sparse=sparse)


def best_kmeans(
    points: Points,
    graph: Graph,
    K: int,
    rng: np.random.RandomState,
    *,
    restarts: int = KMEANS_RESTARTS,
    sample_weight: Array | None = None,
    sparse: bool = False,
    step: Step = no_step,
) -> Start:
    """The best of several K-means runs, each from k-means++ seeds: lam = 0, sigma = infinity."""
    best, lowest = None, np.inf
    for _ in range(restarts):
        seeds = _seeds(points, "k-means++", K, rng, sample_weight)
        start = from_modes(points, seeds, sparse=sparse)
        run = alternate(points, graph, start, 0.0, np.inf, KMEANS_SETTINGS, sample_weight=sample_weight)
        if run.objective < lowest * (1 - SAME):
            best, lowest = Start(run.C, run.Z), run.objective
        step(1, f"K-means inertia {lowest:.6g}")
    assert best is not None
    return best


def _seeds(points: Points, init: str, K: int, rng: np.random.RandomState, sample_weight: Array | None) -> Array:
    if init == "random":
        return points.rows(rng.choice(points.n, K, replace=False))
    return points.rows(plus_plus(points, K, rng, sample_weight))


def plus_plus(points: Points, K: int, rng: np.random.RandomState, sample_weight: Array | None) -> Array:
    """K rows drawn by greedy k-means++ (Arthur & Vassilvitskii 2007).

    Of a few candidates, drawn with probability proportional to the squared distance from the rows so far, the one
    that lowers the sum of these distances most is taken.
    """
    weight = np.ones(points.n) if sample_weight is None else sample_weight.astype(np.float64)
    chosen = [int(rng.choice(points.n, p=weight / weight.sum()))]
    nearest = _sqdist(points, chosen)[:, 0].astype(np.float64)
    trials = 2 + int(np.log(K))
    for _ in range(1, K):
        cumulated = np.cumsum(weight * nearest)
        draws = np.searchsorted(cumulated, rng.random_sample(trials) * cumulated[-1])
        draws = np.minimum(draws, points.n - 1)
        closer = np.minimum(_sqdist(points, draws), nearest[:, None])
        best = int((weight @ closer).argmin())
        chosen.append(int(draws[best]))
        nearest = closer[:, best].astype(np.float64)
    return np.array(chosen)


def _sqdist(points: Points, rows: Any) -> Array:
    """Squared distances (N, len(rows)) to some of the points."""
    return -kernel_values(points, points.rows(np.asarray(rows)), 1.0, squared=True)


def _typed(modes: Any, points: Points) -> Array:
    dense = modes.toarray() if hasattr(modes, "toarray") else modes
    return np.ascontiguousarray(dense, dtype=points.dtype)
