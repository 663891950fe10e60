"""Known outliers: how far in front `outlier_score` ranks them, beside LOF, isolation forest, GLOSH and plain distances.

    python benchmarks/outliers.py                  ten kinds of sets, five draws each: average precision and its error
    python benchmarks/outliers.py --draws 20       more of them
    python benchmarks/outliers.py --seed 1000      others
    python benchmarks/outliers.py --picture        one draw of each, in results/benchmarks/outliers.png

Each method scores the rows that it was fitted on. lapmodes gets the number of clusters and nothing else, the others get
their defaults, and GLOSH (package `hdbscan`, left out where it is missing) also a least cluster of 15.

Members are drawn from clusters. An outlier lies outside the edges of all clusters, which hold 999 of 1,000 members, and
mostly not far outside, so that no kind is solved by every method. Only uniform noise lies anywhere.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import chi
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from lapmodes import LaplacianKModes

Rng = np.random.Generator
NEIGHBORS = 20
"""As many as LOF takes by default."""
EDGE = 0.999
"""Share of a cluster's members within its edge."""
MARGIN = 0.1
"""How far the box of uniform outliers reaches beyond the members, as a share of its sides."""


class Clusters(NamedTuple):
    """Gaussians: where, how they are stretched, and how many members each has."""

    centers: np.ndarray
    shapes: np.ndarray
    sizes: np.ndarray

    def members(self, rng: Rng) -> np.ndarray:
        """A draw from each, one after the other."""
        return self.at(np.repeat(np.arange(len(self.sizes)), self.sizes), rng.normal(size=(self.sizes.sum(), self.d)))

    def at(self, k: np.ndarray, standard: np.ndarray) -> np.ndarray:
        """Points in clusters `k`, from places in a standard Gaussian."""
        return self.centers[k] + np.einsum("nij,nj->ni", self.shapes[k], standard)

    def radius(self, X: np.ndarray) -> np.ndarray:
        """Distance of each point from the nearest cluster, in that one's standard deviations."""
        solved = [np.linalg.solve(shape, (X - c).T) for c, shape in zip(self.centers, self.shapes, strict=True)]
        return np.min([np.linalg.norm(each, axis=0) for each in solved], axis=0)

    def outside(self, X: np.ndarray) -> np.ndarray:
        """Whether points lie outside the edges of all clusters."""
        return self.radius(X) > self.edge

    @property
    def edge(self) -> float:
        """Radius of the edge in standard deviations."""
        return float(chi.ppf(EDGE, self.d))

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.centers.shape[1]


class Draw(NamedTuple):
    """A set, which of its rows are outliers, and the number of its clusters."""

    X: np.ndarray
    outlier: np.ndarray
    K: int


def gaussians(rng: Rng, d: int, widths: np.ndarray, sizes: np.ndarray, stretch: float = 1.0) -> Clusters:
    """Clusters of these widths that keep three standard deviations of each from each other, turned and stretched."""
    K, centers, room = len(widths), np.zeros((0, d)), 6.0 * np.max(widths)
    reach = 3.0 * widths * (np.sqrt(d / 2) if stretch == 1 else np.sqrt(d / 2) * stretch**0.5)
    while len(centers) < K:
        place, k = rng.uniform(-room, room, size=d), len(centers)
        if (np.linalg.norm(centers - place, axis=1) > reach[:k] + reach[k]).all():
            centers = np.vstack([centers, place])
        room *= 1.02
    turns = np.linalg.qr(rng.normal(size=(K, d, d)))[0]
    axes = stretch ** rng.uniform(-0.5, 0.5, size=(K, d))
    return Clusters(centers, turns * (axes * widths[:, None])[:, None, :], sizes)


def with_outliers(X: np.ndarray, out: np.ndarray, K: int, rng: Rng) -> Draw:
    """Members and outliers together, in random order."""
    order = rng.permutation(len(X) + len(out))
    return Draw(np.vstack([X, out])[order], np.repeat([False, True], [len(X), len(out)])[order], K)


