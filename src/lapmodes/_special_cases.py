"""Thin names for special cases of Laplacian K-modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._estimator import LaplacianKModes
from ._settings import refuses_old_names


class KModes(LaplacianKModes):
    """K-modes: Laplacian K-modes with ``lam = 0`` (Carreira-Perpiñán & Wang 2013).

    Convex clusters as in K-means, each with a mode of its own density. No graph is built.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    bandwidth, metric, n_neighbors, init, n_init, max_iter, tol, sparse_assignments, n_jobs, random_state, \
verbose
        As in :class:`LaplacianKModes`. ``bandwidth=numpy.inf`` is K-means.

    Examples
    --------
    >>> from lapmodes import KModes
    >>> KModes(n_clusters=2, bandwidth=1.0, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]]).labels_.tolist() in (
    ...     [0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    lam: Any = 0.0
    prior_weight: Any = 0.0
    affinity: Any = "auto"
    laplacian: Any = "unnormalized"

    @refuses_old_names
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        bandwidth: Any = "auto",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        sparse_assignments: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sparse_assignments = sparse_assignments
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class LaplacianKMeans(LaplacianKModes):
    """Laplacian K-means: Laplacian K-modes with infinite bandwidth.

    Minimises ``lam * tr(Z' L Z) + sum_nk z_nk |x_n - c_k|^2``: K-means with assignments smoothed over a graph.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    lam, affinity, n_neighbors, metric, laplacian, init, prior_weight, n_init, max_iter, tol, sparse_assignments, n_jobs, \
random_state, verbose
        As in :class:`LaplacianKModes`. ``lam=0`` is K-means.

    Examples
    --------
    >>> from lapmodes import LaplacianKMeans
    >>> model = LaplacianKMeans(n_clusters=2, lam=0.1, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> sorted(model.cluster_centers_.ravel().round(2).tolist())
    [0.05, 5.05]
    """

    bandwidth: Any = np.inf

    @refuses_old_names
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        lam: Any = "auto",
        affinity: Any = "auto",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        laplacian: str = "unnormalized",
        init: Any = "auto",
        prior_weight: float = 2.0,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        sparse_assignments: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.laplacian = laplacian
        self.init = init
        self.prior_weight = prior_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sparse_assignments = sparse_assignments
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
