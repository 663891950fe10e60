"""The estimator: validate, graph, start, solve, store."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._fit import Prepared, prepare, solve
from ._n_clusters import choose_n_clusters
from ._persistence import Persistent
from ._predict import NewPoints, Trained
from ._progress import Progress, watch
from ._records import Array, Units
from ._row_map import RowMap
from ._rows import as_asked_for, largest_values
from ._settings import CONSTRAINTS, OldAttribute, Settings, doubts_about, in_units, refuses_old_names, resolve_settings
from ._validation import (
    MANY_ENTRIES,
    Given,
    as_numpy,
    canonical,
    check_dense_fits,
    check_given,
    check_init,
    unit_rows,
)
from ._warnings import InputWarning, warn, warn_of
from .solve.objective import nearest_points

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


DOCUMENTATION = "https://lapmodes.readthedocs.io/en/stable/"
"""Where the HTML representation of a model links to."""


class LaplacianKModes(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, NewPoints, Persistent, ClusterMixin, BaseEstimator
):
    """Laplacian K-modes clustering.

    Finds exactly K clusters of any shape, a mode (a point of high density that looks like the data) for
    each, and soft assignments, by minimising ``lam * tr(Z' L Z) - tr(B' Z)`` over assignments ``Z`` on the
    probability simplex and modes ``C``, where ``L`` is the Laplacian of a neighbour graph and ``B`` holds
    the Gaussian kernel between points and modes [1]_. Each parameter left at 'auto' is resolved by itself: typing
    back a fitted value (``lam=model.lam_``) gives the same model.

    Parameters
    ----------
    n_clusters : int or 'auto', default=8
        Number of clusters. 'auto' leaves it to :func:`lapmodes.select`, which compares numbers on at most 3,000 of the
        samples; the attribute `n_clusters_` has the outcome, 1 where there are no clear clusters.
    lam : float or 'auto', default='auto'
        Smoothness of the assignments over the graph; exactly the paper's lambda. 0 is K-modes, for which no
        graph is built. 'auto' is 1 over the graph's mean degree, less where a cluster would die of it.
    bandwidth : float, 'auto', 'entropic' or numpy.inf, default='auto'
        Width of the kernel; exactly the paper's sigma. 'auto' is the mean distance to the 7th neighbour,
        'entropic' a width for each point with `n_neighbors` effective neighbours, ``numpy.inf`` is Laplacian
        K-means, which minimises ``lam * tr(Z' L Z) + sum_nk z_nk |x_n - c_k|^2``.
    affinity : str or callable, default='auto'
        Weights of the neighbour graph: 'binary', 'heat' (of width `bandwidth` where that is one finite number
        for the whole fit, else the median length of an edge),
        'self-tuning' (each point has a scale of its own), 'entropic' (perplexity `n_neighbors`), 'anchor' (points
        that share anchors are linked; for other numbers of anchors pass
        :func:`~lapmodes.graph.anchors.anchor_graph` as the graph), 'precomputed' (a sparse matrix passed as
        ``fit(X, graph=W)``) or a callable from distances to weights. 'auto' is the given graph if there is one, else
        'self-tuning'.
    n_neighbors : int, default=10
        Neighbours of each point in the graph.
    metric : {'euclidean', 'cosine'}, default='euclidean'
        'cosine' scales all rows to unit length first; modes then live among the scaled rows.
    laplacian : {'unnormalized', 'normalized'}, default='unnormalized'
        Which Laplacian of the graph.
    init : str, array or tuple, default='auto'
        'consensus' (of communities, density modes and linkages; it brings a prior), 'k-means' (best of 10 runs),
        'k-means++', 'random', 'spectral', an array of modes (n_clusters, n_features), or a tuple (modes or None,
        assignments). 'auto' is 'consensus', or 'k-means' where no graph is built.
    prior_weight : float, default=2.0
        How much the prior counts. The start 'consensus' brings one, its votes P for each point, and
        ``-prior_weight * tr(P' Z)`` is added to the objective, which stays convex in Z; every other start brings
        none. 0 leaves the prior out; with infinite bandwidth the unit is the mean squared distance to the mean.
    n_init : int, default=1
        Number of random starts that are run to the end; the one with the lowest objective is kept.
    max_iter : int, default=100
        Most alternations.
    tol : float, default=1e-3
        The alternation rests when no mode moves by more than `tol` bandwidths. Each assignment step is solved
        to a certified relative gap of ``min(1e-4, tol)``.
    sparse_assignments : bool, default=False
        Keep `assignments_` (and what :meth:`predict_proba` returns) as a CSR matrix, and never hold anything of
        n_samples times n_clusters in memory: for hundreds of clusters. The result is the same, within `gap_`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as OpenMP uses. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : bool or callable, default=False
        True shows progress bars on the terminal. A callable is called as ``verbose(phase, done, total, info)`` at
        each step of the work, in the phases 'neighbours', 'start' and 'alternate'; a true answer in the last one
        ends the fit after that alternation.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest assignment.
    assignments_ : ndarray of shape (n_samples, n_clusters)
        Soft assignments; rows lie on the probability simplex and have exact zeros. A CSR matrix with
        ``sparse_assignments=True``.
    probabilities_ : ndarray of shape (n_samples,)
        Each sample's share in its own cluster.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    exemplars_ : ndarray of shape (n_clusters,)
        Index of the sample nearest to each mode.
    objective_ : float
        Value of the objective.
    gap_ : float
        Certificate: given the modes, no assignment has an objective below ``objective_ - gap_``.
    status_ : str
        'converged', 'stopped' (by the callable), 'not converged' (within `max_iter`), 'not certified' (the last
        assignment step kept a larger gap), 'empty clusters' or 'unreached points'. A warning explains the last four.
    n_iter_ : int
        Number of alternations.
    history_ : structured ndarray
        Objective, gap, movement, steps and seconds of each alternation.
    lam_, bandwidth_ : float, or ndarray of shape (n_samples,) for entropic bandwidths
        The values used.
    prior_ : ndarray or CSR matrix of shape (n_samples, n_clusters), or None
        The votes of the consensus, rows on the simplex; None where the start brought no prior.
    graph_ : CSR matrix of shape (n_samples, n_samples)
        The affinity, edges multiplied by the square root of the sample weights at both ends. Equal samples are one
        point of the graph: the first one has its edges.
    training_points_ : ndarray or CSR matrix
        The points that new ones are compared with: those of weight above 0, each once, in any order; of unit length
        with ``metric="cosine"``.
    cluster_names_ : tuple of str
        What a person called the clusters, where :func:`lapmodes.explore` was used: one for each, empty where it has
        none. Model files, reports and outputs have them; it may be set by hand.
    graph_given_ : bool
        Whether the model was fitted on a given graph, so that new points need theirs.
    n_components_ : int
        Number of connected components of the graph; an isolated point is one.
    neighbor_recall_ : float
        Share of the true neighbours that the search found, measured on a random sample of points. 1 where the search
        is exact: up to 12 dimensions, for sparse rows, and where looking at every pair takes seconds.

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

    _doc_link_module = "lapmodes"
    _doc_link_template = DOCUMENTATION + "api/generated/lapmodes.{estimator_name}.html"
    votes_ = OldAttribute("prior_")
    anchor_ = OldAttribute("prior_weight")
    path_ = OldAttribute("lapmodes.fit_path, which yields a fitted model for each step")

    @refuses_old_names
    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        lam: float | str = "auto",
        bandwidth: float | str = "auto",
        affinity: str | Callable[[Array], Array] = "auto",
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
        verbose: bool | Callable[[str, int, int | None, str], Any] = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.bandwidth = bandwidth
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

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Any = None,
        neighbors: Any = None,
        sample_weight: Any = None,
        partial_labels: Any = None,
        must_link: Any = None,
    ) -> LaplacianKModes:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
            The points; float32 is worked on in float32. They are kept for the mapping of new points, not copied (more
            than 50,000 dense ones: a copy in an order that suits the cache).
        y : ignored
            As in other clusterings.
        graph : sparse matrix of shape (n_samples, n_samples), optional
            A symmetric non-negative affinity to use in place of a neighbour graph.
        neighbors : tuple (indices, distances) of arrays of shape (n_samples, k), optional
            The nearest neighbours of each sample, from any library, in place of a search. ``k = 2 * n_neighbors``
            is what the default looks at; with fewer it makes do with what there is.
        sample_weight : array-like of shape (n_samples,), optional
            A point of weight 2 pulls twice as hard as one of weight 1; only ratios matter (weights are scaled to
            mean 1). One of weight 0 is left out, and takes the assignment of its nearest neighbour that is not.
        partial_labels : array-like of int of shape (n_samples,), optional
            The cluster of each sample where it is known, -1 elsewhere. Known rows of the assignments are held, and
            the others learn from them where these say more than the consensus does.
        must_link : array-like of int of shape (n_pairs, 2), optional
            Pairs of samples that belong together: each is one more edge of the graph, of ten times the mean degree.

        Returns
        -------
        self
        """
        given = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
        given |= {"partial_labels": partial_labels, "must_link": must_link}
        with watch(self, self.verbose, X, y) as progress:
            settings, rows, prepared = self._prepare(X, given, progress)
            rule = settings.n_neighbors, settings.metric, settings.laplacian
            progress.attributes_of = lambda found: self._as_if_fitted(Trained(prepared.fitted(*found), rows, *rule))
            rng = check_random_state(self.random_state)
            runs = (list(solve(prepared, settings, rng, progress))[-1] for _ in range(settings.n_init))
            # No trouble first; then the lam asked for, which 'auto' may lower; then a low objective.
            best = min(
                runs, key=lambda run: (bool(run.solution.status.message), -run.problem.lam, run.solution.objective)
            )
            self._store(Trained(best, rows, *rule))
        if best.solution.status.message:
            warn_of(best.solution.status)
        return self

    def _prepare(
        self, X: Any, given: dict[str, Any], progress: Progress, steps: Any = None
    ) -> tuple[Settings, RowMap, Prepared]:
        """Check everything, put the rows into the order of the work, and build the problem."""
        values = {name: getattr(self, name) for name in CONSTRAINTS}
        settings = resolve_settings(type(self).__name__, values, given["graph"] is not None, steps)
        X = self._validate(X, reset=True)
        units = Units.of(X)
        if units.exponent:
            X, settings = units.inside(X), in_units(settings, units, X.dtype)
        n, K = X.shape[0], settings.n_clusters
        if n < K:
            raise ValueError(f"n_samples={n} should be >= n_clusters={K}. Ask for fewer clusters.")
        if n * K > MANY_ENTRIES and not settings.sparse:
            check_dense_fits(n, K, X.dtype, arrays=6)
        if all(value is None for value in given.values()):
            checked = Given()
        else:
            checked = check_given(X, K, settings.sparse, given, units)
        rows = RowMap.of(X, checked, settings.threads)
        points = rows.take(X)
        if checked.graph is None:
            for doubt in doubts_about(settings, X, points.shape[0], getattr(self, "feature_names_in_", None)):
                warn(doubt, InputWarning)
        distinct = points.shape[0]
        if distinct < max(K, 2):
            rows = RowMap.of(X, checked, settings.threads, merge=False)
            points = rows.take(X)
        given_rows = rows.take_given(checked, X.dtype)
        if settings.chosen_by_data:
            K = choose_n_clusters(points, given_rows, settings, progress) if distinct > 1 else 1
            settings = replace(settings, n_clusters=K)
        if not isinstance(settings.init, str):
            init = check_init(settings.owner, settings.init, X, K, units)
            settings = replace(settings, init=(init[0], rows.take(init[1])) if isinstance(init, tuple) else init)
        return settings, rows, prepare(points, given_rows, settings, progress)

    def _validate(self, X: Any, reset: bool) -> Any:
        """X as a finite array or canonical CSR matrix, its rows of unit length for the cosine metric."""
        quiet = np.errstate(over="ignore", invalid="ignore")  # sums of huge numbers, by which finite ones are known
        with config_context(array_api_dispatch=False), quiet:
            X = validate_data(
                self,
                X if isinstance(X, np.ndarray) else as_numpy(X),
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_min_samples=2 if reset else 1,
            )
        if issparse(X):
            X = canonical(X)
        return unit_rows(X) if (self.metric if reset else self._trained.metric) == "cosine" else X

    def _store(self, trained: Trained, graph: Any = None) -> None:
        """Everything that a user reads, in the order of the samples; `graph` is the affinity, if that is known."""
        rows, problem, solution = trained.rows, trained.fitted.problem, trained.fitted.solution
        units, power = problem.points.units, 2 if problem.in_kmeans_limit else 0
        self.assignments_ = as_asked_for(rows.spread(solution.Z))
        self.labels_ = rows.spread(solution.labels)
        self.probabilities_ = largest_values(self.assignments_)
        self.cluster_centers_ = units.outside(solution.C)
        self.n_clusters_ = int(solution.C.shape[0])
        self._exemplars: Array | None = None
        self.objective_ = float(units.outside(solution.objective, power))
        self.gap_ = float(units.outside(solution.gap, power))
        self.status_ = solution.status.name
        self.n_iter_ = len(solution.history)
        self.history_ = solution.history if units.exponent == 0 else solution.history.copy()
        for name, own in (("objective", power), ("gap", power), ("moved", 1)) if units.exponent else ():
            self.history_[name] = units.outside(solution.history[name], own)
        self.lam_ = float(units.outside(problem.lam, power))
        width = units.outside(problem.bandwidth)
        self.bandwidth_ = rows.spread(width) if np.ndim(width) else float(width)
        self.prior_ = as_asked_for(rows.spread(problem.prior))
        self.graph_ = as_asked_for(rows.spread_graph(problem.graph.affinity)) if graph is None else graph
        self.n_components_ = int(problem.graph.component.max()) + 1
        self.neighbor_recall_ = trained.fitted.recall
        self.graph_given_ = trained.fitted.affinity is None and problem.lam > 0
        self._n_features_out = solution.C.shape[0]
        self._trained = trained

    def _as_if_fitted(self, trained: Trained) -> dict[str, Any]:
        """The attributes that this model would have if the fit had ended here; for scikit-learn's callbacks."""
        model = copy(self)
        model._store(trained)
        return model.__dict__

    @property
    def exemplars_(self) -> Array:
        """Index of the sample nearest to each mode; looked for when it is first asked for."""
        check_is_fitted(self)
        if self._exemplars is None:
            rows, fitted = self._trained.rows, self._trained.fitted
            nearest = nearest_points(fitted.problem.points, fitted.solution.C)
            self._exemplars = rows.take(np.arange(rows.n_samples))[nearest]
        return self._exemplars

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Cluster the rows of X and return `labels_`."""
        labels: Array = self.fit(X, y, **fit_params).labels_
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
