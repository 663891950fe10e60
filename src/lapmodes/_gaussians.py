"""Mixtures of Gaussians by EM, how many there are, and how much points look like them.

A Gaussian's log density is linear in the products of a point's coordinates, and so are the moments that it comes from:
each step of EM is two matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ._records import Array
from ._rows import one_hot, shares_back

KINDS = ("full", "tied", "diagonal", "spherical")
"""What the covariances may be: any, one for all, without correlations, or balls."""
FULL_DIMENSIONS, AXES = 16, 12
"""Above so many dimensions a covariance a cluster asks for more points than clusters have; so many axes do then."""
STEPS = 80
NEIGHBOR = 4
"""Distances to this neighbour are compared with those among points drawn from Gaussians."""
COUNTED_ROWS = (50, 1000)
"""Fewer points do not show what they look like; of more a sample is counted."""
ROUGH, PATIENCE, HALVES = 1e-3, 4, 6
"""To count, EM ends early; numbers are tried until so many in a row were worse than an earlier one."""
LOOK, RETURN = 0.9, 0.8
"""Gaussians are there if the points look like them, and if they come back from halves of the points."""


def principal_axes(X: Array) -> tuple[Array, Array]:
    """The middle of points and their principal axes as columns, the leading ones where there are many dimensions."""
    d = X.shape[1]
    axes = np.linalg.eigh(np.cov(X.T, dtype=np.float64).reshape(d, d))[1]
    return X.mean(axis=0, dtype=np.float64), axes if d <= FULL_DIMENSIONS else axes[:, -AXES:]


def products(X: Array, kind: str) -> Array:
    """Of each point 1, its coordinates, and those products of two of them that tell Gaussians of a kind apart."""
    squares = {"tied": X[:, :0], "diagonal": np.square(X), "spherical": np.square(X).sum(axis=1, keepdims=True)}
    if kind == "full":
        squares[kind] = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.hstack([np.ones((len(X), 1)), X, squares[kind]])


def fit_gaussians(X: Array, P: Array, Z: Array, kind: str, close: float) -> tuple[float, Array, Array]:
    """EM from soft clusters: the mean log density, the clusters, and the weights of the products P in log densities.

    It ends when a step raises the mean log density by less than `close`.
    """
    second, before = X.T @ X / len(X), -np.inf
    for _ in range(STEPS):
        weights, common = _gaussians_of(Z.T @ P, second, kind)
        logs = P @ weights
        top = logs.max(axis=1, keepdims=True)
        Z = np.exp(logs - top)
        total = Z.sum(axis=1, keepdims=True)
        Z /= total
        height = float((top + np.log(total)).mean()) + common
        if height - before < close:
            break
        before = height
    return height, Z, weights


def _gaussians_of(sums: Array, second: Array, kind: str) -> tuple[Array, float]:
    """From sums of products the weights of products in log densities, and what all Gaussians have in common.

    A covariance counts d + 2 points of the pooled one, so that none is flat.
    """
    d = len(second)
    size = sums[:, 0] + 1e-9
    shares, means, squares = size / size.sum(), sums[:, 1 : d + 1] / size[:, None], sums[:, d + 1 :]
    pooled = second - (shares[:, None] * means).T @ means
    pooled += (1e-6 * np.trace(pooled) / d + 1e-12) * np.eye(d)
    common, some = 0.0, (size + d + 2)[:, None]
    if kind == "full":
        scatter = squares.reshape(-1, d, d) - size[:, None, None] * means[:, :, None] * means[:, None, :]
        covariances = (scatter + (d + 2) * pooled) / some[:, None]
        precisions = np.linalg.inv(covariances)
        slopes, curves = np.einsum("kij,kj->ki", precisions, means), precisions.reshape(len(size), -1)
        volume = np.linalg.slogdet(covariances)[1]
    elif kind == "tied":
        precision = np.linalg.inv(pooled)
        slopes, curves = means @ precision, squares
        volume, common = np.linalg.slogdet(pooled)[1], -0.5 * float((precision * second).sum())
    else:
        lengths, pool = np.square(means), np.diag(pooled)
        if kind == "spherical":
            squares, lengths, pool = squares / d, lengths.mean(axis=1, keepdims=True), pool.mean()
        variances = (np.maximum(squares - size[:, None] * lengths, 0) + (d + 2) * pool) / some
        slopes, curves = means / variances, 1 / variances
        volume = d * np.log(variances).mean(axis=1)
    level = np.log(shares) - 0.5 * (volume + d * np.log(2 * np.pi) + (means * slopes).sum(axis=1))
    return np.hstack([level[:, None], slopes, -0.5 * curves]).T, common


def free_numbers(K: int, d: int, kind: str) -> float:
    """How many free numbers K Gaussians of a kind have."""
    covariances = {"full": K * d * (d + 1) / 2, "tied": d * (d + 1) / 2, "diagonal": K * d, "spherical": K}
    return K - 1 + K * d + covariances[kind]


@dataclass(frozen=True)
class Mixture:
    """Gaussians of one kind that were fitted to points."""

    count: int
    kind: str
    cost: float
    """Schwarz's criterion, the smaller the better: minus twice the log likelihood, and a price for free numbers."""
    weights: Array

    def labels(self, X: Array) -> Array:
        """The most likely Gaussian for each point."""
        return np.asarray((products(X, self.kind) @ self.weights).argmax(axis=1).astype(np.int32))


