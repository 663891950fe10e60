"""Draws without clusters: one heap, box, ball, ring, chain or sheet, of any size, dimension and rounding.

    python benchmarks/structureless.py             how many of 40 draws select says have no clear clusters
    python benchmarks/structureless.py --seed 7    others
    python benchmarks/structureless.py --picture   draws 36 of them, in results/benchmarks/structureless.png

The right number of clusters of each is 1. `n_clusters.py` has the counts for each kind, beside sets with clusters.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lapmodes import select

SIZES = (30, 5000)
DIMENSIONS = (1, 2, 3, 5, 10, 20, 50)
ROUNDED = 0.3
"""Share of the draws whose values are rounded."""
THIN = ("ring", "chain", "sheet")
"""Kinds that coarse rounding would tear apart."""
Draw = Callable[[int, int, np.random.Generator], np.ndarray]


def any_covariance(d: int, rng: np.random.Generator) -> np.ndarray:
    """A random turn and random spreads, from equal ones to a hundred times."""
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return turn * np.exp(rng.uniform(0, rng.choice([0.0, 1.0, 4.6]), size=d))


def gaussian(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """One Gaussian of equal spreads."""
    return rng.normal(size=(n, d))


def correlated(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """One Gaussian of any covariance."""
    return rng.normal(size=(n, d)) @ any_covariance(d, rng).T


def box(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform in a box of random sides."""
    return rng.uniform(size=(n, d)) * np.exp(rng.uniform(0, 1.5, size=d))


def ball(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform in a ball; a disc in two dimensions."""
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)


def heavy(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Student's t with two to five degrees of freedom, of one radius or column by column."""
    freedom = rng.uniform(2, 5)
    if rng.random() < 0.5:
        return rng.standard_t(freedom, size=(n, d))
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(freedom, size=(n, 1)) / freedom)


def skewed(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Lognormal columns."""
    return np.exp(rng.normal(size=(n, d)) * rng.uniform(0.4, 1.0))


def ring(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A noisy circle, turned into d dimensions (at least two)."""
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return _embedded(np.column_stack([np.cos(angle), np.sin(angle)]), d, rng, rng.uniform(0.01, 0.15))


def chain(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A noisy curve: an arc, a wave or a spiral, turned into d dimensions (at least two)."""
    t, kind = np.linspace(0, 1, 2000), rng.integers(3)
    if kind == 0:
        angle = t * rng.uniform(0.5, 1.6) * np.pi
        curve = np.column_stack([np.cos(angle), np.sin(angle)])
    elif kind == 1:
        curve = np.column_stack([t * 4, np.sin(t * rng.uniform(1, 3) * np.pi)])
    else:
        angle = np.pi * (1 + 3 * t)
        curve = np.column_stack([np.cos(angle), np.sin(angle)]) * angle[:, None] / 6
    length = np.append(0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))
    at = rng.uniform(0, length[-1], size=n)  # equally dense along the curve
    X = np.column_stack([np.interp(at, length, curve[:, j]) for j in range(2)])
    return _embedded(X, d, rng, rng.uniform(0.01, 0.1))


def sheet(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A curved sheet: a rolled, bent or saddled square, turned into d dimensions (at least three)."""
    u, v, kind = rng.uniform(size=n), rng.uniform(size=n), rng.integers(3)
    if kind == 0:
        angle = 1.5 * np.pi * (1 + u)
        surface = np.column_stack([angle * np.cos(angle), 10 * v, angle * np.sin(angle)]) / 10
    elif kind == 1:
        surface = np.column_stack([np.cos(np.pi * u), 2 * v, np.sin(np.pi * u)])
    else:
        surface = np.column_stack([2 * u - 1, 2 * v - 1, (2 * u - 1) ** 2 - (2 * v - 1) ** 2])
    return _embedded(surface, d, rng, rng.uniform(0.0, 0.05))


def _embedded(X: np.ndarray, d: int, rng: np.random.Generator, noise: float) -> np.ndarray:
    """The points turned into d dimensions, with noise of a length that does not grow with d."""
    d = max(d, X.shape[1])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:, : X.shape[1]]
    return X @ turn.T + rng.normal(size=(len(X), d)) * noise / np.sqrt(d / X.shape[1])


KINDS: dict[str, Draw] = {
    "gaussian": gaussian,
    "correlated": correlated,
    "box": box,
    "ball": ball,
    "heavy": heavy,
    "skewed": skewed,
    "ring": ring,
    "chain": chain,
    "sheet": sheet,
}


def rounded(X: np.ndarray, coarsest: float, rng: np.random.Generator) -> np.ndarray:
    """The values rounded to multiples of a fiftieth or more of the typical spread of a column, as integers."""
    step = np.median(X.std(axis=0)) * np.exp(rng.uniform(np.log(0.02), np.log(coarsest)))
    return np.asarray(np.round(X / step))


def structureless(n_draws: int, seed: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Name and points of draws that have no clusters; each kind in turn."""
    for i in range(n_draws):
        rng = np.random.default_rng([seed, i])
        kind = list(KINDS)[i % len(KINDS)]
        n = round(float(np.exp(rng.uniform(np.log(SIZES[0]), np.log(SIZES[1] + 1)))))
        X = KINDS[kind](n, int(rng.choice(DIMENSIONS)), rng)
        name = f"{kind} {n}x{X.shape[1]}"
        if rng.random() < ROUNDED:
            name, X = f"rounded {name}", rounded(X, 0.1 if kind in THIN else 0.5, rng)
        yield name, X


def draw_picture() -> None:
    """Three dozen draws, on their first two columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(18, 12))
    for ax, (name, X) in zip(figure.subplots(4, 9).ravel(), structureless(36), strict=True):
        ax.scatter(X[:, 0], X[:, 1] if X.shape[1] > 1 else np.zeros(len(X)), s=2)
        ax.set_title(name, fontsize=8)
    file = Path("results") / "benchmarks" / "structureless.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


def main() -> None:
    """Count, or draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", action="store_true", help="draw some of them")
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.picture:
        draw_picture()
        return
    none = 0
    for name, X in structureless(options.draws, options.seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = select(X, random_state=0)
        none += found.verdict == "none"
        print(f"{name:30s} {found}", flush=True)
    print(f"{none} of {options.draws} have no clear clusters")


if __name__ == "__main__":
    main()
