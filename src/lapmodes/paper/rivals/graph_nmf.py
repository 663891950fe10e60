"""Graph-regularised non-negative matrix factorisation (Cai, He, Han & Huang 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.cluster
from scipy.sparse import issparse

from ..._records import Array, Graph
from ...graph.laplacian import build_graph
from .base import Baseline, affinity_of

TRIAL_ITERATIONS = 30
"""Each random start is tried for this long; only the best one is run to its end, as in the authors' release."""


class GraphNMF(Baseline):
    """Graph-regularised NMF: X is about V U', with coefficients V that vary little over a graph.

    Minimises ``|X - V U'|^2 + lam * tr(V' L V)`` over non-negative U (n_features, n_clusters) and
    V (n_samples, n_clusters) by multiplicative updates, then runs K-means on the rows of V. For non-negative
    data made of parts, such as word counts and images, that also lie on a manifold.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of columns of U and V.
    lam : float, default=100
        Weight of the graph term; 0 is plain NMF.
    affinity : {'binary', 'heat', 'self-tuning', 'entropic', 'anchor'} or callable, default='binary'
        How the graph is weighed where no `graph` is given, as in :class:`~lapmodes.LaplacianKModes`; the width of
        'heat' is the median distance between neighbours.
    n_neighbors : int, default=5
        Neighbours of each point in that graph; not for 'anchor'.
    n_init : int, default=10
        Number of random starts; each is tried for 30 iterations and the best is run to its end.
    n_kmeans : int, default=20
        Number of starts of the final K-means.
    max_iter : int, default=100
        Most iterations. 100 is the authors' choice and a part of the method: U can grow while V shrinks, so the
        graph term fades over many more iterations and the clusters get worse as the objective falls.
    tol : float, default=1e-5
        The updates stop when one lowers the objective by less than this share.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of K-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    components_ : ndarray of shape (n_clusters, n_features)
        U', with rows of unit length.
    coefficients_ : ndarray of shape (n_samples, n_clusters)
        V, scaled so that the product is unchanged.
    objective_ : float
        Value of the objective, before the scaling.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    .. [1] D. Cai, X. He, J. Han and T. S. Huang, "Graph regularized nonnegative matrix factorization for data
       representation", IEEE Trans. PAMI 33, 2011.

    Examples
    --------
    >>> from lapmodes.baselines import GraphNMF
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]]
    >>> labels = GraphNMF(2, lam=1.0, n_neighbors=1, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        lam: float = 100.0,
        affinity: Any = "binary",
        n_neighbors: int = 5,
        n_init: int = 10,
        n_kmeans: int = 20,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.n_kmeans = n_kmeans
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_neighbors", "n_init", "n_kmeans", "max_iter")
        self._require_affinity()
        self._require_reals("lam", "tol")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        if (X.data if issparse(X) else X).min(initial=0) < 0:
            raise ValueError("Negative values in data passed to GraphNMF (input X). Shift or clip them.")
        built = build_graph(affinity_of(self, X, graph, rng))
        trials = [
            factorize(X, built, self.lam, random_start(X, self.n_clusters, rng), TRIAL_ITERATIONS, self.tol)
            for _ in range(self.n_init)
        ]
        best = min(trials, key=lambda each: each.objective)
        final = factorize(X, built, self.lam, best, self.max_iter, self.tol)
        length = np.maximum(np.linalg.norm(final.U, axis=0), np.finfo(final.U.dtype).tiny)
        self.components_ = (final.U / length).T
        self.coefficients_ = final.V * length
        self.objective_ = final.objective
        self.n_iter_ = final.n_iter
        kmeans = sklearn.cluster.KMeans(self.n_clusters, n_init=self.n_kmeans, random_state=rng)
        self.labels_ = kmeans.fit_predict(self.coefficients_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@dataclass(frozen=True)
class Factors:
    """X is about V U'."""

    U: Array
    V: Array
    objective: float = np.inf
    n_iter: int = 0
    converged: bool = False


def random_start(X: Any, K: int, rng: np.random.RandomState) -> Factors:
    """Uniform factors, the columns of U of unit length."""
    U, V = rng.uniform(size=(X.shape[1], K)), rng.uniform(size=(X.shape[0], K))
    length = np.linalg.norm(U, axis=0)
    return Factors((U / length).astype(X.dtype), (V * length).astype(X.dtype))


def factorize(X: Any, graph: Graph, lam: float, start: Factors, max_iter: int, tol: float) -> Factors:
    """Update until the objective falls by less than the share `tol`, or to `max_iter` iterations in all."""
    U, V, old = start.U, start.V, start.objective
    graph = graph.astype(X.dtype)
    energy = float(np.square(X.data if issparse(X) else X, dtype=np.float64).sum())
    for n_iter in range(start.n_iter + 1, max_iter + 1):
        V = update_coefficients(X, graph, lam, U, V)
        XV = np.asarray(X.T @ V)
        U = U * _ratio(XV, U @ (V.T @ V))
        new = _objective(energy, graph, lam, U, V, XV)
        if old - new <= tol * abs(new):
            return Factors(U, V, new, n_iter, True)
        old = new
    return Factors(U, V, old, max(max_iter, start.n_iter), False)


def update_coefficients(X: Any, graph: Graph, lam: float, U: Array, V: Array) -> Array:
    """V <- V (X U + lam W V) / (V U'U + lam D V)."""
    above = np.asarray(X @ U) + lam * (graph.weights @ V)
    below = V @ (U.T @ U) + lam * (graph.diagonal[:, None] * V)
    return V * _ratio(above, below)


def _objective(energy: float, graph: Graph, lam: float, U: Array, V: Array, XV: Array) -> float:
    """|X - V U'|^2 + lam tr(V'LV) from |X|^2 and X'V, without the residual matrix."""
    U, V, XV = (each.astype(np.float64, copy=False) for each in (U, V, XV))
    fit = energy - 2 * float((U * XV).sum()) + float(((U.T @ U) * (V.T @ V)).sum())
    smooth = float((V * (graph.diagonal[:, None] * V - graph.weights @ V)).sum())
    return fit + lam * smooth


def _ratio(above: Array, below: Array) -> Array:
    """The quotient, and 0 where both vanish."""
    return above / np.maximum(below, np.finfo(below.dtype).tiny)
