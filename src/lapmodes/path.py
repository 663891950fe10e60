"""From one solution to others: along a path in (lam, bandwidth), the homotopy, and with one cluster divided."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._estimator import LaplacianKModes
from ._fit import Fitted, solve, solve_path, solve_with_all_clusters
from ._predict import Trained
from ._progress import Step, no_step, watch
from ._records import Array, Start
from ._rows import as_dense, as_rows, divided_column, largest_columns, spread_votes
from ._settings import CONSTRAINTS, Settings, check_parameters, is_number, resolve_settings
from ._validation import parameter_error
from ._warnings import InputWarning, warn_of


def fit_path(
    X: Any,
    n_clusters: int = 8,
    *,
    lam: Any = "auto",
    bandwidth: Any = "auto",
    n_steps: int | None = None,
    graph: Any = None,
    neighbors: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Iterator[LaplacianKModes]:
    """Follow Laplacian K-modes along a path in (lam, bandwidth): a fitted model for each step.

    The graph is built once and each step is warm-started from the one before, so a long path costs
    little more than a single fit. The path may go in any direction.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : int, default=8
        Number of clusters.
    lam, bandwidth : float, 'auto' or sequence
        Sequences are gone through together; a single value is held fixed. ``bandwidth=numpy.inf``
        with ``lam=0`` is K-means.
    n_steps : int, optional
        With single values: K-means, then geometric steps from the spread of the data to `bandwidth` and from a
        hundredth of `lam` to `lam`, this many in all.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`. The heat affinity takes the median length of the
        graph's edges as its width.

    Yields
    ------
    LaplacianKModes
        Fitted at this step: its `lam_` and `bandwidth_` are those of the step.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import fit_path
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> X, y = make_moons_with_outliers(random_state=0)
    >>> path = fit_path(X, 2, lam=1.0, bandwidth=np.geomspace(5, 0.1, 10), affinity="heat", n_neighbors=5,
    ...                 init="k-means", random_state=0)
    >>> [round(model.bandwidth_, 2) for model in path]
    [5.0, 3.24, 2.1, 1.36, 0.88, 0.57, 0.37, 0.24, 0.15, 0.1]
    """
    pairs = _pairs(lam, bandwidth)
    estimator = LaplacianKModes(n_clusters, lam=pairs[-1][0], bandwidth=pairs[-1][1], **parameters)
    for one, two in pairs:
        values = {name: getattr(estimator, name) for name in CONSTRAINTS}
        check_parameters("fit_path", values | {"lam": one, "bandwidth": two})
    if estimator.n_init != 1:
        raise ValueError("fit_path follows one start: leave 'n_init' at 1.")
    if n_steps is not None and (not is_number(n_steps, Integral, 2) or len(pairs) > 1):
        expected = "None, or an int of at least 2 with a single 'lam' and a single 'bandwidth'"
        raise parameter_error("fit_path", "n_steps", expected, n_steps)
    data = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
    return _follow(estimator, X, data, pairs if n_steps is None else int(n_steps))


def _follow(estimator: LaplacianKModes, X: Any, data: dict[str, Any], steps: Any) -> Iterator[LaplacianKModes]:
    """A fitted copy of the estimator for each step."""
    with watch(estimator, estimator.verbose) as progress:
        settings, rows, prepared = estimator._prepare(X, data, progress, steps)
        rng = check_random_state(estimator.random_state)
        for fitted in solve(prepared, settings, rng, progress):
            trained = Trained(fitted, rows, settings.n_neighbors, settings.metric, settings.laplacian)
            model = fitted_copy(estimator, trained)
            one_width = np.ndim(model.bandwidth_) == 0
            yield model.set_params(lam=model.lam_, bandwidth=model.bandwidth_ if one_width else estimator.bandwidth)


def fitted_copy(estimator: LaplacianKModes, trained: Trained, *, graph: Any = None, **changed: Any) -> LaplacianKModes:
    """A copy of an estimator, some of its parameters changed, that is fitted; warns if something went wrong.

    `graph` is its `graph_`, where another model has the same one.
    """
    model: LaplacianKModes = clone(estimator).set_params(**changed)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(model, name, getattr(estimator, name))
    model._store(trained, graph)
    if trained.fitted.solution.status.message:
        warn_of(trained.fitted.solution.status)
    return model


def _pairs(lam: Any, bandwidth: Any) -> list[tuple[Any, Any]]:
    """The steps as (lam, bandwidth); a single value goes with every step."""
    lams = [lam] if np.ndim(lam) == 0 else list(lam)
    widths = [bandwidth] if np.ndim(bandwidth) == 0 else list(bandwidth)
    if not lams or not widths:
        raise ValueError("'lam' and 'bandwidth' must have at least one value each. Got an empty sequence.")
    if len(lams) > 1 and len(widths) > 1 and len(lams) != len(widths):
        raise ValueError(
            "'lam' and 'bandwidth' must be sequences of the same length, or one of them a single value. "
            f"Got {len(lams)} and {len(widths)} values."
        )
    n = max(len(lams), len(widths))
    lams, widths = lams * (n if len(lams) == 1 else 1), widths * (n if len(widths) == 1 else 1)
    return [
        (one if isinstance(one, str) else float(one), two if isinstance(two, str) else float(two))
        for one, two in zip(lams, widths, strict=True)
    ]


def sub_cluster(
    model: LaplacianKModes, cluster: int, n_clusters: int | str = 2, *, random_state: Any = None
) -> LaplacianKModes:
    """Divide one cluster of a fitted model; the result is a fitted model with more clusters.

    The points of the cluster are clustered by themselves. Their parts take the place of the cluster in the assignments,
    the modes and the prior, and the whole model is solved again from there, on its graph and with its bandwidth, so
    that the result has a certified gap, maps new points and can be saved like any other.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model; it is left as it is.
    cluster : int
        The cluster to divide.
    n_clusters : int or 'auto', default=2
        Into how many parts. 'auto' leaves it to :func:`lapmodes.select`; where the cluster has no clear parts, the
        result has the clusters of the model.
    random_state : int, RandomState or None, default=None
        Seed of the start; None takes that of the model.

    Returns
    -------
    LaplacianKModes
        All other clusters keep their numbers, and the largest part that of the cluster. Further parts come after
        all others. Points at the border of the cluster may change sides.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import LaplacianKModes, sub_cluster
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + place for place in [(0, 0), (30, 0), (30, 9)]])
    >>> model = LaplacianKModes(2, random_state=0).fit(X)
    >>> finer = sub_cluster(model, model.labels_[-1])
    >>> np.bincount(finer.labels_).tolist()
    [50, 50, 50]
    """
    check_is_fitted(model)
    trained, K = model._trained, model.n_clusters_
    if not is_number(cluster, Integral, 0) or cluster >= K:
        raise parameter_error("sub_cluster", "cluster", f"an int from 0 to {K - 1}", cluster)
    fitted = trained.fitted
    members = np.flatnonzero(fitted.solution.labels == cluster)
    if not (isinstance(n_clusters, str) and n_clusters == "auto") and not is_number(n_clusters, Integral, 2):
        raise parameter_error("sub_cluster", "n_clusters", "'auto' or an int of at least 2", n_clusters)
    if members.size < (2 if isinstance(n_clusters, str) else n_clusters):
        raise ValueError(f"Cluster {cluster} has {members.size} distinct points, too few for {n_clusters} parts.")
    seed = model.random_state if random_state is None else random_state
    parts = _fit_members(trained, members, n_clusters, seed, model)
    with watch(model, model.verbose) as progress, progress.phase("alternate") as step:
        solved = divide(fitted, members, int(cluster), parts, settings_of(model), step)
    changed = replace(trained, fitted=solved)
    return fitted_copy(model, changed, graph=model.graph_, n_clusters=K + parts.n_clusters_ - 1)


def settings_of(model: LaplacianKModes) -> Settings:
    """The settings of a fitted model, for another solution of its problem."""
    values = {name: getattr(model, name) for name in CONSTRAINTS}
    graph_given = model._trained.needs_cross_graph or values["affinity"] == "precomputed"
    return resolve_settings(type(model).__name__, values, graph_given)


def _fit_members(trained: Trained, members: Array, n_clusters: Any, seed: Any, model: Any) -> LaplacianKModes:
    """The points of a cluster, clustered by themselves with the defaults; the largest part is the first."""
    problem = trained.fitted.problem
    graph = csr_array(problem.graph.affinity[members][:, members]) if trained.needs_cross_graph else None
    weight = None if problem.sample_weight is None else problem.sample_weight[members]
    near = min(trained.n_neighbors, members.size - 1)
    parts = LaplacianKModes(n_clusters, n_neighbors=near, n_jobs=model.n_jobs, random_state=seed, verbose=model.verbose)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # the fit of the whole has said it
        return parts.fit(problem.points.X[members], graph=graph, sample_weight=weight)


def divide(
    fitted: Fitted, members: Array, cluster: int, parts: LaplacianKModes, settings: Settings, step: Step = no_step
) -> Fitted:
    """The problem solved again with the parts, the largest first, in place of the cluster."""
    problem, solution = fitted.problem, fitted.solution
    order = np.argsort(-np.bincount(parts.labels_, minlength=parts.n_clusters_), kind="stable")
    columns = np.append(cluster, solution.C.shape[0] + np.arange(order.size - 1))
    C = np.concatenate([solution.C, parts.cluster_centers_[order[1:]]])
    C[cluster] = parts.cluster_centers_[order[0]]
    votes = spread_votes(problem.graph.affinity, members, as_dense(parts.prior_)[:, order])
    Z, prior = (
        each if each is None else as_rows(divided_column(each, columns, votes), each.dtype, sparse=issparse(each))
        for each in (solution.Z, problem.prior)
    )
    if problem.known is not None:
        known = problem.known.copy()
        held = np.flatnonzero(known == cluster)
        known[held] = columns[largest_columns(votes[held])]
        problem = replace(problem, known=known)
    solutions = solve_with_all_clusters if settings.lam is None else solve_path
    at, again = list(solutions(problem, Start(C, Z, prior), settings, step))[-1]
    return replace(fitted, problem=at, solution=again)
