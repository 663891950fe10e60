"""Scores of a clustering against known classes, and of its points: how certain, how crowded, how unusual they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse
from scipy.special import entr

from ._records import Array
from ._rows import largest_columns, modularity, numbered
from .solve.mapping import Tails, fit_tails

AVERAGES = ("max", "min", "geometric", "arithmetic")
DENSITY_NEIGHBORS = 7
"""Neighbours by which the density is judged where a model has no graph."""
SCORE_NEIGHBORS = 10
"""Neighbours by which a whole clustering is judged."""
CHUNK_ENTRIES = 2**22
"""Numbers of the edges' coordinates that are held at once."""


def clustering_accuracy(y_true: Any, y_pred: Any, *, noise: Any = None) -> float:
    """Share of points that are right under the best one-to-one matching of clusters to classes.

    The names of the labels do not matter. Points of clusters left without a class count as wrong, and so do
    those of classes left without a cluster, where the numbers of the two differ.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, of any names.
    y_pred : array-like of shape (n_samples,)
        Clusters, of any names.
    noise : label, optional
        Points of this class of `y_true` are left out.

    Returns
    -------
    float
        Between 0 and 1; 1 if the two partitions are the same.

    Examples
    --------
    >>> from lapmodes.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    >>> clustering_accuracy([0, 0, 1, 1, -1], [7, 7, 3, 3, 7], noise=-1)
    1.0
    """
    from scipy.optimize import linear_sum_assignment

    counts = _contingency(y_true, y_pred, noise)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / counts.sum())


def normalized_mutual_info(y_true: Any, y_pred: Any, *, average: str = "max", noise: Any = None) -> float:
    """Mutual information of classes and clusters, divided by a mean of their entropies.

    The default divides by the larger entropy, as the Laplacian K-modes paper does. scikit-learn's
    ``normalized_mutual_info_score`` divides by their arithmetic mean unless told otherwise, which is never
    lower: compare only numbers with the same `average`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, of any names.
    y_pred : array-like of shape (n_samples,)
        Clusters, of any names.
    average : {'max', 'min', 'geometric', 'arithmetic'}, default='max'
        Which mean of the two entropies to divide by.
    noise : label, optional
        Points of this class of `y_true` are left out.

    Returns
    -------
    float
        Between 0 and 1; 1 if the two partitions are the same.

    Examples
    --------
    >>> from lapmodes.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.667
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2], average="arithmetic"), 3)
    0.8
    """
    from sklearn.metrics import normalized_mutual_info_score

    if average not in AVERAGES:
        names = ", ".join(map(repr, AVERAGES))
        raise ValueError(f"The 'average' parameter must be one of {names}. Got {average!r} instead.")
    return float(normalized_mutual_info_score(*_codes(y_true, y_pred, noise), average_method=average))


