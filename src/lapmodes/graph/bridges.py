"""Rough bridges between many separate parts of a neighbour graph: from the points of one to the medoid of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._records import Array

BLOCK_ENTRIES = 2**19


def rough_bridges(X: Any, parts: Array) -> tuple[Array, Array, Array]:
    """For each part a short edge that leaves it: (start, end, length).

    Each part looks for the nearest medoid of another part, then both ends move to the nearest member of their part.
    Work grows with the number of points times that of parts, not with the square of the points.
    """
    order = np.argsort(parts, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(parts))[:-1])
    medoids = _medoids(X, parts, members)
    nearest, distance = _nearest_medoids(X, parts, medoids)
    starts, ends, lengths = [], [], []
    for own in members:
        start = own[distance[own].argmin()]
        others = members[nearest[start]]
        end = others[_distances(X, others, start).argmin()]
        back = _distances(X, own, end)
        starts.append(own[back.argmin()])
        ends.append(end)
        lengths.append(back.min())
    return np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32), np.array(lengths, dtype=np.float64)


def _medoids(X: Any, parts: Array, members: list[Array]) -> Array:
    """The member of each part that is nearest to its mean."""
    share = (1 / np.bincount(parts))[parts].astype(X.dtype)
    means = _dense(csr_array((share, (parts, np.arange(parts.size)))) @ X)
    away = np.empty(parts.size)
    for rows in _blocks(parts.size, X.shape[1]):
        away[rows] = np.square(_dense(X[rows]) - means[parts[rows]]).sum(axis=1)
    return np.array([own[away[own].argmin()] for own in members])


def _nearest_medoids(X: Any, parts: Array, medoids: Array) -> tuple[Array, Array]:
    """For each point the part whose medoid is nearest, its own aside, and the squared distance less its own norm."""
    M = _dense(X[medoids])
    sqnorm = np.einsum("ij,ij->i", M, M)
    nearest, distance = np.empty(parts.size, dtype=np.int64), np.empty(parts.size)
    for rows in _blocks(parts.size, len(M)):
        d2 = sqnorm - 2 * np.asarray(X[rows] @ M.T)
        each = np.arange(len(d2))
        d2[each, parts[rows]] = np.inf
        nearest[rows] = d2.argmin(axis=1)
        own = _dense(X[rows])
        distance[rows] = d2[each, nearest[rows]] + np.einsum("ij,ij->i", own, own)
    return nearest, distance


def _distances(X: Any, rows: Array, to: int) -> Array:
    return np.asarray(np.linalg.norm(_dense(X[rows]) - _dense(X[[to]]), axis=1))


def _blocks(n: int, width: int) -> list[slice]:
    size = max(1, BLOCK_ENTRIES // width)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if issparse(rows) else rows)
