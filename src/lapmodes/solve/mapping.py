"""New points: the out-of-sample mapping, eq. (7) of the paper, the density of each cluster and the tail of its members.

The mapping is the projection of z_bar + gamma q onto the simplex. The density of cluster k is p_k(x) =
sum_n z_nk N(x; x_n, sigma_n^2 I) / sum_n z_nk. The tail says how many members of a cluster are as rare as a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import ndtr, ndtri

from .. import _native
from .._records import Array, Points
from .._rows import row_arrays
from .objective import inverse_width, kernel_values, mode_columns

BLOCK = 2048
"""Points, and new points, whose kernel values are held at once."""
LOWEST = -1e300
"""The lowest logarithm of a density: that of none."""
FEW = 20
"""Clusters with fewer members are compared with the members of all clusters."""
DENSE = 0.1
"""The fit of a tail starts from the densest tenth of a cluster, which outliers hardly move."""
ROUNDS = 10
OUTLIERS = 0.1
"""Share of outliers that it starts from."""
TYPICAL_MEMBERS = 100.0
"""Members of the typical spread that a cluster which spreads wider is thought to have besides its own."""
CAUTION = 5.0
"""A spread is taken to be wider by this over the number of members that it is estimated from."""
EDGE = 0.02
"""Share of a cluster's members outside its edge."""
HEAVINESS = 0.1
"""Shape of the generalised Pareto distribution beyond the edge; 0 would be an exponential one."""
POWERS = 0.4, 2.0
LEAST_SPREAD = 0.01
"""Differences of rarity below this are none; of distances, one part in a hundred."""


@dataclass(frozen=True)
class Reference:
    """The training points as new ones see them."""

    Z: Any
    """Assignments (N, K), an array or a CSR matrix."""
    C: Array
    lam: float
    sample_weight: Array | None = None
    degrees: Array | None = None
    """Those of the training points where the Laplacian was normalised."""


def map_points(points: Points, cross: Any, sigma: Any, reference: Reference, out: Array) -> None:
    """Assignments of new points from the weights to their training neighbours and the kernel at the modes, to `out`.

    Minimises lam sum_n w_n |z - z_n|^2 - b'z over the simplex for each new point: the projection of
    z_bar + b / (2 lam sum_n w_n). Sample weights s_n make each w_n sqrt(s_n) times as large. With `degrees` the
    normalised Laplacian's term is used, whose z_bar is sum_n w_n z_n / sqrt(d d_n) and whose diagonal is 1. Points
    without neighbours of positive weight, or so faint ones that the pull of b overflows, and all points when lam = 0,
    go to the nearest mode.
    """
    n_train = reference.Z.shape[0]
    if cross is None:
        cross = csr_array((points.n, n_train), dtype=points.X.dtype)
    _native.map_points(
        points.arrays,
        row_arrays(cross),
        row_arrays(reference.Z),
        n_train,
        *mode_columns(reference.C, points.X.dtype),
        inverse_width(sigma, points.X.dtype),
        bool(np.isinf(sigma).all()),
        reference.lam,
        reference.sample_weight,
        reference.degrees,
        np.empty_like(cross.data),
        out,
        points.threads,
    )


def log_cluster_sums(points: Points, queries: Points, Z: Array, sigma: float | Array) -> Array:
    """Log of sum_n z_nk N(x; x_n, sigma_n^2 I) for each query and cluster, (M, K): no underflow, `LOWEST` for none."""
    D = points.X.shape[1]
    widths = np.broadcast_to(np.asarray(sigma, dtype=np.float64), (points.n,))
    norm = -0.5 * D * np.log(2 * np.pi) - D * np.log(widths)
    out = np.empty((queries.n, Z.shape[1]))
    for start in range(0, queries.n, BLOCK):
        some = queries.take(slice(start, start + BLOCK))
        out[start : start + some.n] = _block(points, some, Z, inverse_width(widths, np.float64), norm)
    return out