def adjusted_rand(y_true: Any, y_pred: Any, *, noise: Any = None) -> float:
    """Rand index adjusted for chance, by scikit-learn.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, of any names.
    y_pred : array-like of shape (n_samples,)
        Clusters, of any names.
    noise : label, optional
        Points of this class of `y_true` are left out.

    Returns
    -------
    float
        1 if the two partitions are the same, near 0 for random ones; at least -0.5.

    Examples
    --------
    >>> from lapmodes.metrics import adjusted_rand
    >>> adjusted_rand([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_codes(y_true, y_pred, noise)))


def purity(y_true: Any, y_pred: Any, *, noise: Any = None) -> float:
    """Share of points that belong to the commonest class of their cluster.

    Several clusters may stand for one class, so more clusters never score lower: compare only clusterings
    with the same number of clusters.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, of any names.
    y_pred : array-like of shape (n_samples,)
        Clusters, of any names.
    noise : label, optional
        Points of this class of `y_true` are left out.

    Returns
    -------
    float
        Above 0 and at most 1.

    Examples
    --------
    >>> from lapmodes.metrics import purity
    >>> purity(["a", "a", "b", "b"], [0, 1, 2, 2])
    1.0
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 0])
    0.5
    """
    counts = _contingency(y_true, y_pred, noise)
    return float(counts.max(axis=0).sum() / counts.sum())


def model_score(model: Any, X: Any, y: Any = None) -> float:
    """How good a fitted clustering is, without labels: a scorer for GridSearchCV, Optuna and the like.

    Two things count, and are multiplied. *Reproducible*: a new fit to `X` and the model's prediction for `X` agree
    (adjusted Rand index, at least 0). *Separated*: neighbours are in the same cluster more often than by chance
    (modularity of the prediction on the graph of each row's 10 nearest). `X` should be rows that the model has not
    seen, as in cross-validation; for those of its own fit only the second means something.

    Parameters
    ----------
    model : estimator
        A fitted clustering with `predict`, or a pipeline that ends in one; neighbours are those in front of its end.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows to judge by.
    y : ignored
        Searches pass it on.

    Returns
    -------
    float
        At most 1, higher is better; 0 for one cluster.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.metrics import model_score
    >>> X, _ = make_blobs(200, centers=4, random_state=0, cluster_std=0.6)
    >>> search = GridSearchCV(LaplacianKModes(random_state=0), {"n_clusters": [2, 3, 4, 5]}, scoring=model_score, cv=2)
    >>> search.fit(X).best_params_
    {'n_clusters': 4}
    """
    from sklearn.base import clone
    from sklearn.neighbors import kneighbors_graph

    labels, again = np.asarray(model.predict(X)), clone(model).fit_predict(X)
    seen, last = (model[:-1].transform(X), model[-1]) if hasattr(model, "steps") else (X, model)
    near = kneighbors_graph(seen, min(SCORE_NEIGHBORS, len(labels) - 1), metric=getattr(last, "metric", "euclidean"))
    return max(adjusted_rand(labels, again), 0.0) * modularity(csr_array(near.maximum(near.T)), numbered(labels))


def assignment_entropy(assignments: Any) -> Array:
    """How uncertain each point's assignment is: its entropy, divided by the logarithm of the number of clusters.

    Parameters
    ----------
    assignments : array-like or CSR matrix of shape (n_samples, n_clusters)
        Soft assignments; each row lies on the probability simplex.

    Returns
    -------
    ndarray of shape (n_samples,)
        0 where a point belongs to one cluster entirely, 1 where it belongs to all clusters alike.

    Examples
    --------
    >>> from lapmodes.metrics import assignment_entropy
    >>> assignment_entropy([[1.0, 0.0], [0.5, 0.5]]).tolist()
    [0.0, 1.0]
    """
    Z = _rows_of_assignments(assignments)
    n, n_clusters = Z.shape
    if n_clusters == 1:
        return np.zeros(n)
    terms = csr_array((entr(Z.data), Z.indices, Z.indptr), shape=Z.shape) if issparse(Z) else entr(Z)
    return np.clip(np.asarray(terms.sum(axis=1)).ravel() / np.log(n_clusters), 0.0, 1.0)


def neighbor_log_density(model: Any, X: Any) -> Array:
    """Logarithm of a kernel density of each point of the fit, by its neighbours in the model's graph only.

    It ranks points much as ``model.score_samples(X)`` does, in a time that grows with the number of edges instead of
    the square of the number of points. It is low for points that lie alone.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        Its `graph_` gives the neighbours (a new graph of the 7 nearest where it has none), its `bandwidth_` the width
        of the Gaussian kernel (the median length of an edge where it is infinite).
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points that the model was fitted on.

    Returns
    -------
    ndarray of shape (n_samples,)
        Not normalised: only differences mean something. Points without a neighbour get the lowest value of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.metrics import neighbor_log_density
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[0] = 9.0
    >>> model = LaplacianKModes(2, random_state=0).fit(X)
    >>> int(neighbor_log_density(model, X).argmin())
    0
    """
    points = csr_array(X) if issparse(X) else np.asarray(X)
    n = model.labels_.shape[0]
    if points.ndim != 2 or points.shape[0] != n:
        raise ValueError(f"'X' must be the {n} points that the model was fitted on. Got shape {points.shape}.")
    if model.metric == "cosine":
        from sklearn.preprocessing import normalize

        points = normalize(points)
    start, end, squared = _edge_lengths(_neighbor_graph(model, points), points)
    width = np.broadcast_to(np.asarray(model.bandwidth_, dtype=np.float64), (n,))
    if not np.isfinite(width).all():
        width = np.full(n, np.sqrt(np.median(squared)) if squared.size else 1.0)
    exponent = -0.5 * squared / np.square(np.maximum(width[end], np.finfo(float).tiny))
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, start, exponent)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = np.bincount(start, np.exp(exponent - shift[start]), minlength=n)
    with np.errstate(divide="ignore"):
        density = shift + np.log(total)
    known = np.isfinite(density)
    return np.where(known, density, density[known].min(initial=0.0))


def outlier_scores(assignments: Any, densities: Any, reference: Tails | Sequence[Array] | None = None) -> Array:
    """How unusual points are for members of their cluster: 0.5 for the median member, towards 1 for outliers.

    The score is 1 minus a tail probability: the probability that a member of the cluster lies where it is at most as
    dense; for a point that is shared by clusters, the mean over them by its shares. 0.99 means the same in a dense and
    in a thin cluster, in a large and in a small one: one of a hundred members lies as far out. The probability is that
    of a smooth distribution that is fitted to each cluster without its outermost points, see the page on the method, so
    it can be far below one over the number of members.

    Parameters
    ----------
    assignments : array-like or CSR matrix of shape (n_samples, n_clusters)
        Soft assignments of the points.
    densities : array-like of shape (n_samples,)
        Log density at each point, or minus the logarithm of its distance from its neighbours.
    reference : sequence of n_clusters arrays, optional
        For each cluster the `densities` of its members. By default the points themselves are the members, each of the
        cluster of its largest assignment. Clusters with fewer than 20 are compared with the members of all clusters.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 and 1; within a cluster larger where the density is lower.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes.metrics import outlier_scores
    >>> densities = -np.linspace(0.0, 1.0, 101)
    >>> score = outlier_scores(np.ones((101, 1)), densities)
    >>> round(float(score[50]), 1)
    0.5
    >>> bool(outlier_scores([[1.0]], [-4.0], [densities])[0] > 0.999)
    True
    """
    Z, rarity = coo_array(_rows_of_assignments(assignments)), -np.asarray(densities, dtype=np.float64)
    n, n_clusters = Z.shape
    if rarity.shape != (n,):
        raise ValueError(f"'densities' must have shape ({n},), one number a point. Got {rarity.shape} instead.")
    tails = reference if isinstance(reference, Tails) else _tails(assignments, rarity, n_clusters, reference)
    row, column = Z.coords
    probability = np.bincount(row, Z.data * tails.probability(rarity[row], column), minlength=n)
    return np.asarray(1.0 - np.minimum(probability, 1.0))


def _tails(assignments: Any, rarity: Array, n_clusters: int, reference: Sequence[Array] | None) -> Tails:
    """The tails of clusters with given members, or with the points themselves as members."""
    if reference is None:
        return fit_tails(rarity, largest_columns(_rows_of_assignments(assignments)), n_clusters)
    if len(reference) != n_clusters:
        raise ValueError(f"'reference' must have {n_clusters} arrays, one a cluster. Got {len(reference)} instead.")
    members = np.concatenate([np.asarray(each, dtype=np.float64) for each in reference])
    if not np.isfinite(members).any():
        raise ValueError("'reference' must have a member of finite density. Got none.")
    return fit_tails(-members, np.repeat(np.arange(n_clusters), [len(each) for each in reference]), n_clusters)


def _rows_of_assignments(assignments: Any) -> Any:
    """Assignments in double precision, as an array or a CSR matrix."""
    Z = csr_array(assignments) if issparse(assignments) else np.asarray(assignments)
    if Z.ndim != 2 or Z.shape[1] == 0:
        raise ValueError(f"'assignments' must have shape (n_samples, n_clusters). Got {Z.shape} instead.")
    return Z.astype(np.float64, copy=False)


def _neighbor_graph(model: Any, points: Any) -> Any:
    """The model's graph, or a new one of nearest neighbours where it has none."""
    if model.graph_.nnz:
        return csr_array(model.graph_)
    from sklearn.neighbors import kneighbors_graph

    return csr_array(kneighbors_graph(points, min(DENSITY_NEIGHBORS, points.shape[0] - 1)))


def _edge_lengths(graph: Any, points: Any) -> tuple[Array, Array, Array]:
    """Both ends and the squared length of each edge."""
    start = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    end = graph.indices
    squared = np.empty(start.size)
    step = max(1, CHUNK_ENTRIES // points.shape[1])
    for first in range(0, start.size, step):
        part = slice(first, first + step)
        difference = points[start[part]] - points[end[part]]
        if issparse(difference):
            squared[part] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            squared[part] = np.einsum("nd,nd->n", difference, difference, dtype=np.float64)
    return start, end, squared


def _contingency(y_true: Any, y_pred: Any, noise: Any) -> Array:
    """How many points of each class (row) are in each cluster (column)."""
    classes, clusters = _codes(y_true, y_pred, noise)
    counts = np.zeros((classes.max() + 1, clusters.max() + 1), dtype=np.int64)
    np.add.at(counts, (classes, clusters), 1)
    return counts


def _codes(y_true: Any, y_pred: Any, noise: Any) -> tuple[Array, Array]:
    """Both labelings as integers from 0, without the noise."""
    truth, found = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if truth.size != found.size:
        raise ValueError(f"'y_true' and 'y_pred' must have the same length. Got {truth.size} and {found.size} labels.")
    if noise is not None:
        keep = truth != noise
        truth, found = truth[keep], found[keep]
    if truth.size == 0:
        left = "" if noise is None else f" besides the noise {noise!r}"
        raise ValueError(f"'y_true' must have at least one label{left}. Got none.")
    return numbered(truth), numbered(found)


def _labels(name: str, y: Any) -> Array:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{name!r} must be one label a point, shape (n_samples,). Got shape {labels.shape}.")
    return labels
