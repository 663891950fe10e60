"""K-means by scikit-learn and K-medoids by the `kmedoids` package (FasterPAM), with the interface of all rivals."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.cluster
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

from .base import Baseline


class KMeans(Baseline):
    """K-means clustering: scikit-learn's, with the interface of all baselines.

    Minimises the sum of squared distances between points and the mean of their cluster. Fast, and right for
    round clusters of similar size.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {'k-means++', 'random'}, default='k-means++'
        How the first centroids are drawn from the points; 'random' is what the paper's comparison uses.
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept.
    max_iter : int, default=300
        Most iterations of each start.
    tol : float, default=1e-4
        A start ends when its centroids move by less than this, relative to the variance of the data.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means.
    objective_ : float
        Sum of squared distances.
    n_iter_ : int
        Iterations of the best start.

    Examples
    --------
    >>> from lapmodes.baselines import KMeans
    >>> model = KMeans(2, random_state=0).fit([[0.0], [0.2], [5.0], [5.2]])
    >>> sorted(model.cluster_centers_.ravel().round(2).tolist())
    [0.1, 5.1]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_init", "max_iter")
        self._require_reals("tol")
        self._require(self.init in ("k-means++", "random"), "init", "'k-means++' or 'random'")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        model = sklearn.cluster.KMeans(
            self.n_clusters,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=rng,
        ).fit(X)
        self.labels_ = model.labels_
        self.cluster_centers_ = model.cluster_centers_
        self.objective_ = float(model.inertia_)
        self.n_iter_ = int(model.n_iter_)


class KMedoids(Baseline):
    """K-medoids clustering: FasterPAM of the `kmedoids` package, with the interface of all baselines.

    Minimises the sum of distances between points and the medoid (a point of the data) of their cluster. For few
    points (all distances are held at once: memory grows with the square of n_samples), with outliers, or where
    a centroid must be one of the points. Needs ``pip install 'lapmodes[baselines]'``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str, default='euclidean'
        Any distance that :func:`sklearn.metrics.pairwise_distances` knows.
    n_init : int, default=10
        Number of starts from random medoids; the one with the lowest objective is kept.
    max_iter : int, default=100
        Most passes over the points of each start.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Index of each medoid among the points.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The medoids.
    objective_ : float
        Sum of distances.
    n_iter_ : int
        Passes of the best start.

    References
    ----------
    .. [1] E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101, 2021.

    Examples
    --------
    >>> from lapmodes.baselines import KMedoids
    >>> model = KMedoids(2, random_state=0).fit([[0.0], [0.2], [0.3], [5.0], [5.1], [9.0]])  # doctest: +SKIP
    >>> sorted(model.cluster_centers_.ravel().tolist())  # doctest: +SKIP
    [0.2, 5.1]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_init", "max_iter")
        self._require(isinstance(self.metric, str), "metric", "the name of a distance")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        try:
            from kmedoids import fasterpam
        except ImportError as error:
            raise ImportError(
                "KMedoids needs the 'kmedoids' package. Install it with pip install 'lapmodes[baselines]'."
            ) from error
        distances = pairwise_distances(X, metric=self.metric)
        runs = (
            fasterpam(distances, self.n_clusters, max_iter=self.max_iter, random_state=rng, n_cpu=1)
            for _ in range(self.n_init)
        )
        best = min(runs, key=lambda run: float(run.loss))
        self.labels_ = best.labels.astype(np.int32)
        self.medoid_indices_ = best.medoids.astype(np.intp)
        medoids = X[self.medoid_indices_]
        self.cluster_centers_ = medoids.toarray() if issparse(medoids) else medoids
        self.objective_ = float(best.loss)
        self.n_iter_ = int(best.n_iter)
