"""What a fitted model says of new points: assignments, kernel values, densities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import logsumexp

from ._diagnostics import uncertainty
from ._problem import resolve_bandwidth, search_reach
from ._records import Array, Neighbors
from ._rows import as_sparse, column_sums, largest_columns, scaled_rows
from ._validation import check_cross_graph
from .graph.affinity import Affinity, directed_weights
from .graph.neighbors import NeighborIndex
from .solve.density import log_cluster_sums
from .solve.mapping import Reference, map_points
from .solve.objective import is_infinite
from .solve.points import as_points, kernel_values

CHUNK_ROWS = 2**16
CHUNK_ENTRIES = 2**22
"""Most rows, and most assignments of them, that are worked on at once."""


@dataclass(frozen=True)
class Trained:
    """What new points are compared with: fixed by fit, whatever happens to the parameters later."""

    X: Any
    Z: Any
    C: Array
    lam: float
    bandwidth: Any
    sample_weight: Array | None
    degrees: Array | None
    """Degrees of the training points where the Laplacian was normalised."""
    masses: Array | None
    """With balance, what it takes from each cluster."""
    affinity: Affinity | None
    """None where the graph was given, or none was needed."""
    n_neighbors: int
    metric: str
    kept: Array | None
    """The sample that each row of X and Z is, where these are in another order, or some were left out."""
    n_samples: int
    index: NeighborIndex | None

    @property
    def needs_cross_graph(self) -> bool:
        """Whether the affinities of new points have to be given."""
        return self.affinity is None and self.lam > 0

    @property
    def reference(self) -> Reference:
        """What the mapping takes from the training points."""
        return Reference(self.Z, self.C, self.lam, self.sample_weight, self.degrees, self.masses)

    def prepared(self, X: Any) -> Any:
        """New points in the format and precision of the training points."""
        if issparse(X) and not issparse(self.X):
            X = X.toarray()
        elif issparse(self.X) and not issparse(X):
            X = csr_array(X)
        return X.astype(self.X.dtype, copy=False)


def map_new(trained: Trained, X: Any, graph: Any, threads: int) -> Any:
    """Assignments of new points; sparse where those of the training points are."""
    if issparse(trained.Z):
        return csr_array(vstack([as_sparse(Z, Z.dtype) for _, Z in _mapped(trained, X, graph, threads)]))
    whole = np.empty((X.shape[0], trained.C.shape[0]), dtype=trained.X.dtype)
    for _ in _mapped(trained, X, graph, threads, whole):
        pass
    return whole


def label_new(trained: Trained, X: Any, graph: Any, threads: int) -> Array:
    """Cluster of largest assignment for new points; assignments are never held all at once."""
    labels = np.empty(X.shape[0], dtype=np.int32)
    for rows, Z in _mapped(trained, X, graph, threads):
        labels[rows] = Z.argmax(axis=1)
    return labels


def _mapped(
    trained: Trained, X: Any, graph: Any, threads: int, whole: Array | None = None
) -> Iterator[tuple[slice, Array]]:
    """Assignments chunk by chunk: in `whole`, or each in the place of the one before."""
    graph = _cross_graph(trained, X, graph)
    n, K = X.shape[0], trained.C.shape[0]
    size = max(1, min(CHUNK_ROWS, CHUNK_ENTRIES // K))
    room = np.empty((min(n, size), K), dtype=trained.X.dtype) if whole is None else whole
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        out = room[: rows.stop - start] if whole is None else room[rows]
        _map_chunk(trained, trained.prepared(X[rows]), None if graph is None else graph[rows], threads, out)
        yield rows, out


def _map_chunk(trained: Trained, X: Any, cross: Any, threads: int, out: Array) -> None:
    neighbors = _neighbors_of(trained, X)
    if cross is None and trained.affinity is not None and trained.lam > 0:
        cross = _weights_to_training(trained, X, neighbors, threads)
    map_points(as_points(X, threads), cross, _widths(trained, neighbors, threads), trained.reference, out)


def _weights_to_training(trained: Trained, X: Any, neighbors: Neighbors | None, threads: int) -> Any:
    """Affinities by the rule of the training graph."""
    assert trained.affinity is not None
    if trained.affinity.anchors is not None:
        return trained.affinity.anchors.to_training(X)
    assert neighbors is not None
    return directed_weights(trained.affinity, neighbors, trained.X.shape[0], threads)


def kernel_at_modes(trained: Trained, X: Any, threads: int) -> Array:
    """exp(-|x - c_k|^2 / (2 sigma^2)) for each new point and mode; distances for infinite bandwidth."""
    X = trained.prepared(X)
    points = as_points(X, threads)
    if is_infinite(trained.bandwidth):
        return np.sqrt(-kernel_values(points, trained.C, 1.0, squared=True))
    return kernel_values(points, trained.C, _widths(trained, _neighbors_of(trained, X), threads))


def log_densities(trained: Trained, X: Any, threads: int) -> tuple[Array, Array]:
    """(log p_k(x), log weight of cluster k): shapes (M, K) and (K,)."""
    points = as_points(trained.X, threads)
    queries = as_points(trained.prepared(X), threads)
    Z = scaled_rows(trained.Z.astype(np.float64), trained.sample_weight)
    mass = column_sums(Z)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mass = np.log(mass)
        sums = log_cluster_sums(points, queries, Z, trained.bandwidth)
        densities = np.where(mass > 0, sums - log_mass, -np.inf)
    return densities, log_mass - np.log(mass.sum())


def log_mixture(trained: Trained, X: Any, threads: int) -> Array:
    """Log of the mixture of the cluster densities at new points."""
    scores = np.empty(X.shape[0])
    for rows in _pieces(trained, X.shape[0]):
        densities, log_weight = log_densities(trained, X[rows], threads)
        scores[rows] = logsumexp(densities + log_weight, axis=1)
    return scores


def own_densities(trained: Trained, X: Any, labels: Array, threads: int) -> Array:
    """Log density of the cluster that each point is in."""
    own = np.empty(X.shape[0])
    for rows in _pieces(trained, X.shape[0]):
        own[rows] = np.take_along_axis(log_densities(trained, X[rows], threads)[0], labels[rows, None], axis=1)[:, 0]
    return own


def _pieces(trained: Trained, n: int) -> Iterator[slice]:
    """Rows that are looked at together: as many as an array of their densities leaves room for."""
    size = max(1, CHUNK_ENTRIES // trained.C.shape[0])
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def outlier_scores(members: list[Array], assignments: Any, densities: Array) -> Array:
    """1 - (1 - rarity) (1 - doubt) from sorted member densities, assignments and own log densities of new points."""
    labels = largest_columns(assignments)
    rarity = np.ones(labels.size)
    for k, own in enumerate(members):
        at = np.flatnonzero(labels == k)
        if own.size:
            denser = own.size - np.searchsorted(own, densities[at], side="right")
            rarity[at] = np.minimum(denser / max(own.size - 1, 1), 1)
    return np.asarray(1 - (1 - rarity) * (1 - np.clip(uncertainty(assignments), 0, 1)))


def _widths(trained: Trained, neighbors: Neighbors | None, threads: int) -> Any:
    """The bandwidth for these points: the model's one, or entropic from their training neighbours."""
    if np.ndim(trained.bandwidth) == 0:
        return trained.bandwidth
    return resolve_bandwidth("adaptive", trained.n_neighbors, neighbors, threads)


def _neighbors_of(trained: Trained, X: Any) -> Neighbors | None:
    """Training neighbours of new points, as many as affinity and bandwidth ask for."""
    kind = trained.affinity.kind if trained.affinity is not None and trained.lam > 0 else None
    adaptive = np.ndim(trained.bandwidth) == 1
    reach = search_reach(trained.n_neighbors, kind, "adaptive" if adaptive else 1.0)
    if reach == 0:
        return None
    assert trained.index is not None
    return trained.index.query(X, reach)


def _cross_graph(trained: Trained, X: Any, graph: Any) -> Any:
    """A given graph must fit, be there when it is needed, and only then."""
    shape = (X.shape[0], trained.n_samples)
    if graph is None:
        if trained.needs_cross_graph:
            raise ValueError(
                "This model was fitted on a given graph. Pass graph=, a sparse matrix of shape "
                f"{shape} with the affinities from the new points to the training points."
            )
        return None
    if not trained.needs_cross_graph:
        raise ValueError("'graph' is only for models that were fitted on a given graph. Leave it out.")
    cross = check_cross_graph(graph, shape, trained.X.dtype)
    return cross if trained.kept is None else csr_array(cross[:, trained.kept])
