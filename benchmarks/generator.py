"""Labelled test sets at random: mixtures of unlike shapes, with noise, irrelevant columns, unlike units, rounding.

    from generator import draw, structureless
    drawn = draw(17)                 # the same for ever: drawn.X, drawn.y (0 is noise), drawn.traits
    python benchmarks/generator.py   # one line a draw: what it is and how well an oracle does

Every draw can be solved in principle: components are set apart until the Bayes rule of the mixture that made the
points (which knows all of it but the labels) reaches an adjusted Rand index drawn for it, `traits["oracle"]`, and, for
shapes that are no blobs, until the labels of a point's neighbours give its own (`traits["purity"]`).
Columns that say nothing and rounding are held to what leaves these neighbours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import generator_shapes as shapes
import numpy as np
from generator_shapes import Array, Component, Rng
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

Scene = Callable[[Rng, int, int, float], list[Component]]
DRAWS = 300
"""How many the benchmarks use: seeds 0, 1, ..."""
JUDGED = 1000
"""Points on which the oracle is judged while components are set apart."""
PURE = 0.97
"""Least adjusted Rand index of neighbours' labels for shapes that are no blobs."""
KEPT = 0.95
"""Least share of it that is left after columns were added or rounded."""


@dataclass(frozen=True)
class Kind:
    """A kind of scene: how often it is drawn, in how many dimensions, and whether its clusters may overlap."""

    scene: Scene
    weight: float
    dimensions: tuple[int, int] = (2, 50)
    overlaps: bool = True
    most: int = 15
    """Clusters."""
    least: int = 60
    """Points a cluster, on average."""


KINDS: dict[str, Kind] = {
    "gaussians, full": Kind(partial(shapes.gaussians, kind="full"), 3, (2, 12)),
    "gaussians, tied": Kind(partial(shapes.gaussians, kind="tied"), 1.5, (2, 20)),
    "gaussians, diagonal": Kind(partial(shapes.gaussians, kind="diagonal"), 1.5, (2, 20)),
    "gaussians, spherical": Kind(partial(shapes.gaussians, kind="spherical"), 1.5),
    "unlike blobs": Kind(shapes.unlike_blobs, 2, (2, 6)),
    "heavy tails": Kind(shapes.student, 1.5, (2, 20)),
    "boxes": Kind(shapes.boxes, 1, (2, 8)),
    "nested": Kind(shapes.nested, 1.5, (2, 4)),
    "spirals": Kind(shapes.spirals, 1, (2, 3), overlaps=False, most=6, least=200),
    "shells": Kind(shapes.shells, 1, (2, 3), overlaps=False, most=4, least=200),
    "arcs": Kind(shapes.arcs, 1, (2, 3), overlaps=False, most=6, least=120),
    "chains": Kind(shapes.chains, 1.5, (2, 10), overlaps=False),
    "sheets": Kind(shapes.sheets, 1, (3, 10), overlaps=False, most=10),
    "manifolds": Kind(shapes.manifolds, 2, (5, 50), overlaps=False),
    "mixed": Kind(shapes.mixed, 2, (2, 4), overlaps=False),
}


@dataclass(frozen=True)
class Draw:
    """A test set; labels are 1 to K, and 0 for noise, which is left out of scores."""

    name: str
    X: Array
    y: Array
    traits: dict[str, Any]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.y.max())

    def score(self, labels: Array) -> float:
        """The adjusted Rand index of labels, noise left out."""
        real = self.y > 0
        return float(adjusted_rand_score(self.y[real], np.asarray(labels)[real]))

    @property
    def groups(self) -> list[str]:
        """The traits as words, to average over."""
        words = [str(self.traits["kind"]).split(",")[0], "few points" if len(self.X) < 1000 else "many points"]
        words.append("few columns" if self.X.shape[1] <= 5 else "many columns")
        words.append("K up to 5" if self.n_clusters <= 5 else "K above 5")
        words.append("overlapping" if self.traits["oracle"] < 0.95 else "separated")
        words.append("blobs" if KINDS[self.traits["kind"]].overlaps else "no blobs")
        corruptions = ("noise", "irrelevant", "units", "rounded", "embedded", "uneven")
        words += [each for each in corruptions if self.traits[each]]
        if not any(self.traits[each] for each in corruptions):
            words.append("plain")
        return words