def count_gaussians(X: Array, most: int, rng: np.random.RandomState) -> tuple[int, dict[int, float], Array] | None:
    """How many Gaussians the points were drawn from, how likely each number is beside it, and which are whose.

    None where the points do not look like Gaussians, where these do not come back from random halves of the points
    with the number that the half speaks for, or where there may be more of them than `most`.
    """
    if len(X) < COUNTED_ROWS[0]:
        return None
    middle, axes = principal_axes(X)
    X = X - middle if X.shape[1] <= FULL_DIMENSIONS else (X - middle) @ axes
    X = X / (X.std() or 1.0)
    some = X[rng.permutation(len(X))[: COUNTED_ROWS[1]]]
    found = fit_numbers(some, range(1, most + 1), KINDS)
    best = min(found, key=lambda mixture: mixture.cost)
    labels = best.labels(some)
    alike = best.count < most and likeness(some, labels, best.count, rng) >= LOOK
    if not alike or (best.count > 1 and share_that_returns(some, labels, best, rng) < RETURN):
        return None
    costs = {K: min(each.cost for each in found if each.count == K) for K in {each.count for each in found}}
    return (
        best.count,
        {K: float(np.exp((best.cost - cost) / (2 * len(some)))) for K, cost in costs.items()},
        best.labels(X),
    )


def fit_numbers(X: Array, numbers: range, kinds: Iterable[str]) -> list[Mixture]:
    """Mixtures of some numbers of Gaussians, EM begun from Ward's linkage; the larger ones only while they pay."""
    from scipy.cluster.hierarchy import fcluster, linkage  # not needed at import

    n, d = X.shape
    tree, found = linkage(X, "ward"), list[Mixture]()
    for kind in kinds:
        P, costs = products(X, kind), list[float]()
        for K in numbers:
            groups = one_hot(fcluster(tree, K, "maxclust") - 1, K, np.float64)
            height, _, weights = fit_gaussians(X, P, groups, kind, ROUGH)
            costs.append(free_numbers(K, d, kind) * np.log(n) - 2 * n * height)
            found.append(Mixture(K, kind, costs[-1], weights))
            if len(costs) - np.argmin(costs) > PATIENCE:
                break
    return found


def share_that_returns(X: Array, labels: Array, mixture: Mixture, rng: np.random.RandomState) -> float:
    """How much of each Gaussian's points comes back from random halves, with the number that the half speaks for."""
    near = range(max(1, mixture.count - 2), mixture.count + 3)
    shares = []
    for _ in range(HALVES):
        rows = rng.permutation(len(X))[: len(X) // 2]
        half = min(fit_numbers(X[rows], near, [mixture.kind]), key=lambda each: each.cost)
        shares.append(
            shares_back(labels[rows], half.labels(X[rows]), max(half.count, mixture.count))[: mixture.count].mean()
        )
    return float(np.mean(shares))


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
