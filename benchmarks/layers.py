"""Several levels at once: what they cost beside one fit, whether they make a tree, whether ids last, how good they are.

    python benchmarks/layers.py                          generated heaps of heaps
    LAPMODES_DATA=... python benchmarks/layers.py        MNIST-70k and the development sets, too
    LAPMODES_DATA=... python benchmarks/layers.py --only mnist

"time" and "processor time" are those of all levels over those of one default fit with as many clusters as there are
classes, the fastest of --repeats each. "in parent" is the smallest share, over the levels, of points that lie in the
parent of their cluster; "nested" the same with nested=True. "same ids" are the shares of points whose cluster has
the same id with another random state, level by level; "same clusters" those of points in clusters that match, whatever
their ids. "ARI" and "NMI" (over the larger entropy) are those of the level with as many clusters as there are classes,
beside the fit. On the development sets the levels have half, once, twice and four times that number of clusters, and
the score of a set is the best over its labelings.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from battery_sets import battery, mnist
from measure import report
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes, Layers, fit_layers
from lapmodes.metrics import clustering_accuracy, normalized_mutual_info

SMALL = 2000
"""Points of the largest development set that is used."""
HEADER = ["set", "points", "levels", "time", "processor time", "in parent", "nested", "same ids", "same clusters",
          "ARI", "of the fit", "NMI", "of the fit", "largest gap"]  # fmt: skip


def heaps_of_heaps(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Five groups of four heaps in 16 dimensions, of unequal sizes; some heaps of a group touch."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(scale=6.0, size=(5, 1, 16))
    places = (groups + rng.normal(scale=1.5, size=(5, 4, 16))).reshape(20, 16)
    y = rng.choice(20, size=10_000, p=rng.dirichlet(np.full(20, 8.0)))
    return places[y] + rng.normal(size=(10_000, 16)), y


def fastest(work: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Shortest wall-clock and processor seconds, and what the work returned."""
    walls, processor = [], []
    for _ in range(repeats):
        began = time.perf_counter(), time.process_time()
        result = work()
        walls.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return min(walls), min(processor), result


def compare(name: str, X: np.ndarray, y: np.ndarray, levels: list[int], repeats: int) -> list[Any]:
    """A row of the table."""
    K = np.unique(y).size
    one_wall, one_processor, model = fastest(lambda: LaplacianKModes(K, random_state=0).fit(X), repeats)
    wall, processor, layers = fastest(lambda: fit_layers(X, levels, random_state=0), repeats)
    other, nested = fit_layers(X, levels, random_state=1), fit_layers(X, levels, nested=True, random_state=0)
    own = layers[K].labels_
    scores = [
        score(y, labels) for score in (adjusted_rand_score, normalized_mutual_info) for labels in (own, model.labels_)
    ]
    gap = max(each.gap_ / abs(each.objective_) for each in layers.models)
    return [name, len(X), shares(levels, "d"), f"{wall / one_wall:.2f}", f"{processor / one_processor:.2f}",
            f"{layers.consistency.min():.4f}", f"{nested.consistency.min():.4f}", shares(layers.same_ids(other)),
            shares(same_clusters(layers, other)), *(f"{each:.4f}" for each in scores), f"{gap:.0e}"]  # fmt: skip


def shares(values: Any, how: str = ".3f") -> str:
    """Numbers with blanks between them."""
    return " ".join(format(value, how) for value in values)


def same_clusters(one: Layers, two: Layers) -> list[float]:
    """For each level the share of points in clusters that match, whatever their ids."""
    return [clustering_accuracy(a, b) for a, b in zip(one.labels.T, two.labels.T, strict=True)]


def development_sets() -> list[list[Any]]:
    """Mean scores over the sets: the fit's, and those of the level with the same number of clusters."""
    fits, levels, parents = [], [], []
    for _, X, labelings in battery(SMALL):
        best = np.zeros(2)
        for y in labelings:
            real = y > 0
            K = np.unique(y[real]).size
            numbers = sorted({K} | {k for k in (max(2, K // 2), 2 * K, 4 * K) if k <= len(X) / 8})
            layers = fit_layers(X, numbers, random_state=0)
            found = LaplacianKModes(K, random_state=0).fit(X).labels_, layers[K].labels_
            best = np.maximum(best, [adjusted_rand_score(y[real], labels[real]) for labels in found])
            parents.append(layers.consistency.min(initial=1.0))
        fits.append(best[0])
        levels.append(best[1])
    means = f"{np.mean(fits):.4f}", f"{np.mean(levels):.4f}", f"{np.mean(parents):.4f}", f"{np.min(parents):.4f}"
    return [[len(fits), *means]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["heaps", "mnist", "sets"])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    stored = "LAPMODES_DATA" in os.environ
    rows = []
    if options.only in (None, "heaps"):
        rows.append(compare("heaps", *heaps_of_heaps(), [5, 10, 20, 40, 80], options.repeats))
    if stored and options.only in (None, "mnist"):
        rows.append(compare("MNIST-70k", *mnist(), [5, 10, 20, 40, 80], options.repeats))
    if rows:
        report("layers", HEADER, rows)
    if stored and options.only in (None, "sets"):
        header = ["development sets", "ARI of the fit", "of the level", "in parent, mean", "smallest"]
        report("layers_sets", header, development_sets())


if __name__ == "__main__":
    main()
