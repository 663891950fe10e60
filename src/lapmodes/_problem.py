"""From an estimator's parameters and X to a posed problem: points, graph, lam and bandwidth as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ._progress import Progress
from ._records import MANY_CLUSTERS, Array, Graph, Hints, Landscape, Neighbors
from ._threads import effective_threads
from ._validation import check_graph
from .graph.affinity import (
    ENTROPIC_REACH,
    Affinity,
    effective_neighbors,
    make_affinity,
    neighbors_needed,
    symmetric_weights,
)
from .graph.anchors import usual_anchors
from .graph.bandwidth import LOCAL_NEIGHBOR, edge_scale, entropic_bandwidth, mean_scale
from .graph.landscape import given, settled_neighbors, survey
from .graph.laplacian import balanced, build_graph, empty_graph, linked
from .graph.locality import local_order
from .graph.neighbors import NeighborIndex
from .solve.objective import even_masses
from .solve.points import Points, as_points

NO_HINTS = Hints()
SCALE_POINTS = 20_000
SCALE_SAMPLE = 500
"""Above so many points, the scale of a given graph's points is estimated on so many of them."""
MANY_POINTS = 200_000
"""Above this the survey for the start would cost more than the neighbours."""
AUTO_SMOOTHNESS = 10.0
"""lam="auto" in units of one over the mean degree."""
AUTO_ANCHOR = 2.0
"""anchor="auto" for the library's own start: it outweighs the kernel, which is at most 1."""
ANCHORED_SMOOTHNESS = 1.0
"""The same where the start is part of the objective."""


@dataclass(frozen=True)
class Problem:
    """Everything the solver needs but a start."""

    points: Points
    graph: Graph
    affinity: Affinity | None
    """The rule behind the graph, for new points; None for a given graph or none."""
    lam: float
    bandwidth: Any
    anchor: float
    """How much the start counts in the objective."""
    sample_weight: Array | None
    index: NeighborIndex | None
    """Finds training neighbours; None where no neighbours were needed."""
    landscape: Landscape | None = None
    """What the candidates for a start look at, where the start is a consensus of them."""
    known: Array | None = None
    """Cluster of each point, -1 where unknown."""
    recall: float = 1.0
    """Share of true neighbours that the search found, in a sample; 1 where it was exact or not needed."""
    kept: Array | None = None
    """The sample that each point is, where points are not simply the samples: they may be in another order, and
    samples of weight zero are left out."""
    sparse: bool = False
    """Whether assignments are kept as CSR matrices."""
    stand_in: Array | None = None
    """For each sample the point that speaks for it: itself, or the nearest one of positive weight."""

    def spread_out(self, values: Array) -> Array:
        """Values of the points as values of the samples."""
        return values if self.stand_in is None else values[self.stand_in]

    def masses(self, Z: Array) -> Array | None:
        """What the balance takes from each cluster in the mapping of new points; None without balance."""
        Z = Z if self.kept is None else Z[self.kept]
        return even_masses(self.graph, Z, self.points.threads) if self.graph.evenness > 0 else None

    def samples(self, points: Array) -> Array:
        """Numbers of points as numbers of samples."""
        return points if self.kept is None else self.kept[points]

    def whole_graph(self) -> Any:
        """The affinity between all samples; those of weight zero have no edges."""
        W = self.graph.affinity
        if self.kept is None or self.stand_in is None:
            return W
        n, order = self.stand_in.size, np.argsort(self.kept)
        rows = W[order]
        indptr = np.zeros(n + 1, dtype=rows.indptr.dtype)
        indptr[self.kept[order] + 1] = np.diff(rows.indptr)
        indices = self.kept.astype(np.int32)[rows.indices]
        whole = csr_array((rows.data, indices, np.cumsum(indptr, dtype=indptr.dtype)), shape=(n, n))
        whole.sort_indices()
        return whole


def pose(
    estimator: Any, X: Any, graph: Any, sample_weight: Array | None, progress: Progress, hints: Hints = NO_HINTS
) -> Problem:
    """Leave out samples of weight zero, put the others into an order that suits the cache, and pose the problem."""
    kind = graph_kind(estimator, graph)
    W = check_graph(graph, X.shape[0], X.dtype) if kind == "precomputed" else None
    kept = None if sample_weight is None or sample_weight.all() else np.flatnonzero(sample_weight)
    if kept is not None and kept.size < max(estimator.n_clusters, 2):
        raise ValueError(
            f"'sample_weight' must be positive for at least {max(estimator.n_clusters, 2)} samples (one a cluster). "
            f"Got {kept.size}."
        )
    order = local_order(X if kept is None else X[kept]) if W is None else None
    if order is not None:
        kept = order if kept is None else kept[order]
    if kept is None:
        return _pose(estimator, X, kind, W, sample_weight, progress, hints)
    W = None if W is None else csr_array(W[kept][:, kept])
    weight = None if sample_weight is None else sample_weight[kept]
    problem = _pose(estimator, X[kept], kind, W, weight, progress, hints.among(kept, X.shape[0]))
    return replace(problem, kept=kept, stand_in=_stand_ins(X, kept, problem))


