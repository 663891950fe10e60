"""K-means, by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.cluster

from ._base import Baseline


class KMeans(Baseline):
    """K-means clustering: scikit-learn's, behind the face that all baselines share.

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
        A start rests when its centroids move by less than this, relative to the variance of the data.
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
        self._need_counts("n_clusters", "n_init", "max_iter")
        self._need_reals("tol")
        self._need(self.init in ("k-means++", "random"), "init", "'k-means++' or 'random'")

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
