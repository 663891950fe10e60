"""The candidates of the consensus, kept and dropped: how good each is alone, and what leaving it out or adding it does.

    LAPMODES_DATA=... python benchmarks/candidates.py
    LAPMODES_DATA=... python benchmarks/candidates.py --largest 2000

All candidates are made once for each data set; then the choice is made among the kept ones, without one of them, and
with one of the dropped ones more. Scores are those of the chosen partition ("consensus alone"): the adjusted Rand index
on the sets of the battery (larger ones left out), the accuracy on digits, COIL-20 and samples of MNIST. Differences
come with their standard error over the data sets; what is smaller than that is noise.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from battery_sets import battery, images
from measure import report

from lapmodes import LaplacianKModes
from lapmodes._progress import Progress
from lapmodes._records import StartInputs
from lapmodes._rows import adjusted_rand
from lapmodes.graph.affinity import symmetric
from lapmodes.metrics import clustering_accuracy
from lapmodes.start.communities import community_labels
from lapmodes.start.consensus import Candidate, choose, list_candidates, make_partition
from lapmodes.start.density_modes import density_mode_labels
from lapmodes.start.k_means import best_kmeans
from lapmodes.start.linkage import even_linkage_labels
from lapmodes.start.spectral import spectral_labels

Score = Callable[[np.ndarray], float]
Partitions = dict[Candidate, np.ndarray]


def dropped(prepared: Any, K: int) -> Partitions:
    """The candidates that were dropped."""
    inputs: StartInputs = prepared.inputs
    rng, near, k = np.random.RandomState(0), inputs.neighbors, inputs.n_neighbors
    binary = symmetric(near.first(k).indices, np.ones((inputs.points.n, k)))
    return {
        Candidate("k-means"): best_kmeans(prepared.problem, K, rng).Z.argmax(axis=1),
        Candidate("spectral"): spectral_labels(inputs.graphs[0], K, rng),
        Candidate("density modes", "k/2 neighbours"): density_mode_labels(near.first(k // 2), inputs.trees[0], [K])[0],
        Candidate("density modes", "1.4 k neighbours"): density_mode_labels(
            near.first(14 * k // 10), inputs.trees[0], [K]
        )[0],
        Candidate("linkages", "0.3"): even_linkage_labels(inputs.trees[0], K, 0.3),
        Candidate("communities", "binary"): community_labels(binary, K, 0),
    }


def partitions(X: Any, K: int) -> tuple[Partitions, Partitions]:
    """The kept and the dropped candidates that have K clusters."""
    estimator = LaplacianKModes(K, random_state=0)
    prepared = estimator._prepare(X, {"graph": None}, Progress())[2]
    inputs = prepared.inputs
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=20).tolist()
    kept = {
        candidate: make_partition(candidate, inputs, K, seed)
        for candidate, seed in zip(list_candidates(inputs, K), seeds, strict=False)
    }
    return tuple(
        {candidate: labels for candidate, labels in group.items() if np.unique(labels).size == K}
        for group in (kept, dropped(prepared, K))
    )


def problems(largest: int) -> Iterator[tuple[str, Any, int, Score]]:
    """Kind, points, number of clusters and score; of a set's labelings the first one."""
    for _, X, labelings in battery(largest):
        y = labelings[0]
        real = y > 0
        truth = np.unique(y[real], return_inverse=True)[1]
        yield "sets", X, truth.max() + 1, lambda labels, r=real, t=truth: adjusted_rand(t, labels[r])
    for _, X, y in images(min(largest, 2000), samples=5):
        yield "images", X, np.unique(y).size, lambda labels, y=y: clustering_accuracy(y, labels)


def chosen(candidates: Partitions, K: int) -> np.ndarray:
    """The partition that is chosen among these."""
    return choose(list(candidates), list(candidates.values()), K).labels


def variants(kept: Partitions, more: Partitions) -> Iterator[tuple[str, Partitions]]:
    """The kept candidates, without each of them and each family, and with each of the dropped ones."""
    yield "all kept", kept
    for one in kept:
        yield f"without {one.family} {one.variant or ''}", {each: kept[each] for each in kept if each != one}
    for family in dict.fromkeys(each.family for each in kept):
        yield f"without all {family}", {each: kept[each] for each in kept if each.family != family}
    for one, labels in more.items():
        yield f"with {one.family} {one.variant or ''}", kept | {one: labels}
    yield "one voice a candidate", {Candidate(str(i)): labels for i, labels in enumerate(kept.values())}


def main() -> None:
    """Make all candidates once, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=5200, help="leave out sets with more points")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    alone: dict[str, dict[str, list[float]]] = {}
    scores: dict[str, dict[str, list[float]]] = {}
    for kind, X, K, score in problems(options.largest):
        kept, more = partitions(X, K)
        for candidate, labels in (kept | more).items():
            name = f"{candidate.family} {candidate.variant if candidate.variant is not None else ''}"
            alone.setdefault(name, {}).setdefault(kind, []).append(score(labels))
        plain = score(chosen(kept, K))
        for name, group in variants(kept, more):
            scores.setdefault(name, {}).setdefault(kind, []).append(
                score(chosen(group, K)) - plain if name != "all kept" else plain
            )
    rows = [
        [f"{name}, alone", *(f"{np.mean(found.get(kind, [np.nan])):.3f}" for kind in ("sets", "images"))]
        for name, found in alone.items()
    ]
    for name, found in scores.items():
        cells = []
        for kind in ("sets", "images"):
            values = np.array(found.get(kind, [np.nan]))
            error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
            cells.append(f"{values.mean():.3f}" if name == "all kept" else f"{values.mean():+.3f} ± {error:.3f}")
        rows.append([name, *cells])
    report("candidates", ["candidates", "sets", "images"], rows)


if __name__ == "__main__":
    main()
