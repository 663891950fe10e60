"""What the comparison algorithms share: the face, the checks of inputs, the 5-nearest-neighbour graph."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .._threads import effective_threads
from .._validation import check_graph, is_int, is_real, parameter_error
from ..graph.affinity import make_affinity, symmetric_weights
from ..graph.neighbors import NeighborIndex


class Baseline(ClusterMixin, BaseEstimator):
    """A clustering algorithm; subclasses check their parameters in `_check` and cluster in `_cluster`."""

    n_clusters: Any
    random_state: Any
    _takes_sparse = True

    def fit(self, X: Any, y: Any = None, *, graph: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
            The points.
        y : ignored
        graph : sparse matrix of shape (n_samples, n_samples), optional
            A symmetric non-negative affinity for the algorithms that work on a graph, in place of the binary
            nearest-neighbour graph they build themselves; ignored by the others.

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

    def _need(self, ok: bool, name: str, expected: str) -> None:
        if not ok:
            raise parameter_error(type(self).__name__, name, expected, getattr(self, name))

    def _need_counts(self, *names: str) -> None:
        for name in names:
            self._need(is_int(getattr(self, name), 1), name, "an int of at least 1")

    def _need_reals(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            self._need(is_real(value, 0) and np.isfinite(value), name, "a finite float of at least 0")

    def _warn_unless(self, converged: bool, max_iter: int) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__} did not converge within {max_iter} iterations. Raise 'max_iter' or 'tol'.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags


def affinity_of(X: Any, graph: Any, n_neighbors: int) -> Any:
    """The given affinity, checked, or the binary graph that links each point with its nearest neighbours."""
    if graph is not None:
        return check_graph(graph, X.shape[0], np.float64)
    reach = min(n_neighbors, X.shape[0] - 1)
    neighbors = NeighborIndex(X, effective_threads(None)).query_self(reach)
    return symmetric_weights(make_affinity("binary", reach, neighbors, 1.0), neighbors).astype(np.float64)