def in_box(X: np.ndarray, n: int, rng: Rng, accept: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
    """Uniform points in a box around X, those that are accepted."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin, found = MARGIN * (high - low), np.zeros((0, X.shape[1]))
    while len(found) < n:
        new = rng.uniform(low - margin, high + margin, size=(4 * n, X.shape[1]))
        found = np.vstack([found, new if accept is None else new[accept(new)]])
    return found[:n]


def beside(clusters: Clusters, k: np.ndarray, rng: Rng) -> np.ndarray:
    """Points beside clusters `k` in random directions, from their edges to twice as far, outside all others."""
    found = np.empty((len(k), clusters.d))
    left = np.arange(len(k))
    while left.size:
        way = rng.normal(size=(left.size, clusters.d))
        way *= clusters.edge * rng.uniform(1, 2, size=(left.size, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
        found[left] = clusters.at(k[left], way)
        left = left[~clusters.outside(found[left])]
    return found


def unlike_densities(rng: Rng) -> Draw:
    """Gaussians whose widths differ by up to 16 times, and outliers beside each; 5 %."""
    sizes = rng.integers(100, 400, size=3)
    clusters = gaussians(rng, int(rng.integers(2, 6)), np.array([1.0, 4.0, 16.0]), sizes)
    k = rng.integers(3, size=max(6, sizes.sum() // 20))
    return with_outliers(clusters.members(rng), beside(clusters, k, rng), 3, rng)


def unlike_sizes(rng: Rng) -> Draw:
    """Gaussians of one width with 1,000, 200 and 50 members, and outliers anywhere outside; 2 %."""
    sizes = np.array([1000, 200, 50])
    clusters = gaussians(rng, int(rng.integers(2, 4)), np.ones(3), sizes)
    X = clusters.members(rng)
    return with_outliers(X, in_box(X, 25, rng, clusters.outside), 3, rng)


def many_dimensions(rng: Rng) -> Draw:
    """Correlated Gaussians in 20 to 50 dimensions; outliers have 1.3 to 2 times the spread; 5 %."""
    sizes = rng.integers(100, 400, size=4)
    clusters = gaussians(rng, int(rng.integers(20, 51)), rng.uniform(1, 2, size=4), sizes, stretch=5.0)
    k = rng.integers(4, size=sizes.sum() // 20)
    wide = rng.normal(size=(len(k), clusters.d)) * rng.uniform(1.3, 2, size=(len(k), 1))
    return with_outliers(clusters.members(rng), clusters.at(k, wide), 4, rng)


def off_curves(rng: Rng) -> Draw:
    """Two moons, a ring around a blob, or two waves, with noise, and outliers off the curves; 5 %."""
    n, noise, t = int(rng.integers(150, 500)), rng.uniform(0.03, 0.08), np.linspace(0, np.pi, 400)
    shapes = [
        [np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]],
        [np.c_[np.cos(2 * t), np.sin(2 * t)], np.zeros((1, 2))],
        [np.c_[t, 0.5 * np.sin(2 * t)], np.c_[t, 0.5 * np.sin(2 * t) + 1]],
    ]
    curves = shapes[rng.integers(3)]
    X = np.vstack([curve[rng.integers(len(curve), size=n)] for curve in curves]) + noise * rng.normal(size=(2 * n, 2))
    tree = NearestNeighbors(n_neighbors=1).fit(np.vstack(curves))
    return with_outliers(X, in_box(X, n // 10, rng, lambda new: tree.kneighbors(new)[0][:, 0] > 3.3 * noise), 2, rng)


def uniform_noise(rng: Rng) -> Draw:
    """Five Gaussians of any shape in uniform noise, wherever it falls; 10 %."""
    sizes = rng.integers(50, 400, size=5)
    clusters = gaussians(rng, int(rng.integers(2, 6)), rng.uniform(0.5, 2, size=5), sizes, stretch=3.0)
    X = clusters.members(rng)
    return with_outliers(X, in_box(X, sizes.sum() // 9, rng), 5, rng)


def local_outliers(rng: Rng) -> Draw:
    """A dense Gaussian and a wide one of thirty times its width; all outliers are beside the dense one; 2 %."""
    sizes = rng.integers(200, 500, size=2)
    clusters = gaussians(rng, int(rng.integers(2, 5)), np.array([0.1, 3.0]), sizes)
    k = np.zeros(sizes.sum() // 50, dtype=int)
    return with_outliers(clusters.members(rng), beside(clusters, k, rng), 2, rng)


def clustered_outliers(rng: Rng) -> Draw:
    """Three Gaussians; the outliers lie in three close groups of three to ten."""
    sizes = rng.integers(100, 500, size=3)
    clusters = gaussians(rng, int(rng.integers(2, 6)), rng.uniform(0.7, 1.5, size=3), sizes)
    X = clusters.members(rng)
    groups = in_box(X, 3, rng, clusters.outside)
    near = np.repeat(groups, rng.integers(3, 11, size=3), axis=0)
    return with_outliers(X, near + 0.2 * rng.normal(size=near.shape), 3, rng)


def heavy_tails(rng: Rng) -> Draw:
    """Student's t with three degrees of freedom; the 2 % of each cluster that lie farthest out are the outliers."""
    sizes, d = rng.integers(150, 500, size=3), int(rng.integers(2, 6))
    clusters = gaussians(rng, d, rng.uniform(0.5, 2.0, size=3), sizes)
    k = np.repeat(np.arange(3), sizes)
    standard = rng.normal(size=(len(k), d)) / np.sqrt(rng.chisquare(3, size=(len(k), 1)) / 3)
    radius = np.linalg.norm(standard, axis=1)
    far = radius > np.array([np.quantile(radius[k == each], 0.98) for each in range(3)])[k]
    X = clusters.at(k, standard)
    return with_outliers(X[~far], X[far], 3, rng)


def unlike_scales(rng: Rng) -> Draw:
    """Gaussians stretched by up to 20 times along their axes; outliers in any direction of the stretched space; 5 %."""
    sizes = rng.integers(150, 500, size=3)
    clusters = gaussians(rng, int(rng.integers(2, 6)), rng.uniform(0.5, 2.0, size=3), sizes, stretch=20.0)
    k = rng.integers(3, size=sizes.sum() // 20)
    return with_outliers(clusters.members(rng), beside(clusters, k, rng), 3, rng)


def one_percent(rng: Rng) -> Draw:
    """Six Gaussians of unlike widths, 2,000 rows; half of the outliers anywhere, half beside a cluster; 1 %."""
    widths, d = rng.uniform(0.3, 3.0, size=6), int(rng.integers(3, 11))
    clusters = gaussians(rng, d, widths, rng.multinomial(1980 - 180, np.full(6, 1 / 6)) + 30, stretch=2.0)
    X = clusters.members(rng)
    anywhere = in_box(X, 10, rng, clusters.outside)
    near = beside(clusters, rng.integers(6, size=10), rng)
    return with_outliers(X, np.vstack([anywhere, near]), 6, rng)


KINDS: dict[str, Callable[[Rng], Draw]] = {
    each.__name__.replace("_", " "): each
    for each in (
        unlike_densities,
        unlike_sizes,
        many_dimensions,
        off_curves,
        uniform_noise,
        local_outliers,
        clustered_outliers,
        heavy_tails,
        unlike_scales,
        one_percent,
    )
}


def draws(count: int, seed: int) -> Iterator[tuple[str, int, Draw]]:
    """So many draws of each kind, with their names and numbers."""
    for number, (name, make) in enumerate(KINDS.items()):
        for i in range(seed, seed + count):
            yield name, i, make(np.random.default_rng([number, i]))


def lapmodes(X: np.ndarray, K: int, seed: int) -> np.ndarray:
    """The score of the rows of the fit, at the right number of clusters."""
    return LaplacianKModes(K, random_state=seed).fit(X).outlier_score(X)


def lof(X: np.ndarray, K: int, seed: int) -> np.ndarray:
    """scikit-learn's local outlier factor with its 20 neighbours."""
    return -LocalOutlierFactor(NEIGHBORS).fit(X).negative_outlier_factor_


def forest(X: np.ndarray, K: int, seed: int) -> np.ndarray:
    """scikit-learn's isolation forest."""
    return -IsolationForest(random_state=seed).fit(X).score_samples(X)


def glosh(X: np.ndarray, K: int, seed: int, least: int = 5) -> np.ndarray:
    """HDBSCAN's score of outliers, with its own least size of a cluster."""
    from hdbscan import HDBSCAN

    return np.nan_to_num(HDBSCAN(min_cluster_size=least).fit(X).outlier_scores_)


def distance(X: np.ndarray, K: int, seed: int) -> np.ndarray:
    """Distance to the 20th neighbour, the same for all clusters."""
    return NearestNeighbors(n_neighbors=NEIGHBORS).fit(X).kneighbors()[0][:, -1]


METHODS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "lapmodes": lapmodes,
    "LOF": lof,
    "forest": forest,
    "distance": distance,
}
if find_spec("hdbscan"):
    METHODS |= {"GLOSH": glosh, "GLOSH 15": lambda X, K, seed: glosh(X, K, seed, 15)}


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Mean average precision of each method on each kind, and its standard error over the draws."""
    lines = [f"{'':20}" + "".join(f"{name:>17}" for name in METHODS)]
    for kind, scores in found.items():
        lines.append(f"{kind:20}" + "".join(f"{_with_error(scores[name]):>17}" for name in METHODS))
    means = [np.mean([np.mean(scores[name]) for scores in found.values()]) for name in METHODS]
    errors = [np.sqrt(sum(_squared_error(scores[name]) for scores in found.values())) for name in METHODS]
    last = [f"{mean:.3f} ± {error / len(found):.3f}" for mean, error in zip(means, errors, strict=True)]
    return "\n".join([*lines, f"{'mean':20}" + "".join(f"{text:>17}" for text in last)])


def _with_error(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.sqrt(_squared_error(values)):.3f}"


def _squared_error(values: list[float]) -> float:
    """Square of the standard error of the mean; 0 for one draw."""
    return float(np.var(values, ddof=1) / len(values)) if len(values) > 1 else 0.0


def picture(seed: int) -> Path:
    """The first two columns of one draw of each kind, with the outliers in red."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(20, 8), layout="constrained")
    for axis, (name, _, draw) in zip(axes.flat, draws(1, seed), strict=True):
        for rows, color in ((~draw.outlier, "0.5"), (draw.outlier, "tab:red")):
            axis.scatter(*draw.X[rows, :2].T, s=6, c=color)
        axis.set_title(f"{name}: {draw.outlier.sum()} of {len(draw.X)}, d = {draw.X.shape[1]}")
    file = Path("results/benchmarks/outliers.png")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    return file


def main() -> None:
    """Print the table, or draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", action="store_true")
    options = parser.parse_args()
    if options.picture:
        print(picture(options.seed))
        return
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in METHODS} for kind in KINDS}
    for kind, i, draw in draws(options.draws, options.seed):
        for name, score in METHODS.items():
            found[kind][name].append(average_precision_score(draw.outlier, score(draw.X, draw.K, i)))
    print(table(found))


if __name__ == "__main__":
    main()
