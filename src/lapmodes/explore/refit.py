"""From one solution to the next on the same graph: knobs turned, clusters joined, rows held, linked or left out."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from .. import LaplacianKModes
from .._fit import solve_path
from .._predict import Trained
from .._progress import watch
from .._records import Array, Points, Problem, Start
from .._row_map import RowMap
from .._rows import as_rows, one_hot, replaced_rows
from .._settings import is_number
from .._validation import parameter_error
from ..graph.laplacian import build_graph, link_pairs
from ..graph.neighbors import make_index
from ..path import fitted_copy, settings_of


def merge_clusters(model: LaplacianKModes, one: int, other: int) -> LaplacianKModes:
    """Join two clusters of a fitted model; the result is a fitted model with one cluster less.

    Assignments and prior of the two are added, the mode of the larger one stays, and the whole model is solved again
    from there, as by :func:`lapmodes.sub_cluster`.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model; it is left as it is.
    one, other : int
        The clusters to join.

    Returns
    -------
    LaplacianKModes
        The larger of the two keeps its number; clusters after the smaller one are counted down by one.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.explore.refit import merge_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + place for place in [(0, 0), (30, 0), (30, 9)]])
    >>> model = LaplacianKModes(3, random_state=0).fit(X)
    >>> coarser = merge_clusters(model, model.labels_[50], model.labels_[100])
    >>> sorted(np.bincount(coarser.labels_).tolist())
    [50, 100]
    """
    check_is_fitted(model)
    K, trained = model.n_clusters_, model._trained
    for name, cluster in (("one", one), ("other", other)):
        if not is_number(cluster, Integral, 0) or cluster >= K:
            raise parameter_error("merge_clusters", name, f"an int from 0 to {K - 1}", cluster)
    if one == other:
        raise ValueError(f"Cluster {one} cannot be joined with itself: name two clusters.")
    problem, solution = trained.fitted.problem, trained.fitted.solution
    sizes = np.bincount(model.labels_, minlength=K)
    kept, gone = (one, other) if sizes[one] >= sizes[other] else (other, one)
    place = np.arange(K) - (np.arange(K) > gone)
    place[gone] = place[kept]
    join = one_hot(place, K - 1, solution.Z.dtype, sparse=True)
    Z, prior = (
        each if each is None else as_rows(each @ join, each.dtype, sparse=issparse(each))
        for each in (solution.Z, problem.prior)
    )
    if problem.known is not None:
        known = np.where(problem.known >= 0, place[problem.known], -1).astype(np.int32)
        problem = replace(problem, known=known)
    start = Start(np.delete(solution.C, gone, axis=0), Z, prior)
    return _solved_again(model, trained, problem, start, n_clusters=K - 1)


def refit(
    model: LaplacianKModes,
    *,
    lam: float | None = None,
    bandwidth: Any = None,
    prior_weight: float | None = None,
    partial_labels: Any = None,
    must_link: Any = None,
    leave_out: Any = None,
) -> LaplacianKModes:
    """Solve a fitted model again with something changed, on its own graph and from where it is.

    What is None stays as it is. The neighbours are not searched for again, and the start is the model's solution, so
    a small change takes a few alternations.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model; it is left as it is. Its 'verbose' watches the work.
    lam, prior_weight : float, optional
        As in :class:`LaplacianKModes`.
    bandwidth : float or array-like of shape (n_samples,), optional
        One for all samples, or one for each.
    partial_labels : array-like of int of shape (n_samples,), optional
        The cluster of each sample where it is known, -1 elsewhere, in place of those that the model knows. Where
        equal samples are one point of the fit, the last of their labels counts.
    must_link : array-like of int of shape (n_pairs, 2), optional
        Pairs of samples that belong together, beside those of the model.
    leave_out : array-like of bool of shape (n_samples,), optional
        Samples to leave out, beside those of weight 0; they take the assignment of their nearest neighbour that is not.

    Returns
    -------
    LaplacianKModes
        Fitted.

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.explore.refit import refit
    >>> X, y = make_moons_with_outliers(random_state=0)
    >>> model = LaplacianKModes(2, random_state=0).fit(X)
    >>> smoother = refit(model, lam=2 * model.lam_)
    >>> smoother.lam_ == 2 * model.lam_, smoother.graph_ is model.graph_
    (True, True)
    """
    check_is_fitted(model)
    trained, n, K = model._trained, model.labels_.size, model.n_clusters_
    sparse = issparse(model.assignments_)
    if partial_labels is not None and sparse:
        raise ValueError("'partial_labels' hold rows, which 'sparse_assignments' do not allow: leave one of them out.")
    if leave_out is not None:
        trained = without(trained, np.asarray(leave_out, dtype=bool))
    problem, solution, rows = trained.fitted.problem, trained.fitted.solution, trained.rows
    Z = solution.Z
    if must_link is not None:
        pairs = np.asarray(must_link, dtype=np.intp).reshape(-1, 2)
        pairs = pairs if rows.row_of is None else rows.row_of[pairs]
        linked = link_pairs(problem.graph.affinity, pairs[pairs[:, 0] != pairs[:, 1]])
        problem = replace(problem, graph=build_graph(linked, trained.laplacian))
    if partial_labels is not None:
        labels = np.asarray(partial_labels)
        if labels.shape != (n,) or labels.max(initial=-1) >= K:
            raise ValueError(f"'partial_labels' must have a cluster from 0 to {K - 1}, or -1, for each of {n} samples.")
        known = np.full(problem.points.n, -1, dtype=np.int32)
        at = np.flatnonzero(labels >= 0)
        known[at if rows.row_of is None else rows.row_of[at]] = labels[at]
        held = known >= 0
        problem = replace(problem, known=known if held.any() else None)
        Z = replaced_rows(Z, held, one_hot(known[held], K, Z.dtype))
    changed = {"lam": lam, "prior_weight": prior_weight}
    named: dict[str, Any] = {name: float(value) for name, value in changed.items() if value is not None}
    problem = replace(problem, **named)
    if bandwidth is not None:
        one = np.ndim(bandwidth) == 0
        width = float(bandwidth) if one else rows.take(np.asarray(bandwidth, dtype=solution.C.dtype))
        problem, named = replace(problem, bandwidth=width), named | ({"bandwidth": width} if one else {})
    return _solved_again(model, trained, problem, Start(solution.C, Z, problem.prior), **named)


def _solved_again(
    model: LaplacianKModes, trained: Trained, problem: Problem, start: Start, **changed: Any
) -> LaplacianKModes:
    """The model of a changed problem, solved from a start."""
    with watch(model, model.verbose) as progress, progress.phase("alternate") as step:
        at, again = list(solve_path(problem, start, settings_of(model), step))[-1]
    solved = replace(trained.fitted, problem=at, solution=again)
    graph = model.graph_ if problem.graph is model._trained.fitted.problem.graph else None
    return fitted_copy(model, replace(trained, fitted=solved), graph=graph, **changed)


def without(trained: Trained, left_out: Array) -> Trained:
    """The same solution over fewer points: those of which all samples are left out are gone.

    Their samples are answered for by the nearest point that is left.
    """
    rows, fitted = trained.rows, trained.fitted
    problem, solution = fitted.problem, fitted.solution
    n, row_of = problem.points.n, np.arange(rows.n_samples) if rows.row_of is None else rows.row_of
    keep = np.bincount(row_of[~left_out], minlength=n) > 0
    if keep.all():
        return trained
    if keep.sum() < max(2, solution.C.shape[0]):
        raise ValueError(
            f"{int(keep.sum())} points would be left, fewer than there are clusters. Leave out fewer rows."
        )
    at = np.flatnonzero(keep)
    nearest = make_index(problem.points.X[at], problem.points.threads).query(problem.points.X[~keep], 1)
    place = np.cumsum(keep) - 1
    place[~keep] = nearest.indices[:, 0]
    samples = np.arange(rows.n_samples) if rows.sample_of is None else rows.sample_of
    smaller = Points(problem.points.X[at], problem.points.threads)
    graph = build_graph(csr_array(problem.graph.affinity[at][:, at]), trained.laplacian)
    some = {"sample_weight": problem.sample_weight, "prior": problem.prior, "known": problem.known}
    taken: dict[str, Any] = {name: None if values is None else values[at] for name, values in some.items()}
    width = problem.bandwidth[at] if np.ndim(problem.bandwidth) else problem.bandwidth
    solution = replace(solution, Z=solution.Z[at], unreached=solution.unreached[at])
    rule = fitted.affinity
    if rule is not None:
        anchors = rule.anchors and replace(rule.anchors, half=csr_array(rule.anchors.half[at]))
        rule = replace(rule, scale=None if rule.scale is None else rule.scale[at], anchors=anchors)
    fitted = replace(
        fitted,
        problem=replace(problem, points=smaller, graph=graph, bandwidth=width, **taken),
        solution=solution,
        affinity=rule,
        index=None,
    )
    return replace(trained, fitted=fitted, rows=RowMap(rows.n_samples, samples[at], place[row_of]))
