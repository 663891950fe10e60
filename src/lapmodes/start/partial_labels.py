"""Partial labels: the clusters of a start take the names that a few known points say."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from .._records import Array, Graph, Start
from .._rows import contingency, one_hot


def name_clusters(start: Start, known: Array, graph: Graph) -> Start:
    """The start with its clusters in the order of the classes, and the known points (-1 elsewhere) in their own."""
    K = start.Z.shape[1]
    order = cluster_order(start.Z, spread_labels(graph, known, K))
    at = np.flatnonzero(known >= 0)
    Z = np.ascontiguousarray(start.Z[:, order])
    Z[at] = one_hot(known[at], K, Z.dtype)
    return Start(np.ascontiguousarray(start.C[order]), Z, None if start.prior is None else Z)


def cluster_order(Z: Array, named: Array) -> Array:
    """For each class that `named` gives to points the column of Z that has most points with it."""
    return np.asarray(linear_sum_assignment(-contingency(named, Z.argmax(axis=1), Z.shape[1]))[1])


def spread_labels(graph: Graph, known: Array, K: int) -> Array:
    """Labels of all points from a few known ones by Poisson learning (Calder, Cook, Thorpe & Slepcev 2020).

    Solves L U = sources, one unit at each known point less the mean: unlike harmonic extension this stays informative
    with one label a class.
    """
    at = np.flatnonzero(known >= 0)
    source = np.zeros((known.size, K))
    source[at, known[at]] = 1
    source[at] -= source[at].mean(axis=0)
    degrees = np.where(graph.degrees > 0, graph.degrees, 1).astype(np.float64)
    root = 1 / np.sqrt(degrees)
    scaled = diags_array(root) @ graph.affinity.astype(np.float64) @ diags_array(root)
    L = csr_array(diags_array(np.full(known.size, 1 + 1e-9)) - scaled)
    U = np.column_stack([cg(L, root * source[:, k], rtol=1e-4, maxiter=1000)[0] for k in range(K)]) * root[:, None]
    labels = U.argmax(axis=1).astype(np.int32)
    labels[at] = known[at]
    return labels