def draw(seed: int) -> Draw:
    """The test set of a seed."""
    rng = np.random.default_rng([14, seed])
    names, weights = list(KINDS), np.array([kind.weight for kind in KINDS.values()])
    name = names[rng.choice(len(names), p=weights / weights.sum())]
    kind = KINDS[name]
    n = max(int(200 * 25 ** rng.random()), 2 * kind.least)
    K = int(rng.integers(2, max(2, min(kind.most, n // kind.least)) + 1))
    d = int(np.round(np.exp(rng.uniform(np.log(kind.dimensions[0]), np.log(kind.dimensions[1])))))
    if kind.overlaps:
        d = max(2, min(d, n // (8 * K)))
    uneven = bool(rng.random() < 0.4)
    y = _labels(rng, n, K, uneven)
    target = rng.uniform(0.6, 1.0) if kind.overlaps else 0.95
    X, oracle, purity = _set_apart(kind, int(rng.integers(2**31)), y, d, float(target))
    traits = {"kind": name, "uneven": uneven, "oracle": oracle, "noise": 0.0, "embedded": False}
    if not kind.overlaps and d <= 10 and rng.random() < 0.3:
        X, traits["embedded"] = _embed(rng, X), True
    if X.shape[1] <= 10 and rng.random() < 0.25:
        X, y = _add_noise(rng, X, y)
        traits["noise"] = float(np.mean(y == 0))
    floor = KEPT * purity
    X, traits["irrelevant"] = _add_columns(rng, X, y, floor) if rng.random() < 0.2 else (X, 0)
    X, traits["rounded"] = _round(rng, X, y, floor) if rng.random() < 0.2 else (X, 0)
    traits["purity"] = neighbours_agree(X, y)
    X, traits["units"] = _change_units(rng, X) if rng.random() < 0.15 else (X, False)
    order = rng.permutation(len(X))
    return Draw(f"{seed:03d} {name}", np.ascontiguousarray(X[order]), y[order], traits)


def structureless(seed: int) -> Draw:
    """One cluster only: a Gaussian, a heavy tail, a box, a ring, a curve, a sheet; all labels are 1."""
    rng = np.random.default_rng([15, seed])
    n, d = int(200 * 15 ** rng.random()), int(2 * 10 ** rng.random())
    thick = {"ring": shapes.ring, "curve": shapes.chain, "sheet": shapes.sheet}
    name = str(rng.choice(["gaussian", "t", "box", *thick]))
    if name in thick:
        one: Component = shapes.Thick(thick[name](rng, d), 0.05, 1.0, np.zeros(d))
    elif name == "box":
        one = shapes.Box(np.zeros(d), shapes.covariance_root(rng, d, "full", condition=4.0))
    else:
        one = shapes.Elliptic(
            np.zeros(d), shapes.covariance_root(rng, d, "full"), np.inf if name == "gaussian" else 4.0
        )
    return Draw(f"{seed:03d} one {name}", one.sample(n, rng), np.ones(n, dtype=int), {"kind": f"one {name}"})


def bayes_labels(components: list[Component], X: Array, y: Array) -> Array:
    """For each point the component that most likely made it, by their densities and shares."""
    shares = np.bincount(y, minlength=len(components) + 1)[1:] / y.size
    logs = [each.log_density(X) + np.log(share) for each, share in zip(components, shares, strict=True)]
    return np.array(logs).argmax(axis=0)


def neighbours_agree(X: Array, y: Array, k: int = 7) -> float:
    """Adjusted Rand index of the labels that most of the k neighbours of a point have, noise left out."""
    real = y > 0
    near = NearestNeighbors(n_neighbors=k).fit(X[real]).kneighbors(return_distance=False)
    votes = np.stack([(y[real][near] == c).sum(axis=1) for c in range(1, y.max() + 1)])
    return float(adjusted_rand_score(y[real], votes.argmax(axis=0)))


def _labels(rng: Rng, n: int, K: int, uneven: bool) -> Array:
    """Sorted labels; sizes are even, or differ by up to some ten times."""
    shares = np.full(K, 1 / K) if not uneven else 10 ** rng.uniform(-0.5, 0.5, K)
    sizes = np.maximum(30, np.round(n * shares / shares.sum()).astype(int))
    return np.repeat(np.arange(1, K + 1), sizes)


def _set_apart(kind: Kind, seed: int, y: Array, d: int, target: float) -> tuple[Array, float, float]:
    """Points of a scene with the smallest gap for which the oracle reaches the target, its score, and the purity."""
    K, gap = int(y.max()), 0.7 if kind.overlaps else 0.4
    for _ in range(40):
        rng = np.random.default_rng(seed)
        components = kind.scene(rng, K, d, gap)
        X = np.vstack([each.sample(m, rng) for each, m in zip(components, np.bincount(y)[1:], strict=True)])
        some = rng.permutation(y.size)[:JUDGED]
        oracle = adjusted_rand_score(y[some], bayes_labels(components, X[some], y))
        purity = neighbours_agree(X, y)
        if oracle >= target and (kind.overlaps or purity >= PURE):
            break
        gap *= 1.15
    oracle = adjusted_rand_score(y, bayes_labels(components, X, y))
    return X, float(oracle), purity


def _embed(rng: Rng, X: Array) -> Array:
    """The points in a plane of many dimensions, with a little noise around it."""
    D = int(rng.integers(X.shape[1] + 3, 51))
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors()[0].ravel()
    noise = 0.5 * np.median(nearest) / np.sqrt(D)
    return X @ shapes.turned(rng, D)[: X.shape[1]] + noise * rng.standard_normal((len(X), D))


def _add_noise(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    """A few points more, anywhere in the box around the others, labelled 0."""
    m = int(len(X) * rng.uniform(0.02, 0.12))
    low, high = np.quantile(X, (0.005, 0.995), axis=0)
    room = 0.1 * (high - low)
    return np.vstack([X, rng.uniform(low - room, high + room, (m, X.shape[1]))]), np.append(y, np.zeros(m, dtype=int))


def _add_columns(rng: Rng, X: Array, y: Array, floor: float) -> tuple[Array, int]:
    """Columns that say nothing, made narrower until the neighbours still agree as far as asked."""
    m = int(rng.integers(1, max(2, X.shape[1]) + 1))
    noise = rng.standard_normal((len(X), m)) if rng.random() < 0.5 else rng.uniform(-1.7, 1.7, (len(X), m))
    width = float(np.median(X.std(axis=0)))
    for _ in range(12):
        wider = np.column_stack([X, width * noise])
        if neighbours_agree(wider, y) >= floor:
            return wider, m
        width *= 0.7
    return X, 0


def _round(rng: Rng, X: Array, y: Array, floor: float) -> tuple[Array, int]:
    """Values on a grid, made finer until the neighbours still agree as far as asked; how many steps span a column."""
    steps = int(rng.integers(8, 40))
    for _ in range(8):
        rounded = np.round(X * (steps / np.median(np.ptp(X, axis=0))))
        if neighbours_agree(rounded, y) >= floor:
            return rounded, steps
        steps *= 2
    return X, 0


def _change_units(rng: Rng, X: Array) -> tuple[Array, bool]:
    """Each column in a unit of its own."""
    return X * 10 ** rng.uniform(-1.5, 1.5, X.shape[1]), True


def main() -> None:
    """List the draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.draws):
        one = draw(seed)
        more = ", ".join(f"{key} {value:.3g}" for key, value in one.traits.items() if key != "kind" and value)
        print(f"{one.name:26s} {len(one.X):5d} x {one.X.shape[1]:2d}, K = {one.n_clusters:2d}; {more}", flush=True)


if __name__ == "__main__":
    main()
