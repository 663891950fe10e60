"""Centroids of images by several algorithms from the same K-means start: how they look and how valid they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import DegenerateWarning, KModes, LaplacianKModes
from .._progress import Progress
from .._records import Array
from ..baselines import GaussianMeanShift, KMeans
from ..graph.neighbors import NeighborIndex
from ..metrics import clustering_accuracy, normalized_mutual_info
from ..solve.points import one_hot
from ._exhibit import Claim, Table
from ._panels import ImageRow, image_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 0.25
"""A mode has few points if it has less than this share of those that an even split would give it."""


@dataclass(frozen=True)
class Recipe:
    """The paper's settings for one data set."""

    n_clusters: int
    kmodes_bandwidth: float
    lam: float
    bandwidth: float
    path: tuple[float, ...]
    """Bandwidths of the homotopy; empty: none."""
    mean_shift_bandwidth: float
    published: dict[str, tuple[float, float]]
    """Accuracy and normalised mutual information of each algorithm, in percent."""


@dataclass(frozen=True)
class Centroids:
    """What an algorithm found."""

    name: str
    setting: str
    centroids: Array
    sizes: Array
    """Number of points of each."""
    classes: Array
    """Class of the image nearest to each."""
    distances: Array
    """From each to the image nearest to it."""
    accuracy: float
    nmi: float


def centroids_of(name: str, setting: str, X: Array, y: Array, C: Array, labels: Array) -> Centroids:
    """Look up the nearest image of each centroid, and score the labels."""
    near = NeighborIndex(X, 1).query(np.ascontiguousarray(C, dtype=X.dtype), 1)
    sizes = np.bincount(labels, minlength=len(C))
    scores = clustering_accuracy(y, labels), normalized_mutual_info(y, labels)
    return Centroids(name, setting, C, sizes, y[near.indices[:, 0]], near.distances[:, 0], *scores)


def from_one_start(X: Array, y: Array, recipe: Recipe, seed: int) -> tuple[float, list[Centroids]]:
    """The K-means objective of a start, and what K-means, K-modes and Laplacian K-modes make of it."""
    K = recipe.n_clusters
    kmeans = KMeans(K, n_init=1, random_state=seed).fit(X)
    start = kmeans.cluster_centers_, one_hot(kmeans.labels_, K, X.dtype)
    smooth: dict[str, Any] = {"lam": recipe.lam, "affinity": "binary", "n_neighbors": 5, "init": start}
    width = recipe.bandwidth
    models: dict[tuple[str, str], Any] = {
        ("K-modes", f"λ = 0, σ = {recipe.kmodes_bandwidth:g}"): KModes(
            K, bandwidth=recipe.kmodes_bandwidth, init=start
        ),
        ("Laplacian K-modes", f"λ = {recipe.lam:g}, σ = {width:g}"): LaplacianKModes(K, bandwidth=width, **smooth),
    }
    if recipe.path:
        setting = f"λ = {recipe.lam:g}, σ from {recipe.path[0]:g} to {recipe.path[-1]:g} in {len(recipe.path)} steps"
        path = [(recipe.lam, sigma) for sigma in recipe.path]
        models["Laplacian K-modes, homotopy", setting] = LaplacianKModes(
            K, bandwidth=recipe.path[-1], path=path, **smooth
        )
    found = [centroids_of("K-means", "λ = 0, σ = ∞", X, y, kmeans.cluster_centers_, kmeans.labels_)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)  # a narrow kernel leaves parts of the graph out of reach
        for (name, setting), model in models.items():
            model.fit(X)
            found.append(centroids_of(name, setting, X, y, model.cluster_centers_, model.labels_))
    return kmeans.objective_, found


def mean_shift(X: Array, y: Array, recipe: Recipe, *, search: bool) -> Centroids:
    """Gaussian mean-shift with exactly K modes, or at the paper's bandwidth."""
    model = GaussianMeanShift(recipe.n_clusters) if search else GaussianMeanShift(bandwidth=recipe.mean_shift_bandwidth)
    model.fit(X)
    setting = f"σ = {model.bandwidth_:.4g}: {model.n_modes_} modes"
    return centroids_of("Mean-shift", setting, X, y, model.cluster_centers_, model.labels_)


@dataclass(frozen=True)
class Comparison:
    """All algorithms from several starts, and mean-shift, which has none."""

    starts: Sequence[Sequence[Centroids]]
    """For each start, one for each algorithm; the start with the lowest K-means objective comes first."""
    modes: Centroids

    @property
    def by_algorithm(self) -> list[Sequence[Centroids]]:
        """For each algorithm, what it found from each start."""
        return [*zip(*self.starts, strict=True), (self.modes,)]


