"""What the rivals share: `fit`, the checks of inputs, the neighbour graph, the attributes of soft assignments."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..._records import Array
from ..._settings import effective_threads, is_number
from ..._validation import check_graph, parameter_error
from ..._warnings import warn
from ...graph.affinity import KINDS, Affinity, edge_scale, neighbors_needed, symmetric
from ...graph.anchors import usual_anchors
from ...graph.neighbors import make_index


@dataclass(frozen=True)
class SoftClusters:
    """Assignments with rows on the simplex, and how the iterations that led to them ended."""

    assignments: Array
    objective: float
    n_iter: int
    converged: bool


class Baseline(ClusterMixin, BaseEstimator):
    """A clustering algorithm; subclasses check their parameters in `_check` and cluster in `_cluster`."""

    n_clusters: Any
    random_state: Any
    affinity: Any
    max_iter: Any
    _takes_sparse = True

    def fit(self, X: Any, y: Any = None, *, graph: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
            The points.
        y : ignored
        graph : sparse matrix of shape (n_samples, n_samples), optional
            A symmetric non-negative affinity for the algorithms that work on a graph, in place of the one they
            build themselves; ignored by the others.

        Returns
        -------
        self
        """
        self._check()
        X = validate_data(
            self,
            X,
            accept_sparse="csr" if self._takes_sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=2,
        )
        if self.n_clusters is not None and X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        self._cluster(X, graph, check_random_state(self.random_state))
        return self

    def _check(self) -> None:
        raise NotImplementedError

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        raise NotImplementedError

    def _require(self, ok: bool, name: str, expected: str) -> None:
        if not ok:
            raise parameter_error(type(self).__name__, name, expected, getattr(self, name))

    def _require_counts(self, *names: str) -> None:
        for name in names:
            self._require(is_number(getattr(self, name), Integral, 1), name, "an int of at least 1")

    def _require_reals(self, *names: str) -> None:
        for name in names:
            self._require(is_number(getattr(self, name), low=0), name, "a finite float of at least 0")

    def _require_affinity(self) -> None:
        kind = self.affinity
        known = callable(kind) or (isinstance(kind, str) and kind in KINDS)
        self._require(
            known, "affinity", f"a callable or one of {', '.join(map(repr, KINDS))}; a graph goes to fit(graph=W)"
        )

    def _warn_unless(self, converged: bool, max_iter: int) -> None:
        if not converged:
            warn(
                f"{type(self).__name__} did not converge within {max_iter} iterations. Raise 'max_iter' or 'tol'.",
                ConvergenceWarning,
            )

    def _store(self, found: SoftClusters) -> None:
        self.assignments_ = found.assignments
        self.labels_ = found.assignments.argmax(axis=1).astype(np.int32)
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self._warn_unless(found.converged, self.max_iter)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags


def affinity_of(model: Any, X: Any, graph: Any, rng: np.random.RandomState) -> Any:
    """The given affinity, checked, or the graph that the model's `affinity` and `n_neighbors` ask for."""
    if graph is not None:
        return check_graph(graph, X.shape[0], np.float64)
    if model.affinity == "anchor":
        return usual_anchors(X, rng).between_training().astype(np.float64)
    reach = min(neighbors_needed(model.affinity, model.n_neighbors), X.shape[0] - 1)
    threads = effective_threads(None)
    neighbors = make_index(X, threads).query_self(reach)
    width = edge_scale(neighbors.first(model.n_neighbors))
    indices, weights = Affinity(model.affinity, model.n_neighbors, width).weigh(neighbors, threads)
    return symmetric(indices, weights, average=model.affinity == "entropic").astype(np.float64)