def _stand_ins(X: Any, kept: Array, problem: Problem) -> Array:
    """For each sample the point that is itself, or the nearest one."""
    stand_in = np.full(X.shape[0], -1, dtype=np.intp)
    stand_in[kept] = np.arange(kept.size)
    absent = np.flatnonzero(stand_in < 0)
    if absent.size:
        index = problem.index or NeighborIndex(problem.points.X, problem.points.threads)
        stand_in[absent] = index.query(X[absent], 1).indices[:, 0]
    return stand_in


def _pose(estimator: Any, X: Any, kind: Any, W: Any, weight: Array | None, progress: Progress, hints: Hints) -> Problem:
    """Search neighbours once, then build the graph and resolve what is 'auto'."""
    threads = effective_threads(estimator.n_jobs)
    points = as_points(X, threads)
    index, neighbors = _neighbors(estimator, X, kind, threads, progress)
    bandwidth = resolve_bandwidth(estimator.bandwidth, estimator.n_neighbors, neighbors, threads)
    affinity, built = None, empty_graph(points.n, points.dtype)
    if kind == "precomputed":
        W = linked(W, hints.must_link)
        built = build_graph(W, estimator.laplacian, weight)
    elif kind == "anchor":
        anchors = usual_anchors(X, estimator.random_state)
        affinity = Affinity(kind, estimator.n_neighbors, anchors=anchors)
        built = build_graph(anchors.between_training(), estimator.laplacian, weight)
    elif kind is not None:
        assert neighbors is not None
        width = _heat_width(estimator, bandwidth, neighbors)
        affinity = make_affinity(kind, estimator.n_neighbors, neighbors, width)
        W = linked(symmetric_weights(affinity, neighbors, threads), hints.must_link)
        built = build_graph(W, estimator.laplacian, weight)
    built = balanced(built, float(estimator.balance))
    anchor = resolve_anchor(estimator, kind)
    smoothness = ANCHORED_SMOOTHNESS if anchor else AUTO_SMOOTHNESS
    lam = auto_lam(built, points, bandwidth, smoothness) if isinstance(estimator.lam, str) else float(estimator.lam)
    landscape = None
    if chosen_init(estimator, kind) == "consensus":
        if kind == "precomputed":
            landscape = given(W)
        else:
            assert neighbors is not None
            only = built if is_large(estimator, X.shape[0]) else None
            at_once = 1 if estimator.n_clusters >= MANY_CLUSTERS else threads  # memory is to be saved there
            landscape = survey(X, neighbors, estimator.n_neighbors, at_once, only)
    recall = 1.0 if neighbors is None else neighbors.recall
    return Problem(
        points,
        built,
        affinity,
        lam,
        bandwidth,
        anchor,
        weight,
        index,
        landscape,
        hints.known,
        recall,
        sparse=resolve_sparse(estimator, hints),
    )


def graph_kind(estimator: Any, graph: Any) -> Any:
    """The affinity to build, 'precomputed', or None where no graph is needed."""
    kind = estimator.affinity
    if graph is not None and kind not in ("auto", "precomputed"):
        raise ValueError(
            f"A 'graph' was given to fit, but 'affinity' is {kind!r}. Leave 'graph' out or use affinity='precomputed'."
        )
    if kind == "precomputed" and graph is None:
        raise ValueError("affinity='precomputed' needs the graph: call fit(X, graph=W).")
    if graph is not None:
        return "precomputed"
    sees_graph = isinstance(estimator.init, str) and estimator.init in ("spectral", "consensus")
    if not sees_graph and not _smooths(estimator):
        return None
    return "adaptive" if kind == "auto" else kind


def chosen_init(estimator: Any, kind: Any) -> Any:
    """'auto' is the consensus of candidates where there is a graph to see, K-means elsewhere."""
    if isinstance(estimator.init, str) and estimator.init == "auto":
        return "consensus" if kind is not None and estimator.n_clusters > 1 else "k-means"
    return None if not isinstance(estimator.init, str) else estimator.init


