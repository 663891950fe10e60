"""The shapes of the generator: what a cluster can look like, how to draw points of it, and its density.

A component has `sample(n, rng)` and `log_density(X)`; with the density of every component the Bayes rule of a mixture
says how well anybody could do. A scene is a function (rng, K, d, gap) -> components; a larger gap sets them further
apart, and nothing else depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import ortho_group

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
CLEAN_POINTS = 1500
"""Points of a shape without noise from which its density is computed."""


class Component(Protocol):
    """One cluster."""

    def sample(self, n: int, rng: Rng) -> Array:
        """Points of it, (n, d)."""

    def log_density(self, X: Array) -> Array:
        """Its log density at points."""


@dataclass(frozen=True)
class Elliptic:
    """A Gaussian, or a t distribution with `df` degrees of freedom, of any covariance root root'."""

    mean: Array
    root: Array
    df: float = np.inf

    def sample(self, n: int, rng: Rng) -> Array:
        """Points of it."""
        Z = rng.standard_normal((n, self.mean.size))
        if np.isfinite(self.df):
            Z /= np.sqrt(rng.chisquare(self.df, n) / self.df)[:, None]
        return self.mean + Z @ self.root.T

    def log_density(self, X: Array) -> Array:
        """The log density, without the factors of pi that all Gaussians share."""
        d = self.mean.size
        squares = np.square(np.linalg.solve(self.root, (X - self.mean).T)).sum(axis=0)
        volume = np.linalg.slogdet(self.root)[1]
        if np.isinf(self.df):
            return -0.5 * squares - volume
        constant = gammaln((self.df + d) / 2) - gammaln(self.df / 2) - d / 2 * np.log(self.df / 2)
        return constant - volume - (self.df + d) / 2 * np.log1p(squares / self.df)


@dataclass(frozen=True)
class Box:
    """The uniform distribution on a turned box: centre, axes as columns."""

    centre: Array
    axes: Array

    def sample(self, n: int, rng: Rng) -> Array:
        """Points of it."""
        return self.centre + rng.uniform(-1, 1, (n, self.centre.size)) @ self.axes.T

    def log_density(self, X: Array) -> Array:
        """Constant inside; outside it falls steeply, so that ties between empty places are broken by distance."""
        inside = np.abs(np.linalg.solve(self.axes, (X - self.centre).T)).max(axis=0)
        return -np.linalg.slogdet(2 * self.axes)[1] - 1e6 * np.maximum(inside - 1, 0)


@dataclass(frozen=True)
class Thick:
    """A curve, surface or body `clean(n, rng)`, scaled and moved, with Gaussian noise around it."""

    clean: Callable[[int, Rng], Array]
    noise: float
    scale: float
    shift: Array

    def place(self, n: int, rng: Rng) -> Array:
        """Points without noise."""
        return self.shift + self.scale * self.clean(n, rng)

    def sample(self, n: int, rng: Rng) -> Array:
        """Points with noise."""
        X = self.place(n, rng)
        return X + self.noise * rng.standard_normal(X.shape)

    def log_density(self, X: Array) -> Array:
        """The mean of Gaussians around points without noise."""
        centres = self.place(CLEAN_POINTS, np.random.default_rng(0))
        squares = np.square(X).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2 * X @ centres.T
        near = -np.maximum(squares, 0) / (2 * self.noise**2)
        return logsumexp(near, axis=1) - np.log(CLEAN_POINTS) - X.shape[1] * np.log(self.noise)


def spread_out(rng: Rng, K: int, d: int, tries: int = 20) -> Array:
    """K places of unit scale in a few of d directions, each the farthest of some from those before."""
    m = int(rng.integers(2, min(d, 6) + 1)) if d > 2 else d
    at = [rng.standard_normal(m)]
    for _ in range(1, K):
        new = rng.standard_normal((tries, m))
        away = np.linalg.norm(new[:, None] - np.array(at), axis=2).min(axis=1)
        at.append(new[away.argmax()])
    return np.array(at) @ turned(rng, d)[:m]


