"""Scores of a clustering against known classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._records import Array

AVERAGES = ("max", "min", "geometric", "arithmetic")


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
    return _numbered(truth), _numbered(found)


def _labels(name: str, y: Any) -> Array:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{name!r} must be one label a point, shape (n_samples,). Got shape {labels.shape}.")
    return labels


def _numbered(labels: Array) -> Array:
    """Labels as integers from 0; objects may be of types that cannot be sorted."""
    if labels.dtype != object:
        return np.asarray(np.unique(labels, return_inverse=True)[1])
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([number[label] for label in labels])