def compare(X: Array, y: Array, recipe: Recipe, n_starts: int, *, search: bool, progress: Progress) -> Comparison:
    """Run everything."""
    with progress.phase("centroids", n_starts + 1) as step:
        starts = []
        for seed in range(n_starts):
            starts.append(from_one_start(X, y, recipe, seed))
            step()
        modes = mean_shift(X, y, recipe, search=search)
        step()
    return Comparison([found for _, found in sorted(starts, key=lambda start: start[0])], modes)


def summary(name: str, comparison: Comparison, recipe: Recipe) -> Table:
    """Means and standard deviations over the starts, beside what was published."""
    rows = []
    for found in comparison.by_algorithm:
        first = found[0]
        rows.append(
            [
                first.name,
                first.setting,
                spread([each.distances.mean() for each in found], 3),
                spread([len(set(each.classes)) for each in found], 1),
                "/".join(f"{value:.1f}" for value in recipe.published.get(first.name, ())),
                f"{100 * max(each.accuracy for each in found):.1f}/{100 * max(each.nmi for each in found):.1f}",
                spread([100 * each.accuracy for each in found], 1),
                spread([100 * each.nmi for each in found], 1),
            ]
        )
    header = ["algorithm", "setting", "distance to the nearest image", "classes among the centroids"]
    header += ["published ACC/NMI", "best ACC/NMI", "ACC", "NMI"]
    caption = f"Mean ± standard deviation over {len(comparison.starts)} K-means starts; ACC and NMI in percent."
    return Table(name, caption, header, rows)


def spread(values: Sequence[float], digits: int) -> str:
    """Mean ± standard deviation; only the value where there is one."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"


def claims(comparison: Comparison) -> list[Claim]:
    """The paper's statements."""
    means, kmodes, *smooth = comparison.by_algorithm[:-1]
    sharp = [each for modes in (kmodes, *smooth) for each in zip(modes, means, strict=True)]
    closer = sum(mode.distances.mean() < mean.distances.mean() for mode, mean in sharp)
    covered = {found[0].name: np.mean([len(set(each.classes)) for each in found]) for found in (kmodes, *smooth)}
    plain = smooth[0][0].name  # the variant at the paper's setting: the best of several would flatter
    sizes = comparison.modes.sizes
    few = float(np.mean(sizes < FEW * sizes.sum() / len(means[0].sizes)))
    return [
        Claim(
            "Means are blurred, modes look like images: modes lie closer to an image of the data.",
            f"closer in {closer} of {len(sharp)} runs; mean distance to the nearest image "
            + ", ".join(
                f"{found[0].name} {np.mean([each.distances.mean() for each in found]):.3f}"
                for found in (means, kmodes, *smooth)
            )
            + ".",
            bool(closer == len(sharp)),
        ),
        Claim(
            "The centroids of Laplacian K-modes (without homotopy) cover more classes than those of K-modes.",
            ", ".join(f"{name} {count:.1f}" for name, count in covered.items()) + " classes on average.",
            bool(covered[plain] > covered[kmodes[0].name]),
        ),
        Claim(
            "The majority of mean-shift's modes have very few points.",
            f"{100 * few:.0f} % of {len(sizes)} modes have less than a quarter of the points of an even split, "
            f"{100 * np.mean(sizes == 1):.0f} % a single one; the largest has {sizes.max()} of {sizes.sum()}.",
            few > 0.5,
        ),
    ]


def draw(comparison: Comparison, recipe: Recipe, *, transposed: bool) -> Figure:
    """A row of images for each algorithm, in the order of their classes; mean-shift's by their number of points."""
    rows = []
    for found in (*comparison.starts[0], comparison.modes):
        order = np.lexsort((-found.sizes, found.classes))
        if found is comparison.modes:
            order = np.argsort(-found.sizes, kind="stable")[: recipe.n_clusters]
        side = int(np.sqrt(found.centroids.shape[1]))
        images = np.maximum(found.centroids[order], 0).reshape(-1, side, side)
        notes = [f"n = {size}" for size in found.sizes[order]]
        rows.append(ImageRow(_wrapped(found.name), images.transpose(0, 2, 1) if transposed else images, notes))
    return image_grid(rows, side=0.95 if recipe.n_clusters <= 10 else 0.72)


def _wrapped(name: str) -> str:
    return name.replace(", ", ",\n").replace("Laplacian ", "Laplacian\n")