def resolve_anchor(estimator: Any, kind: Any) -> float:
    """'auto' is positive where start, lam and bandwidth are all left to the library; else 0, the paper's objective."""
    if not isinstance(estimator.anchor, str):
        return float(estimator.anchor)
    left = all(isinstance(value, str) for value in (estimator.lam, estimator.bandwidth))
    left = left and estimator.path is None and isinstance(estimator.init, str) and estimator.init == "auto"
    return AUTO_ANCHOR if left and kind is not None and estimator.n_clusters > 1 else 0.0


def resolve_sparse(estimator: Any, hints: Hints) -> bool:
    """'auto' is sparse where there are many clusters and no partial labels, whose rows are held as an array."""
    wanted = estimator.sparse_assignments
    if isinstance(wanted, str):
        return bool(estimator.n_clusters >= MANY_CLUSTERS and hints.known is None and estimator.balance == 0)
    if wanted and (hints.known is not None or estimator.balance > 0):
        raise ValueError(
            "Partial labels in 'y' and 'balance' need dense assignments. "
            "Leave 'sparse_assignments' at 'auto', or set it to False."
        )
    return bool(wanted)


def is_large(estimator: Any, n: int) -> bool:
    """Whether the start must be content with one graph and roughly joined trees."""
    return bool(estimator.n_clusters >= MANY_CLUSTERS or n > MANY_POINTS)


def _smooths(estimator: Any) -> bool:
    """Whether lam is positive anywhere on the way."""
    path = estimator.path
    lams = [estimator.lam] if path is None or isinstance(path, Integral) else [lam for lam, _ in path]
    return any(lam != 0 for lam in lams)


def resolve_bandwidth(bandwidth: Any, n_neighbors: int, neighbors: Neighbors | None, threads: int) -> Any:
    """The kernel width as a float, or an array with one a point."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    assert neighbors is not None
    if bandwidth == "auto":
        return mean_scale(neighbors)
    wide = neighbors.first(ENTROPIC_REACH * n_neighbors)
    return entropic_bandwidth(wide, effective_neighbors(n_neighbors, wide), threads)


def auto_lam(graph: Graph, points: Points, bandwidth: Any, smoothness: float) -> float:
    """Smoothness / (mean degree): smoothing of the same strength on any graph.

    With infinite bandwidth the fidelity is a squared distance, and so is the unit of lam.
    """
    mean = float(graph.diagonal.mean(dtype=np.float64))
    unit = points.spread**2 if np.isinf(bandwidth).all() else 1.0
    return smoothness * unit / mean if mean > 0 else 0.0


def search_reach(n_neighbors: int, kind: Any, bandwidth: Any) -> int:
    """How many neighbours the graph and the bandwidth need."""
    reach = 0
    if kind not in (None, "precomputed"):
        reach = neighbors_needed(kind, n_neighbors)
    if isinstance(bandwidth, str):
        reach = max(reach, ENTROPIC_REACH * n_neighbors if bandwidth == "adaptive" else LOCAL_NEIGHBOR)
    return reach


def _neighbors(estimator: Any, X: Any, kind: Any, threads: int, progress: Progress) -> tuple[Any, Any]:
    """The index over X and the neighbours of its rows; None for both where nothing needs them.

    With a given graph and many points only the mean scale needs them: those of some rows do.
    """
    reach = search_reach(estimator.n_neighbors, kind, estimator.bandwidth)
    consensus = kind != "precomputed" and chosen_init(estimator, kind) == "consensus"
    if consensus:
        reach = max(reach, estimator.n_neighbors * (1 if is_large(estimator, X.shape[0]) else 2))
    reach = min(reach, X.shape[0] - 1)
    if reach == 0:
        return None, None
    if kind == "precomputed" and estimator.bandwidth == "auto" and X.shape[0] > SCALE_POINTS:
        index, some = NeighborIndex(X, threads), np.linspace(0, X.shape[0] - 1, SCALE_SAMPLE).astype(np.intp)
        return index, index.query(X[some], reach + 1).without_first()
    with progress.phase("neighbours", X.shape[0]) as step:
        index = NeighborIndex(X, threads)
        if consensus:
            return index, settled_neighbors(X, index, reach, step)
        return index, index.query_self(reach, step)


def _heat_width(estimator: Any, bandwidth: Any, neighbors: Neighbors) -> float:
    """Width of the heat kernel: the kde's where that is one finite number for the whole fit, as in the paper.

    Elsewhere (a path, adaptive or infinite bandwidth) the median length of the graph's edges.
    """
    if estimator.path is None and np.ndim(bandwidth) == 0 and np.isfinite(bandwidth):
        return float(bandwidth)
    return edge_scale(neighbors.first(estimator.n_neighbors))
