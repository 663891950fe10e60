"""What a fitted model says of new points: assignments, kernel values, densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._problem import resolve_bandwidth, search_reach
from ._records import Array, Neighbors
from ._threads import effective_threads
from .graph.affinity import directed_weights
from .solve.density import log_cluster_sums
from .solve.mapping import map_points
from .solve.objective import is_infinite
from .solve.points import as_points, kernel_values

CHUNK_ROWS = 8192


def map_new(model: Any, X: Any, graph: Any) -> Array:
    """Assignments of new points, chunk by chunk."""
    graph = _check_cross(model, X, graph)
    if X.dtype != model._fit_X.dtype:
        X = X.astype(model._fit_X.dtype)
    Z = np.empty((X.shape[0], model.n_clusters), dtype=X.dtype)
    for start in range(0, X.shape[0], CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        Z[rows] = _map_chunk(model, X[rows], None if graph is None else graph[rows])
    return Z


def _map_chunk(model: Any, X: Any, cross: Any) -> Array:
    threads = effective_threads(model.n_jobs)
    points = as_points(X, threads)
    neighbors = _neighbors_of(model, X)
    minus_d2 = kernel_values(points, model.cluster_centers_, 1.0, squared=True)
    sigma = _widths(model, neighbors)
    B = minus_d2 if is_infinite(sigma) else kernel_values(points, model.cluster_centers_, sigma)
    if cross is None and model._affinity is not None and model.lam_ > 0:
        assert neighbors is not None
        cross = directed_weights(model._affinity, neighbors, model._fit_X.shape[0])
        if model.sample_weight_ is not None:
            cross = cross.multiply(np.sqrt(model.sample_weight_)[None, :]).tocsr()
    degrees = model.graph_.sum(axis=1) if model.laplacian == "normalized" else None
    return map_points(cross, model.assignments_, B, -minus_d2, model.lam_, degrees, threads)


def kernel_at_modes(model: Any, X: Any) -> Array:
    """exp(-|x - c_k|^2 / (2 sigma^2)) for each new point and mode; distances for infinite bandwidth."""
    if X.dtype != model._fit_X.dtype:
        X = X.astype(model._fit_X.dtype)
    points = as_points(X, effective_threads(model.n_jobs))
    sigma = model.bandwidth_
    if is_infinite(sigma):
        return np.sqrt(-kernel_values(points, model.cluster_centers_, 1.0, squared=True))
    return kernel_values(points, model.cluster_centers_, _widths(model, _neighbors_of(model, X)))


def log_densities(model: Any, X: Any) -> tuple[Array, Array]:
    """(log p_k(x), log weight of cluster k): shapes (M, K) and (K,)."""
    threads = effective_threads(model.n_jobs)
    train = as_points(model._fit_X, threads)
    queries = as_points(X.astype(train.dtype, copy=False), threads)
    Z = model.assignments_.astype(np.float64)
    if model.sample_weight_ is not None:
        Z = Z * model.sample_weight_[:, None]
    mass = Z.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mass = np.log(mass)
        sums = log_cluster_sums(train, queries, Z, model.bandwidth_)
        densities = np.where(mass > 0, sums - log_mass, -np.inf)
    return densities, log_mass - np.log(mass.sum())


def _widths(model: Any, neighbors: Neighbors | None) -> Any:
    """The bandwidth for these points: the model's one, or entropic from their training neighbours."""
    if np.ndim(model.bandwidth_) == 0:
        return model.bandwidth_
    return resolve_bandwidth("adaptive", model.n_neighbors, neighbors, effective_threads(model.n_jobs))


def _neighbors_of(model: Any, X: Any) -> Neighbors | None:
    """Training neighbours of new points, as many as affinity and bandwidth ask for."""
    kind = model._affinity.kind if model._affinity is not None and model.lam_ > 0 else None
    adaptive = np.ndim(model.bandwidth_) == 1
    if kind is None and not adaptive:
        return None
    reach = search_reach(model.n_neighbors, kind, "adaptive" if adaptive else 1.0)
    found: Neighbors = model._index.query(X, reach)
    return found


def _check_cross(model: Any, X: Any, graph: Any) -> Any:
    """A given graph must fit, be there when it is needed, and only then."""
    needed = model._affinity is None and model.lam_ > 0
    shape = (X.shape[0], model._fit_X.shape[0])
    if needed and graph is None:
        raise ValueError(
            "This model was fitted on a given graph. Pass graph=, a sparse matrix of shape "
            f"{shape} with the affinities from the new points to the training points."
        )
    if graph is None:
        return None
    if not needed:
        raise ValueError("'graph' is only for models that were fitted on a given graph. Leave it out.")
    if not issparse(graph) or graph.shape != shape:
        raise ValueError(f"'graph' must be a sparse matrix of shape {shape}. Got {np.shape(graph)} instead.")
    return graph.tocsr()