def _block(points: Points, queries: Points, Z: Any, h: Array, norm: Array) -> Array:
    """One block of queries against all points, with a running peak for each cluster (a streaming log-sum-exp)."""
    peak, sums = np.full((queries.n, Z.shape[1]), LOWEST), np.zeros((queries.n, Z.shape[1]))
    for start in range(0, points.n, BLOCK):
        rows = slice(start, min(start + BLOCK, points.n))
        centres = points.rows(np.arange(rows.start, rows.stop))
        minus_d2 = kernel_values(queries, centres, 1.0, squared=True).astype(np.float64)
        with np.errstate(over="ignore"):
            exponent = np.maximum(minus_d2 * h[rows] + norm[rows], LOWEST)
        members = csc_array(Z[rows])
        for k in np.flatnonzero(np.diff(members.indptr)):
            own = slice(members.indptr[k], members.indptr[k + 1])
            shares = exponent[:, members.indices[own]] + np.log(members.data[own])
            top = np.maximum(peak[:, k], shares.max(axis=1))
            sums[:, k] = sums[:, k] * np.exp(peak[:, k] - top) + np.exp(shares - top[:, None]).sum(axis=1)
            peak[:, k] = top
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(sums) + peak, LOWEST)


@dataclass(frozen=True)
class Sample:
    """Numbers in ascending order and how much each counts."""

    values: Array
    mass: Array

    @staticmethod
    def of(values: Array, mass: Array) -> Sample:
        """A sample of numbers in any order."""
        order = np.argsort(values, kind="stable")
        return Sample(values[order], mass[order])

    def quantile(self, share: float) -> float:
        """The number that this share of the sample lies below."""
        count = np.cumsum(self.mass)
        return float(np.interp(share * count[-1], count - self.mass / 2, self.values))

    def spread_above(self, limit: float) -> float:
        """Spread of the numbers above a limit: the standard deviation if they are the upper half of a normal one."""
        excess = np.maximum(self.values - limit, 0.0)
        count = self.mass[excess > 0].sum()
        return max(float(excess @ self.mass / count * np.sqrt(np.pi / 2)) if count > 0 else 0.0, LEAST_SPREAD)


@dataclass(frozen=True)
class Side:
    """One side of a distribution around its median, where (distance / scale)^power is half of a normal one."""

    scale: float = 1.0
    power: float = 1.0

    @staticmethod
    def of(quarter: float, twentieth: float) -> Side:
        """The side with a quarter of the distribution beyond one distance from the median and 5 % beyond another."""
        quarter, twentieth = max(quarter, LEAST_SPREAD), max(twentieth, LEAST_SPREAD)
        ratio = np.log(ndtri(0.95) / ndtri(0.75))
        power = float(np.clip(ratio / np.log(max(twentieth / quarter, 1.01)), *POWERS))
        return Side(twentieth / ndtri(0.95) ** (1 / power), power)

    def share(self, distance: Any) -> Any:
        """The share of the distribution that lies beyond these distances."""
        return ndtr(-((distance / self.scale) ** self.power))

    def density(self, distance: Any) -> Any:
        """How fast that share falls."""
        distance = np.maximum(distance, LEAST_SPREAD)
        z = (distance / self.scale) ** self.power
        return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * self.power * z / distance

    def distance(self, share: float) -> float:
        """The distance beyond which this share lies."""
        return float(self.scale * (-ndtri(share)) ** (1 / self.power))


@dataclass(frozen=True)
class Tails:
    """How many members of each cluster are rarer than a value. Rarity is a log distance, or minus a log density.

    In units of a cluster's own spread all clusters have one distribution around their medians. Beyond the edge, where
    few members tell, all clusters fall alike and as slowly as a generalised Pareto distribution.
    """

    middle: Array
    """Median rarity of each cluster."""
    spread: Array
    """How far the upper half of each cluster spreads."""
    common: float
    """The spread of all clusters together."""
    below: Side
    above: Side

    def probability(self, rarity: Array, cluster: Array) -> Array:
        """Probability that a member of the cluster is at least as rare, for each point and a cluster."""
        spread = self.spread[cluster]
        t, edge = (rarity - self.middle[cluster]) / spread, self.above.distance(EDGE)
        slope = self.above.density(edge) / EDGE  # that of the logarithm, so that there is no corner at the edge
        beyond = slope * np.maximum(t - edge, 0.0) * spread / self.common
        rare = self.above.share(np.clip(t, 0.0, edge)) * (1.0 + HEAVINESS * beyond) ** (-1.0 / HEAVINESS)
        return np.asarray(np.where(t > 0, rare, 1.0 - self.below.share(np.maximum(-t, 0.0))))


