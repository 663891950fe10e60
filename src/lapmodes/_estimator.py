"""The estimators: validate, pose, start, solve, store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._fit import best_walk, walk
from ._persistence import save_model
from ._predict import (
    Trained,
    kernel_at_modes,
    label_new,
    log_densities,
    log_mixture,
    map_new,
    outlier_scores,
    own_densities,
)
from ._problem import Problem, pose
from ._progress import BarProgress, CallableProgress, ContextProgress, ManyProgress, Progress
from ._records import Array, Hints, PathPoint
from ._rows import largest_columns
from ._threads import effective_threads
from ._validation import (
    canonical,
    check_must_link,
    check_parameters,
    check_partial,
    check_sample_weight,
    unit_rows,
)
from ._warnings import warn_of_trouble
from .solve.points import nearest_points

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


def _has_density(estimator: Any) -> bool:
    """Whether clusters have a kernel density: not with infinite bandwidth."""
    bandwidth = getattr(estimator, "bandwidth_", estimator.bandwidth)
    if isinstance(bandwidth, str) or np.isfinite(bandwidth).all():
        return True
    raise AttributeError("With infinite bandwidth the clusters have no density. Use a finite 'bandwidth'.")


class LaplacianKModes(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Laplacian K-modes clustering.

    Finds exactly K clusters of any shape, a mode (a point of high density that looks like the data) for
    each, and soft assignments, by minimising ``lam * tr(Z' L Z) - tr(B' Z)`` over assignments ``Z`` on the
    probability simplex and modes ``C``, where ``L`` is the Laplacian of a neighbour graph and ``B`` holds
    the Gaussian kernel between points and modes [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    lam : float or 'auto', default='auto'
        Smoothness of the assignments over the graph; exactly the paper's lambda. 0 is K-modes, for which no
        graph is built. 'auto' is 1 over the graph's mean degree with an anchor and 10 over it without, less where a
        cluster would die of it.
    bandwidth : float, 'auto', 'adaptive' or numpy.inf, default='auto'
        Width of the kernel; exactly the paper's sigma. 'auto' is the mean distance to the 7th neighbour,
        'adaptive' a width for each point with `n_neighbors` effective neighbours, ``numpy.inf`` is Laplacian
        K-means, which minimises ``lam * tr(Z' L Z) + sum_nk z_nk |x_n - c_k|^2``.
    affinity : str or callable, default='auto'
        Weights of the neighbour graph: 'binary', 'heat' (of width `bandwidth` where that is one finite number
        for the whole fit, else the median length of an edge),
        'adaptive' (self-tuning), 'entropic' (perplexity `n_neighbors`), 'anchor' (points that share anchors are
        linked; for other numbers of anchors pass :func:`~lapmodes.graph.anchors.anchor_graph` as the graph),
        'precomputed' (a sparse matrix passed as ``fit(X, graph=W)``) or a callable from distances to weights.
        'auto' is the given graph if there is one, else 'adaptive'.
    n_neighbors : int, default=10
        Neighbours of each point in the graph.
    metric : {'euclidean', 'cosine'}, default='euclidean'
        'cosine' scales all rows to unit length first; modes then live among the scaled rows.
    laplacian : {'unnormalized', 'normalized'}, default='unnormalized'
        Which Laplacian of the graph.
    init : str, array or tuple, default='auto'
        'consensus' (of prominent modes, linkages, communities, spectral clustering, K-means and a mixture),
        'k-means' (best of 10 runs), 'k-means++', 'random', 'spectral', an array of modes
        (n_clusters, n_features), or a tuple (modes or None, assignments). 'auto' is 'consensus', or 'k-means'
        where no graph is built.
    anchor : float or 'auto', default='auto'
        How much the start's assignments P count: ``-anchor * tr(P' Z)`` is added to the objective, which stays
        convex in Z. 0 is the paper's model. 'auto' is 2 where `lam`, `bandwidth` and `init` are all left to the
        library, else 0.
    balance : float, default=0.0
        How strongly clusters are kept from growing: ``lam * balance * |Z'd|^2 / sum(d)`` is added to the objective,
        d the diagonal of the Laplacian (the degrees), which stays convex in Z. 0 is the paper's model; 1 weighs masses
        against edges as modularity does. With it no cluster swallows the others however large `lam` is.
    n_init : int, default=1
        Number of random starts that are run to the end; the one with the lowest objective is kept.
    path : int, list of (lam, bandwidth) or None, default=None
        Homotopy: follow solutions along this path instead of solving at the target at once. An int is that
        many geometric steps from K-means to (`lam`, `bandwidth`); a list is followed as it is, and its last pair is
        what the model is fitted at.
    max_iter : int, default=100
        Most alternations (of each step of the path).
    tol : float, default=1e-3
        The alternation rests when no mode moves by more than `tol` bandwidths. Each assignment step is solved
        to a certified relative gap of ``min(1e-4, tol)``.
    sparse_assignments : bool or 'auto', default='auto'
        Keep `assignments_` (and what :meth:`predict_proba` returns) as a CSR matrix, and never hold anything of
        n_samples times n_clusters in memory. The result is the same, within `gap_`. 'auto' is True from 256 clusters
        on, unless partial labels or a balance are given, which need an array. From 256 clusters a consensus has fewer
        candidates: no spectral clustering and no mixture.
    n_jobs : int or None, default=None
        Number of threads. None: as many as OpenMP uses. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : bool, default=False
        Show progress bars on the terminal.
    callback : callable or None, default=None
        Called as ``callback(phase, done, total, info)`` at each step of the work, in the phases 'neighbours',
        'start' and 'alternate'; a true answer in the last one ends the fit after that alternation.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest assignment.
    assignments_ : ndarray or CSR matrix of shape (n_samples, n_clusters)
        Soft assignments; rows lie on the probability simplex and have exact zeros.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    exemplars_ : ndarray of shape (n_clusters,)
        Index of the sample nearest to each mode.
    objective_ : float
        Value of the objective.
    gap_ : float
        Certificate: given the modes, no assignment has an objective below ``objective_ - gap_``.
    n_iter_ : int
        Number of alternations (of the last step of the path).
    history_ : structured ndarray
        Objective, gap, movement, steps and seconds of each alternation (of the last step of the path).
    lam_, bandwidth_ : float, or ndarray of shape (n_samples,) for adaptive bandwidths
        The values used.
    anchor_ : float
        The weight of the start in the objective.
    votes_ : ndarray or CSR matrix of shape (n_samples, n_clusters), or None
        The start's assignments, where they are anchored; for a consensus the candidates' weighted votes.
    graph_ : CSR matrix of shape (n_samples, n_samples)
        The affinity, edges multiplied by the square root of the sample weights at both ends.
    n_components_ : int
        Number of connected components of the graph; an isolated point is one.
    neighbor_recall_ : float
        Share of the true neighbours that the search found, measured on a random sample of points. 1 where the search
        is exact: up to 12 dimensions, for sparse rows, and where looking at every pair takes seconds.
    path_ : list of PathPoint
        The solution of each step of the path; a single one without `path`.

    References
    ----------
    .. [1] W. Wang and M. Á. Carreira-Perpiñán, "The Laplacian K-modes algorithm for clustering", 2014.

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_spirals
    >>> X, y = make_spirals(random_state=0)
    >>> model = LaplacianKModes(5, lam=100, bandwidth=0.2, affinity="heat", n_neighbors=5, init="k-means",
    ...                         random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.assignments_.shape
    ((5, 2), (2000, 5))
    >>> from lapmodes.metrics import clustering_accuracy
    >>> float(clustering_accuracy(y, model.labels_))
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        lam: float | str = "auto",
        bandwidth: float | str = "auto",
        affinity: str | Callable[[Array], Array] = "auto",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        laplacian: str = "unnormalized",
        init: Any = "auto",
        anchor: float | str = "auto",
        balance: float = 0.0,
        n_init: int = 1,
        path: Any = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        sparse_assignments: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        callback: Callable[[str, int, int | None, str], Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.bandwidth = bandwidth
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.laplacian = laplacian
        self.init = init
        self.anchor = anchor
        self.balance = balance
        self.n_init = n_init
        self.path = path
        self.max_iter = max_iter
        self.tol = tol
        self.sparse_assignments = sparse_assignments
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, *, graph: Any = None, sample_weight: Any = None, must_link: Any = None
    ) -> LaplacianKModes:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
            The points; float32 is worked on in float32. They are kept for the mapping of new points, not copied (more
            than 50,000 dense ones: a copy in an order that suits the cache).
        y : array-like of shape (n_samples,), optional
            Partial labels: the cluster of each sample where it is known, -1 elsewhere. Known rows of the assignments
            are held. Without any -1 in it (or with other than integers) y is ignored, as in other clusterings.
        graph : sparse matrix of shape (n_samples, n_samples), optional
            A symmetric non-negative affinity to use in place of a neighbour graph.
        sample_weight : array-like of shape (n_samples,), optional
            A point of weight 2 pulls twice as hard as one of weight 1; only ratios matter (weights are scaled to
            mean 1). One of weight 0 is left out, and takes the assignment of its nearest neighbour that is not.
        must_link : array-like of int of shape (n_pairs, 2), optional
            Pairs of samples that belong together: each is one more edge of the graph, of ten times the mean degree.

        Returns
        -------
        self
        """
        with self._progress() as progress:
            problem = self._pose(X, graph, sample_weight, progress, y, must_link)
            self._store(problem, best_walk(self, problem, progress))
        return self

    def _walk(self, X: Any, graph: Any, sample_weight: Any) -> Iterator[PathPoint]:
        """The steps of the path from one start, as they are solved."""
        with self._progress() as progress:
            problem = self._pose(X, graph, sample_weight, progress)
            yield from walk(self, problem, check_random_state(self.random_state), progress)

    def _pose(
        self, X: Any, graph: Any, sample_weight: Any, progress: Progress, y: Any = None, must_link: Any = None
    ) -> Problem:
        check_parameters(self)
        X = self._validate(X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        weight = check_sample_weight(sample_weight, X.shape[0], X.dtype)
        hints = Hints(check_partial(y, X.shape[0], self.n_clusters), check_must_link(must_link, X.shape[0]))
        return pose(self, X, graph, weight, progress, hints)

    def _validate(self, X: Any, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=2 if reset else 1,
        )
        if issparse(X):
            X = canonical(X)
        return unit_rows(X) if (self.metric if reset else self._trained.metric) == "cosine" else X

    @contextmanager
    def _progress(self) -> Iterator[Progress]:
        watchers: list[Progress] = []
        if self.verbose:
            watchers.append(BarProgress())
        if self.callback is not None:
            watchers.append(CallableProgress(self.callback))
        if not getattr(self, "_skl_callbacks", None):
            yield ManyProgress(watchers)
            return
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        yield ManyProgress([*watchers, ContextProgress(self, context)])
        context.call_on_fit_task_end(estimator=self)

    def _store(self, problem: Problem, path: list[PathPoint]) -> None:
        last = path[-1]
        solution = last.solution
        self.assignments_ = solution.Z
        self.labels_ = solution.labels
        self.cluster_centers_ = solution.C
        self.exemplars_ = problem.samples(nearest_points(problem.points, solution.C))
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.lam_ = float(last.lam)
        self.anchor_ = problem.anchor
        self.votes_ = solution.votes
        self.bandwidth_ = problem.spread_out(last.bandwidth) if np.ndim(last.bandwidth) else float(last.bandwidth)
        self.graph_ = problem.whole_graph()
        self.n_components_ = problem.graph.n_components
        self.neighbor_recall_ = problem.recall
        self.path_ = path
        self._n_features_out = self.n_clusters
        self._trained = Trained(
            X=problem.points.X,
            Z=solution.Z if problem.kept is None else solution.Z[problem.kept],
            C=solution.C,
            lam=self.lam_,
            bandwidth=last.bandwidth,
            sample_weight=problem.sample_weight,
            degrees=problem.graph.degrees if self.laplacian == "normalized" else None,
            masses=problem.masses(solution.Z),
            affinity=problem.affinity,
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            kept=problem.kept,
            n_samples=solution.Z.shape[0],
            index=problem.index,
        )
        warn_of_trouble(solution)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Cluster the rows of X and return `labels_`."""
        labels: Array = self.fit(X, y, **fit_params).labels_
        return labels

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
        """
        check_is_fitted(self)
        return label_new(self._trained, self._validate(X, reset=False), graph, effective_threads(self.n_jobs))

    def predict_proba(self, X: Any, *, graph: Any = None) -> Any:
        """Soft assignments of new points: the paper's closed-form out-of-sample mapping.

        Each is the projection onto the simplex of the neighbours' mean assignment plus the kernel at the
        modes. The neighbours are directed (new point to training points) while training uses a
        symmetric graph, so training points need not get exactly their `assignments_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points; they are worked on in chunks.
        graph : sparse matrix of shape (n_queries, n_samples), optional
            Affinities from the new points to the training points; needed, and only allowed, where the
            model was fitted on a given graph.

        Returns
        -------
        ndarray or CSR matrix of shape (n_queries, n_clusters)
            Sparse where `assignments_` are.
        """
        check_is_fitted(self)
        return map_new(self._trained, self._validate(X, reset=False), graph, effective_threads(self.n_jobs))

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
        check_is_fitted(self)
        return kernel_at_modes(self._trained, self._validate(X, reset=False), effective_threads(self.n_jobs))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def density(self, X: Any, *, log: bool = False) -> Array:
        """Kernel density of each cluster at new points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points. Exact sums over all training points: time grows with n_queries times n_samples.
        log : bool, default=False
            Return logarithms, which do not overflow in high dimension.

        Returns
        -------
        ndarray of shape (n_queries, n_clusters)
        """
        check_is_fitted(self)
        found, _ = log_densities(self._trained, self._validate(X, reset=False), effective_threads(self.n_jobs))
        return found if log else np.exp(found)

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
        check_is_fitted(self)
        return log_mixture(self._trained, self._validate(X, reset=False), effective_threads(self.n_jobs))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def outlier_score(self, X: Any) -> Array:
        """How far new points are from belonging to a cluster: 0 at the heart of one, towards 1 for outliers.

        ``1 - (1 - rarity) (1 - doubt)``: the rarity of a point is the share of its cluster's members that lie where
        the cluster is denser; its doubt is the entropy of its assignment over log K.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_queries, n_features)
            New points; the training points themselves are welcome. Time grows with the square of n_samples at the
            first call and with n_queries times n_samples later.

        Returns
        -------
        ndarray of shape (n_queries,)
            Rarities are ranks, so they compare across clusters of any density. Of a cluster's own members the densest
            has rarity 0 and the loneliest 1.

        Examples
        --------
        >>> import numpy as np
        >>> from lapmodes import LaplacianKModes
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> X[0] = 9.0
        >>> int(LaplacianKModes(1, random_state=0).fit(X).outlier_score(X).argmax())
        0
        """
        check_is_fitted(self)
        assignments, X = self.predict_proba(X), self._validate(X, reset=False)
        own = own_densities(self._trained, X, largest_columns(assignments), effective_threads(self.n_jobs))
        return outlier_scores(self._member_densities(), assignments, own)

    def _member_densities(self) -> list[Array]:
        """For each cluster the sorted log densities of its own members; computed once a fit."""
        cached: tuple[Any, list[Array]] | None = getattr(self, "_members", None)
        if cached is None or cached[0] is not self._trained:
            trained = self._trained
            labels = largest_columns(trained.Z)
            own = own_densities(trained, trained.X, labels, effective_threads(self.n_jobs))
            self._members = cached = (trained, [np.sort(own[labels == k]) for k in range(trained.C.shape[0])])
        return cached[1]

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the fitted model to one `.npz` file, without pickle; :func:`lapmodes.load` reads it.

        Parameters
        ----------
        file : path
            Written whole or not at all.
        """
        check_is_fitted(self)
        save_model(self, file)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
