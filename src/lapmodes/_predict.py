"""What a fitted model says of new points: assignments, kernel values, densities, outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import logsumexp
from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._fit import Fitted, resolve_bandwidth
from ._records import MANY_POINTS, Array, Neighbors, Points, Units
from ._row_map import RowFinder, RowMap
from ._rows import as_asked_for, as_dense, as_rows, column_sums, scaled_rows, with_unit_sums
from ._settings import effective_threads
from ._validation import MANY_ENTRIES, check_cross_graph, check_dense_fits, in_reach
from .graph.affinity import directed, neighbors_needed
from .graph.neighbors import NeighborIndex, make_index
from .metrics import outlier_scores
from .solve.mapping import LOWEST, Reference, Tails, fit_tails, log_cluster_sums, map_points
from .solve.objective import distances_to_modes, kernel_values

CHUNK_ROWS = 2**16
CHUNK_ENTRIES = 2**22
"""Most rows, and most assignments of them, that are worked on at once."""
SAMPLED_MEMBERS = 100
"""Members a cluster that outliers are compared with, on average, where not all members are looked at."""
OUTLIER_NEIGHBORS = 10
"""Neighbours by which outliers are judged: more than a few of them that lie together."""


def _has_density(estimator: Any) -> bool:
    """Whether clusters have a kernel density: not with infinite bandwidth."""
    bandwidth = getattr(estimator, "bandwidth_", estimator.bandwidth)
    if isinstance(bandwidth, str) or np.isfinite(bandwidth).all():
        return True
    raise AttributeError("With infinite bandwidth the clusters have no density. Use a finite 'bandwidth'.")


class NewPoints(TransformerMixin):
    """The methods of a fitted model that take new points."""

    _trained: Trained
    _validate: Any
    n_jobs: int | None

    @property
    def training_points_(self) -> Any:
        """The points that new ones are compared with: those of the fit with a weight above 0, in any order."""
        check_is_fitted(self)
        return self._trained.units.outside(self._trained.X)

    def _checked(self, X: Any) -> Any:
        """New points in the format and precision of the training points."""
        check_is_fitted(self)
        return self._trained.prepared(self._validate(X, reset=False))

    def predict(self, X: Any, *, graph: Any = None) -> Array:
        """Cluster of largest assignment for new points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points; they are worked on in chunks, whose assignments are not kept.
        graph : sparse matrix of shape (n_queries, n_samples), optional
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_queries,)
            For training points their `labels_`.
        """
        X = self._checked(X)
        labels = np.empty(X.shape[0], dtype=np.int32)
        for rows, Z in map_chunks(self._trained, X, graph, effective_threads(self.n_jobs)):
            labels[rows] = Z.argmax(axis=1)
        return labels

    def predict_proba(self, X: Any, *, graph: Any = None) -> Any:
        """Soft assignments of new points: the paper's closed-form out-of-sample mapping.

        Each is the projection onto the simplex of the neighbours' mean assignment plus the kernel at the
        modes. A row that is equal to a training point gets that one's `assignments_`, which the mapping would not
        always repeat: its neighbours are directed (new point to training points), while training uses a symmetric graph
        and the prior. With a given graph the mapping is used for all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points; they are worked on in chunks.
        graph : sparse matrix of shape (n_queries, n_samples), optional
            Affinities from the new points to the training points; needed, and only allowed, where the
            model was fitted on a given graph (`graph_given_`).

        Returns
        -------
        ndarray of shape (n_queries, n_clusters)
            A CSR matrix with ``sparse_assignments=True``.
        """
        X, trained, threads = self._checked(X), self._trained, effective_threads(self.n_jobs)
        if issparse(trained.fitted.solution.Z):
            chunks = map_chunks(trained, X, graph, threads)
            return as_asked_for(csr_array(vstack([as_rows(Z, Z.dtype, sparse=True) for _, Z in chunks])))
        if X.shape[0] * trained.n_clusters > MANY_ENTRIES:
            check_dense_fits(X.shape[0], trained.n_clusters, trained.X.dtype, arrays=1)
        whole = np.empty((X.shape[0], trained.n_clusters), dtype=trained.X.dtype)
        for _ in map_chunks(trained, X, graph, threads, whole):
            pass
        return whole

    def transform(self, X: Any) -> Array:
        """Kernel values between new points and the modes; distances to them for infinite bandwidth.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_queries, n_clusters)
        """
        X, trained, threads = self._checked(X), self._trained, effective_threads(self.n_jobs)
        points, C = Points(X, threads), trained.fitted.solution.C
        if trained.fitted.problem.in_kmeans_limit:
            return trained.units.outside(distances_to_modes(points, C))
        return kernel_values(points, C, trained.widths(trained.neighbors_of(X), threads))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def density(self, X: Any, *, log: bool = False) -> Array:
        """Kernel density of each cluster at new points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points. Exact sums over all training points: time grows with n_queries times n_samples.
        log : bool, default=False
            Return logarithms: densities in high dimension may be too large or small for a number. That of 0 is -1e300.

        Returns
        -------
        ndarray of shape (n_queries, n_clusters)
        """
        found, _ = log_densities(self._trained, self._checked(X), effective_threads(self.n_jobs))
        return found if log else np.exp(np.minimum(found, np.log(np.finfo(np.float64).max)))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Array:
        """Log of the mixture of the cluster densities at new points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        X = self._checked(X)
        scores = np.empty(X.shape[0])
        for rows in _pieces(X.shape[0], self._trained.n_clusters):
            densities, log_weight = log_densities(self._trained, X[rows], effective_threads(self.n_jobs))
            scores[rows] = logsumexp(densities + log_weight, axis=1)
        return scores

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`: how likely new points are under the density of all clusters together.

        It compares bandwidths, and columns or rows to leave out, on points that the model has not seen. It does not
        compare numbers of clusters, nor `lam`: these share out one and the same density. For them there is
        :func:`lapmodes.select`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points.
        y : ignored
            As in other clusterings.

        Returns
        -------
        float
            Higher is better.
        """
        return float(self.score_samples(X).mean())

    def outlier_score(self, X: Any, *, graph: Any = None) -> Array:
        """How unusual points are for members of their cluster: 0.5 for the median member, towards 1 for outliers.

        The score is 1 minus the probability that a member of the cluster is at least as far from its 10th neighbour
        among the training points; for a point that is shared by clusters, the mean over them by its shares. A score
        above 0.999 is expected of fewer than one of 1,000 members, in any cluster.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points; the training points themselves are welcome, and none of them counts as its own neighbour. The
            first call also searches the neighbours of the training points, of a sample where there are many.
        graph : sparse matrix of shape (n_queries, n_samples), optional
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_queries,)
            Between 0 and 1. See :func:`lapmodes.metrics.outlier_scores` for what makes it comparable between clusters.

        Examples
        --------
        >>> import numpy as np
        >>> from lapmodes import LaplacianKModes
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> X[0] = 9.0
        >>> int(LaplacianKModes(1, random_state=0).fit(X).outlier_score(X).argmax())
        0
        """
        assignments, X = self.predict_proba(X, graph=graph), self._checked(X)
        least, tails = self._trained.member_tails
        distances = neighbor_distances(self._trained, X, effective_threads(self.n_jobs))
        return outlier_scores(assignments, -np.log(np.maximum(distances, least)), tails)


@dataclass(frozen=True)
class Trained:
    """What new points are compared with: fixed by fit, whatever happens to the parameters later."""

    fitted: Fitted
    rows: RowMap
    n_neighbors: int
    metric: str
    laplacian: str

    @property
    def X(self) -> Any:  # noqa: N802
        """The training points, in the order of the fit's rows."""
        return self.fitted.problem.points.X

    @property
    def units(self) -> Units:
        """Those of the training points, beside the user's."""
        return self.fitted.problem.points.units

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.fitted.solution.C.shape[0])

    @property
    def needs_cross_graph(self) -> bool:
        """Whether the affinities of new points have to be given."""
        return self.fitted.affinity is None and self.fitted.problem.lam > 0

    @property
    def reference(self) -> Reference:
        """What the mapping takes from the training points."""
        problem, solution = self.fitted.problem, self.fitted.solution
        degrees = problem.graph.degrees if self.laplacian == "normalized" else None
        weight = problem.sample_weight
        if weight is not None:  # a new point weighs as much as the mean training point
            unit = weight.mean()
            weight, degrees = weight / unit, None if degrees is None else degrees / unit
        return Reference(solution.Z, solution.C, problem.lam, weight, degrees)

    @cached_property
    def index(self) -> NeighborIndex:
        """Finds the neighbours of new points."""
        return self.fitted.index or make_index(self.X, self.fitted.problem.points.threads)

    @cached_property
    def finder(self) -> RowFinder:
        """Finds rows that are training points."""
        return RowFinder(self.X, self.fitted.problem.points.threads)

    @cached_property
    def member_tails(self) -> tuple[float, Tails]:
        """(The least distance above 0 of a member, the clusters' tails by the logarithms of them); many are sampled."""
        n, limit = self.X.shape[0], max(MANY_POINTS, SAMPLED_MEMBERS * self.n_clusters)
        rows = np.arange(n) if n <= limit else np.random.default_rng(0).choice(n, limit, replace=False)
        distances = neighbor_distances(self, self.X[rows], self.fitted.problem.points.threads)
        least = float(distances.min(initial=np.inf, where=distances > 0))
        least = least if np.isfinite(least) else 1.0
        labels, weight = self.fitted.solution.labels[rows], self.fitted.problem.sample_weight
        weight = None if weight is None else weight[rows]
        return least, fit_tails(np.log(np.maximum(distances, least)), labels, self.n_clusters, weight)

    def prepared(self, X: Any) -> Any:
        """New points in the format and precision of the training points."""
        if issparse(X) and not issparse(self.X):
            X = X.toarray()
        elif issparse(self.X) and not issparse(X):
            X = csr_array(X)
        return in_reach("The new points", X, self.X.dtype, self.units)

    def neighbors_of(self, X: Any) -> Neighbors | None:
        """Training neighbours of new points, as many as affinity and bandwidth ask for."""
        fitted = self.fitted
        kind = fitted.affinity.kind if fitted.affinity is not None and fitted.problem.lam > 0 else None
        bandwidth = "entropic" if np.ndim(fitted.problem.bandwidth) else 1.0
        reach = neighbors_needed(kind, self.n_neighbors, bandwidth)
        return self.index.query(X, reach) if reach else None

    def widths(self, neighbors: Neighbors | None, threads: int) -> Any:
        """The bandwidth for these points: the model's one, or entropic from their training neighbours."""
        if np.ndim(self.fitted.problem.bandwidth) == 0:
            return self.fitted.problem.bandwidth
        assert neighbors is not None
        return resolve_bandwidth("entropic", self.n_neighbors, neighbors, threads)


def map_chunks(
    trained: Trained, X: Any, graph: Any, threads: int, whole: Array | None = None
) -> Iterator[tuple[slice, Array]]:
    """Assignments of new points chunk by chunk: in `whole`, or each in the place of the one before."""
    graph = _cross_graph(trained, X, graph)
    n, K = X.shape[0], trained.n_clusters
    size = max(1, min(CHUNK_ROWS, CHUNK_ENTRIES // K))
    room = np.empty((min(n, size), K), dtype=trained.X.dtype) if whole is None else whole
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        out = room[: rows.stop - start] if whole is None else room[rows]
        _map_chunk(trained, X[rows], None if graph is None else graph[rows], threads, out)
        yield rows, out


def _map_chunk(trained: Trained, X: Any, cross: Any, threads: int, out: Array) -> None:
    neighbors, affinity = trained.neighbors_of(X), trained.fitted.affinity
    if cross is None and affinity is not None and trained.fitted.problem.lam > 0:
        if affinity.anchors is not None:
            cross = affinity.anchors.to_training(X)
        else:
            assert neighbors is not None
            cross = directed(*affinity.weigh(neighbors, threads), trained.X.shape[0])
    map_points(Points(X, threads), cross, trained.widths(neighbors, threads), trained.reference, out)
    if out.dtype == np.float32:
        with_unit_sums(out)
    if not trained.needs_cross_graph:
        found, rows = trained.finder.find(X, threads)
        out[found] = as_dense(trained.fitted.solution.Z[rows])


def _cross_graph(trained: Trained, X: Any, graph: Any) -> Any:
    """A given graph must fit, be there when it is needed, and only then."""
    shape = (X.shape[0], trained.rows.n_samples)
    if graph is None and not trained.needs_cross_graph:
        return None
    if graph is None:
        affinities = f"a sparse matrix of shape {shape} with the affinities from the new points to the training points"
        raise ValueError(f"This model was fitted on a given graph. Pass graph=, {affinities}.")
    if not trained.needs_cross_graph:
        raise ValueError("'graph' is only for models that were fitted on a given graph. Leave it out.")
    return trained.rows.take_columns(check_cross_graph(graph, shape, trained.X.dtype))


def log_densities(trained: Trained, X: Any, threads: int) -> tuple[Array, Array]:
    """(log p_k(x), log weight of cluster k): shapes (M, K) and (K,)."""
    problem = trained.fitted.problem
    Z = trained.fitted.solution.Z.astype(np.float64)
    if problem.sample_weight is not None:
        Z = scaled_rows(Z, problem.sample_weight)
    mass = column_sums(Z)
    sums = log_cluster_sums(Points(trained.X, threads), Points(X, threads), Z, problem.bandwidth)
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)
    sums -= trained.X.shape[1] * trained.units.exponent * np.log(2.0)
    densities = np.where(mass > 0, np.maximum(sums - log_mass, LOWEST), LOWEST)
    return densities, log_mass - np.log(mass.sum())


def neighbor_distances(trained: Trained, X: Any, threads: int) -> Array:
    """Distance of each point from its 10th neighbour among the training points, itself apart.

    A row of twice the usual weight counts as two neighbours, and once as its own neighbour.
    """
    near = trained.index.query(X, OUTLIER_NEIGHBORS + 1)
    weight = trained.fitted.problem.sample_weight
    mass = np.ones(trained.X.shape[0]) if weight is None else weight / np.median(weight)
    own = np.full(X.shape[0], -1)
    found, rows = trained.finder.find(X, threads)
    own[found] = rows
    return outlier_distances(near.distances, mass[near.indices], near.indices == own[:, None])


def outlier_distances(distances: Array, mass: Array, own: Array) -> Array:
    """The distance of each point from its 10th neighbour, from those of all, what each counts, and which is itself."""
    count = np.cumsum(np.where(own, np.maximum(mass - 1, 0), mass), axis=1)
    last = np.minimum((count < OUTLIER_NEIGHBORS).sum(axis=1), count.shape[1] - 1)
    return np.asarray(np.take_along_axis(distances, last[:, None], axis=1)[:, 0], dtype=np.float64)


def _pieces(n: int, K: int) -> Iterator[slice]:
    """Rows that are looked at together: as many as an array of their densities leaves room for."""
    size = max(1, CHUNK_ENTRIES // K)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