def fit_tails(rarity: Array, cluster: Array, n_clusters: int, weight: Array | None = None) -> Tails:
    """The tails of clusters with these members, some of which may be outliers, by expectation-maximisation.

    Above its median, a cluster is a mixture of its members and of outliers of any rarity up to the largest one. All
    clusters have the same shape, each its own median and spread. As outliers can only widen a cluster, a spread above
    the typical one is drawn towards that while members are told from outliers.
    """
    parts, group = _samples(rarity, cluster, n_clusters, weight)
    size = np.array([part.mass.sum() for part in parts])
    dense = np.array([part.quantile(DENSE) for part in parts])
    reach = np.array([part.quantile(0.5) for part in parts]) - dense
    typical = max(Sample.of(reach, size).quantile(0.5), LEAST_SPREAD)
    span = np.maximum([part.values[-1] for part in parts] - dense, 3 * typical)
    middle, spread, outliers = dense + typical, np.full(size.size, 1.2 * typical), np.full(size.size, OUTLIERS)
    above = Side()
    for _ in range(ROUNDS):
        mixtures = zip(parts, middle, spread, outliers / (1 - outliers) / span, strict=True)
        members = [_members(part, m, s, rate, above) for part, m, s, rate in mixtures]
        count = np.array([each.mass.sum() for each in members])
        outliers = np.clip(1 - count / size, 0.005, 0.95)
        middle = np.array([each.quantile(0.5) for each in members])
        own = np.array([each.spread_above(m) for each, m in zip(members, middle, strict=True)])
        usual = Sample.of(own, size).quantile(0.5)
        added = np.where(own > usual, TYPICAL_MEMBERS, 0.0)
        spread = (count * own + added * usual) / (count + added)
        standard = [(each.values - m) / s for each, m, s in zip(members, middle, spread, strict=True)]
        whole = Sample.of(np.concatenate(standard), np.concatenate([each.mass for each in members]))
        above = Side.of(whole.quantile(0.75), whole.quantile(0.95))
    own *= 1 + CAUTION / count
    below = Side.of(-whole.quantile(0.25), -whole.quantile(0.05))
    common = float(np.exp(np.average(np.log(own), weights=size)))
    return Tails(middle[group], own[group], common, below, above)


def _samples(rarity: Array, cluster: Array, n_clusters: int, weight: Array | None) -> tuple[list[Sample], Array]:
    """(Rarities of each large cluster, and of all members for the small ones; which of these each cluster has)."""
    known = np.isfinite(rarity)
    if not known.any():
        return [Sample(np.zeros(1), np.ones(1))], np.zeros(n_clusters, dtype=np.intp)
    rarity, cluster = rarity[known], cluster[known]
    mass = np.ones(rarity.size) if weight is None else weight[known] / np.median(weight)
    large = np.bincount(cluster, mass, minlength=n_clusters) >= FEW
    groups = [np.flatnonzero(cluster == k) for k in np.flatnonzero(large)]
    groups += [] if large.all() else [np.arange(rarity.size)]
    return [Sample.of(rarity[rows], mass[rows]) for rows in groups], np.where(large, np.cumsum(large) - 1, large.sum())


def _members(part: Sample, middle: float, spread: float, rate: float, above: Side) -> Sample:
    """A cluster's rarities, each with the mass that is a member's; `rate` is the density of outliers for a member."""
    t = (part.values - middle) / spread
    density = above.density(np.maximum(t, 0.0)) / spread
    return Sample(part.values, part.mass * np.where(t <= 0, 1.0, density / (density + rate)))
