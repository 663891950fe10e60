"""Mixtures of Gaussians by EM, and how much points look like Gaussians.

A Gaussian's log density is linear in the products of a point's coordinates, and so are the moments that it comes from:
each step of EM is two matrix products.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from ._records import Array
from ._rows import one_hot

FULL_DIMENSIONS, AXES = 16, 12
"""Above so many dimensions a covariance a cluster asks for more points than clusters have; so many axes do then."""
STEPS = 80
NEIGHBOR = 4
"""Distances to this neighbour are compared with those among points drawn from Gaussians."""


def principal_axes(X: Array) -> tuple[Array, Array]:
    """The middle of points and their principal axes as columns, the leading ones where there are many dimensions."""
    d = X.shape[1]
    axes = np.linalg.eigh(np.cov(X.T, dtype=np.float64).reshape(d, d))[1]
    return X.mean(axis=0, dtype=np.float64), axes if d <= FULL_DIMENSIONS else axes[:, -AXES:]


def products(X: Array) -> Array:
    """Of each point 1, its coordinates, and the products of two of them."""
    return np.hstack([np.ones((len(X), 1)), X, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)])


def moments(P: Array, Z: Array, d: int, *, tied: bool = False) -> tuple[Array, Array, Array]:
    """Shares, means and covariances of soft clusters; a covariance counts d + 2 points of the pooled one."""
    sums = Z.T @ P
    size = sums[:, 0] + 1e-9
    means = sums[:, 1 : d + 1] / size[:, None]
    scatter = sums[:, d + 1 :].reshape(-1, d, d) - size[:, None, None] * means[:, :, None] * means[:, None, :]
    pooled = scatter.sum(axis=0) / size.sum()
    pooled += (1e-6 * np.trace(pooled) / d + 1e-12) * np.eye(d)
    prior = 1e12 if tied else d + 2.0
    return size / size.sum(), means, (scatter + prior * pooled) / (size + prior)[:, None, None]


def fit_gaussians(P: Array, Z: Array, d: int, close: float, *, tied: bool = False) -> tuple[float, Array, Array]:
    """EM from soft clusters: the mean log density, the clusters, and the weights of the products in log densities.

    It ends when a step raises the mean log density by less than `close`. If `tied`, all have one covariance.
    """
    before = -np.inf
    for _ in range(STEPS):
        shares, means, covariances = moments(P, Z, d, tied=tied)
        precisions = np.linalg.inv(covariances)
        slopes = np.einsum("kij,kj->ki", precisions, means)
        level = np.log(shares) - 0.5 * (np.linalg.slogdet(2 * np.pi * covariances)[1] + (means * slopes).sum(axis=1))
        weights = np.hstack([level[:, None], slopes, -0.5 * precisions.reshape(len(shares), -1)]).T
        logs = P @ weights
        top = logs.max(axis=1, keepdims=True)
        Z = np.exp(logs - top)
        total = Z.sum(axis=1, keepdims=True)
        Z /= total
        height = float((top + np.log(total)).mean())
        if height - before < close:
            break
        before = height
    return height, Z, weights


def likeness(X: Array, labels: Array, K: int, rng: np.random.RandomState) -> float:
    """How much points look like Gaussians, one for each cluster: exp(-d) of their Kullback-Leibler divergence d.

    The Gaussians have the moments of the data, so d is a difference of entropies: the number of dimensions times the
    mean difference of the log distances to a neighbour, among points drawn from the Gaussians and among the data.
    """
    return float(np.exp(min(X.shape[1] * (_log_distance(X) - _log_distance(gaussians_like(X, labels, K, rng))), 0.0)))


def gaussians_like(X: Array, labels: Array, K: int, rng: np.random.RandomState) -> Array:
    """For each point one drawn from the Gaussian of its cluster; a covariance counts d + 2 points of the pooled one."""
    n, d = X.shape
    size = np.bincount(labels, minlength=K)
    means = one_hot(labels, K, np.float64).T @ X / np.maximum(size, 1)[:, None]
    away = X - means[labels]
    pooled = _root(away)
    drawn = rng.standard_normal((n, len(pooled))) @ pooled * np.sqrt((d + 2) / n)
    for k in np.flatnonzero(size):
        own = _root(away[labels == k])
        drawn[labels == k] += rng.standard_normal((size[k], len(own))) @ own
    return np.asarray(means[labels] + drawn / np.sqrt(size[labels] + d + 2)[:, None])


def _root(away: Array) -> Array:
    """R with R.T @ R = away.T @ away, which turns when the points are turned."""
    U, lengths, directions = np.linalg.svd(away, full_matrices=False)
    sign = np.sign(U[np.abs(U).argmax(axis=0), np.arange(lengths.size)])
    return np.asarray((sign * lengths)[:, None] * directions)


def _log_distance(X: Array) -> float:
    """Mean log of the distance to a neighbour; zeros count as a tenth of the smallest other distance."""
    away = cKDTree(X).query(X, k=[min(NEIGHBOR, len(X) - 1) + 1])[0]
    least = away.min(initial=np.inf, where=away > 0) / 10
    return float(np.log(np.maximum(away, least)).mean()) if np.isfinite(least) else 0.0