def turned(rng: Rng, d: int) -> Array:
    """A random rotation."""
    return np.atleast_2d(ortho_group.rvs(d, random_state=rng)) if d > 1 else np.ones((1, 1))


def covariance_root(rng: Rng, d: int, kind: str, condition: float = 25.0) -> Array:
    """A root of a random covariance of unit mean variance."""
    widths = np.ones(d) if kind == "spherical" else condition ** rng.uniform(-0.25, 0.25, d)
    widths /= np.sqrt(np.mean(widths**2))
    return np.diag(widths) if kind in ("diagonal", "spherical") else turned(rng, d) * widths


def gaussians(rng: Rng, K: int, d: int, gap: float, kind: str = "full", df: float = np.inf) -> list[Component]:
    """Gaussians (or t distributions) that share a kind of covariance; `tied` ones share the covariance."""
    centres = gap * spread_out(rng, K, d)
    roots = [covariance_root(rng, d, kind) for _ in range(K)]
    return [
        Elliptic(centre, roots[0] if kind == "tied" else root, df) for centre, root in zip(centres, roots, strict=True)
    ]


def student(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Heavy tails."""
    return gaussians(rng, K, d, gap, str(rng.choice(["full", "spherical"])), df=float(rng.uniform(2.5, 6)))


def unlike_blobs(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Gaussians whose widths differ by up to ten times; wide ones need room."""
    widths = 10 ** rng.uniform(-0.5, 0.5, K)
    centres = gap * spread_out(rng, K, d)
    roots = [covariance_root(rng, d, "full", condition=6.0) * width for width in widths]
    return [Elliptic(centre * max(1, np.median(widths)), root) for centre, root in zip(centres, roots, strict=True)]


def boxes(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Uniform boxes of unlike sides."""
    centres = gap * spread_out(rng, K, d)
    return [Box(centre, covariance_root(rng, d, "full", condition=9.0)) for centre in centres]


def nested(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Pairs of a dense cluster inside a sparse one; the last may be alone."""
    centres = 3 * gap * spread_out(rng, -(-K // 2), d)
    found: list[Component] = []
    for centre in centres:
        inner = rng.standard_normal(d)
        inner *= rng.uniform(0, 1.2) / np.linalg.norm(inner)
        found += [Elliptic(centre, np.eye(d)), Elliptic(centre + inner, np.eye(d) * 0.35 / gap)]
    return found[:K]


def spirals(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """K arms of one spiral, in the plane or as a staircase."""
    turns, noise = rng.uniform(0.5, 1.6), 0.35 / gap

    def arm(k: int) -> Callable[[int, Rng], Array]:
        def clean(n: int, inner: Rng) -> Array:
            t = np.sqrt(inner.uniform(0.04, 1, n))
            angle = 2 * np.pi * (turns * t + k / K)
            X = np.zeros((n, d))
            X[:, 0], X[:, 1] = K * t * np.cos(angle), K * t * np.sin(angle)
            return X

        return clean

    return [Thick(arm(k), noise, 1.0, np.zeros(d)) for k in range(K)]


def shells(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Concentric rings or spheres of growing radius; the innermost may be a ball."""
    ball, noise = rng.random() < 0.5, 0.3 / gap

    def shell(k: int) -> Callable[[int, Rng], Array]:
        def clean(n: int, inner: Rng) -> Array:
            X = inner.standard_normal((n, d))
            X *= (k + (0 if ball else 1)) / np.linalg.norm(X, axis=1, keepdims=True)
            return X

        return clean

    return [Thick(shell(k), noise, 1.0, np.zeros(d)) for k in range(K)]


def arcs(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Half circles that reach into one another, as two moons and longer rows of them."""
    noise, depth = 0.35 / gap, rng.uniform(0.1, 0.5)

    def arc(k: int) -> Callable[[int, Rng], Array]:
        def clean(n: int, inner: Rng) -> Array:
            angle = inner.uniform(0, np.pi, n)
            X = np.zeros((n, d))
            X[:, 0], X[:, 1] = k + np.cos(angle), (1 if k % 2 else -1) * (depth - np.sin(angle))
            return X

        return clean

    return [Thick(arc(k), noise, 1.0, np.zeros(d)) for k in range(K)]


def chain(rng: Rng, d: int) -> Callable[[int, Rng], Array]:
    """A smooth random curve of about unit length."""
    waves = rng.standard_normal((3, d)) / np.arange(1, 4)[:, None]
    phase = rng.uniform(0, 2 * np.pi, (3, d))
    along = rng.standard_normal(d)
    along /= np.linalg.norm(along)

    def clean(n: int, inner: Rng) -> Array:
        t = inner.uniform(0, 1, n)[:, None]
        wiggle = sum(0.3 * waves[i] * np.sin((i + 1) * np.pi * t + phase[i]) for i in range(3))
        return (t - 0.5) * along * 1.5 + wiggle

    return clean


def sheet(rng: Rng, d: int) -> Callable[[int, Rng], Array]:
    """A wavy surface of two dimensions."""
    frame = turned(rng, d)[:3] if d >= 3 else np.vstack([turned(rng, d), np.zeros((1, d))])
    waves, phase = rng.uniform(1, 5, 2), rng.uniform(0, 2 * np.pi, 2)

    def clean(n: int, inner: Rng) -> Array:
        u = inner.uniform(-0.7, 0.7, (n, 2))
        height = 0.25 * np.sin(u * waves + phase).sum(axis=1)
        return np.column_stack([u, height]) @ frame

    return clean


def manifold(rng: Rng, d: int) -> Callable[[int, Rng], Array]:
    """A smooth random image of a cube of one to three dimensions, curved in all directions."""
    m = int(rng.integers(1, 4))
    weights, phase = rng.normal(0, 1.2, (m, d)), rng.uniform(0, 2 * np.pi, d)

    def clean(n: int, inner: Rng) -> Array:
        return np.sin(inner.uniform(-1, 1, (n, m)) @ weights + phase) * np.sqrt(2 / d)

    return clean


def ring(rng: Rng, d: int) -> Callable[[int, Rng], Array]:
    """An ellipse."""
    frame = turned(rng, d)[:2] * rng.uniform(0.3, 0.8, (2, 1))

    def clean(n: int, inner: Rng) -> Array:
        angle = inner.uniform(0, 2 * np.pi, n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) @ frame

    return clean


def ball(rng: Rng, d: int) -> Callable[[int, Rng], Array]:
    """A blob of random width."""
    width = rng.uniform(0.1, 0.4)
    return lambda n, inner: width * inner.standard_normal((n, d)) / np.sqrt(d)


def placed(rng: Rng, K: int, d: int, gap: float, shapes: tuple[Callable[[Rng, int], Any], ...]) -> list[Component]:
    """Shapes of unlike size, pushed apart until their points without noise keep a distance."""
    found: list[Thick] = []
    noise = 0.03
    for _ in range(K):
        shape, scale = shapes[rng.integers(len(shapes))](rng, d), rng.uniform(0.7, 1.6)
        towards = rng.standard_normal(d)
        towards /= np.linalg.norm(towards)
        reach, own = 0.0, scale * shape(150, np.random.default_rng(1))
        others = [each.place(150, np.random.default_rng(1)) for each in found]
        while any(_distance(own + reach * towards, other) < 3 * gap * noise * np.sqrt(d) for other in others):
            reach += 0.05
        found.append(Thick(shape, noise, scale, reach * towards))
    return list(found)


def _distance(A: Array, B: Array) -> float:
    """Between the nearest points of two sets."""
    return float(np.sqrt(np.maximum(np.square(A).sum(1)[:, None] + np.square(B).sum(1) - 2 * A @ B.T, 0).min()))


def chains(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Curves."""
    return placed(rng, K, d, gap, (chain,))


def sheets(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Surfaces."""
    return placed(rng, K, d, gap, (sheet,))


def manifolds(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Smooth images of cubes in many dimensions."""
    return placed(rng, K, d, gap, (manifold,))


def mixed(rng: Rng, K: int, d: int, gap: float) -> list[Component]:
    """Curves, surfaces, rings, blobs side by side."""
    return placed(rng, K, d, gap, (chain, sheet, ring, ball, ball))
