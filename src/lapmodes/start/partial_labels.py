"""Partial labels: the clusters of a start take the names that a few known points say, and learn from them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._records import Array, Graph, Problem, Start
from .._rows import contingency, one_hot
from ..graph.laplacian import spread_labels
from .k_means import dense_modes


def learn_labels(start: Start, problem: Problem) -> Start:
    """The start with its clusters in the order of the classes, and the known points (-1 elsewhere) in their own.

    A prior gives way to the labels, spread over the graph, if these say more: if those of half of the known points are
    right on more of the other half than the prior is, by more than a standard error.
    """
    graph, known, K = problem.graph, problem.known, start.Z.shape[1]
    assert known is not None
    named = spread_labels(graph, known, K)
    order = cluster_order(start.Z, known, named)
    at = np.flatnonzero(known >= 0)
    C, Z = np.ascontiguousarray(start.C[order]), np.ascontiguousarray(start.Z[:, order])
    if start.prior is not None and is_more(right_by_halves(graph, known, K), Z[at].argmax(axis=1) == known[at]):
        Z = one_hot(named, K, Z.dtype)
        C = dense_modes(problem.points, graph, Z)
    Z[at] = one_hot(known[at], K, Z.dtype)
    return Start(C, Z, None if start.prior is None else Z)


def cluster_order(Z: Array, known: Array, named: Array) -> Array:
    """For each class the column of Z that has most known points with it, then most points that `named` gives to it."""
    at, columns, K = known >= 0, Z.argmax(axis=1), Z.shape[1]
    common = contingency(known[at], columns[at], K) + contingency(named, columns, K) / (len(Z) + 1)
    return np.asarray(linear_sum_assignment(-common)[1])


def is_more(one: Array, two: Array) -> bool:
    """Whether more is true in one than in the other, by more than a standard error of the difference of shares."""
    first, second = ((each.sum() + 1) / (each.size + 2) for each in (one, two))
    return bool(first - second > np.sqrt((first * (1 - first) + second * (1 - second)) / one.size))


def right_by_halves(graph: Graph, known: Array, K: int) -> Array:
    """On which known points the labels of the other half of them, spread over the graph, are right."""
    at = np.flatnonzero(known >= 0)
    other = np.zeros(known.size, dtype=np.intp)
    other[at[np.argsort(known[at], kind="stable")]] = 1 + np.arange(at.size) % 2
    spread = [spread_labels(graph, np.where(other == half, known, -1), K) for half in (2, 1)]
    return np.asarray(np.where(other[at] == 1, spread[0][at], spread[1][at]) == known[at])
