"""The clustering battery: the default constructor on many unlike data sets, beside other algorithms.

    python benchmarks/battery.py [--method NAME] [--largest N] [--seeds S ...] [--images]

Looks for battery_dev.npz, battery_dev_peers.csv and the image sets in the folder that LAPMODES_DATA names. A set's
score is the best adjusted Rand index over its labelings, each with its own number of clusters, noise left out.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from lapmodes import LaplacianKModes
from lapmodes.metrics import clustering_accuracy

PEERS = ("Genie_G0.3", "sklearn_gm", "sklearn_kmeans", "sklearn_spectral_Arbf_G5")
METHODS: dict[str, Callable[[int, int], object]] = {
    "lapmodes": lambda K, seed: LaplacianKModes(K, random_state=seed),
    "paper": lambda K, seed: LaplacianKModes(K, init="k-means", random_state=seed),
    "spectral start": lambda K, seed: LaplacianKModes(K, init="spectral", random_state=seed),
    "k-means": lambda K, seed: KMeans(K, n_init=10, random_state=seed),
    "hdbscan": lambda K, seed: HDBSCAN(),
}


def battery(folder: Path, largest: int) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Name, points and labelings (0 is noise) of each set."""
    with np.load(folder / "battery_dev.npz") as stored:
        for name in sorted({key.rsplit("/", 1)[0] for key in stored.files}):
            X = stored[f"{name}/X"].astype(np.float64)
            if len(X) <= largest:
                yield name, X, [stored[key] for key in sorted(stored.files) if key.startswith(f"{name}/y")]


def score(method: Callable[[int, int], object], X: np.ndarray, labelings: list[np.ndarray], seed: int) -> float:
    """Best adjusted Rand index over the labelings; a cluster that died is reported."""
    found: dict[int, np.ndarray] = {}
    best = -1.0
    for y in labelings:
        real = y > 0
        K = np.unique(y[real]).size
        if K not in found:
            found[K] = method(K, seed).fit_predict(X)  # type: ignore[attr-defined]
            if np.unique(found[K]).size < K:
                print(f"  only {np.unique(found[K]).size} of {K} clusters")
        best = max(best, adjusted_rand_score(y[real], found[K][real]))
    return best


def images(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Digits, COIL-20 and samples of MNIST, rows of unit length."""
    from sklearn.datasets import load_digits
    from sklearn.preprocessing import normalize

    digits = load_digits()
    yield "digits", normalize(digits.data), digits.target
    with np.load(folder / "coil20_32.npz") as stored:
        yield "COIL-20", normalize(stored["X"].astype(np.float64)), stored["y"]
    with np.load(folder / "mnist70k.npz") as stored:
        X, y = stored["X"], stored["y"]
    for size, repeats in ((200, 5), (1000, 1)):
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            rows = np.concatenate([rng.choice(np.flatnonzero(y == c), size, replace=False) for c in range(10)])
            yield f"MNIST-{10 * size} sample {seed}", normalize(X[rows].astype(np.float64)), y[rows]


def peers(folder: Path) -> dict[str, dict[str, str]]:
    """What other algorithms score."""
    with open(folder / "battery_dev_peers.csv") as stream:
        return {f"{row['battery']}/{row['dataset']}": row for row in csv.DictReader(stream)}


def run_battery(folder: Path, method: str, largest: int, seeds: list[int]) -> None:
    """Print one line a set and the means."""
    others, rows = peers(folder), []
    print(
        f"{'set':26s} {'points':>7s} {method:>14s} {'seconds':>8s}  "
        + "  ".join(f"{peer[-14:]:>14s}" for peer in PEERS)
    )
    for name, X, labelings in battery(folder, largest):
        began = time.perf_counter()
        own = [score(METHODS[method], X, labelings, seed) for seed in seeds]
        seconds = (time.perf_counter() - began) / len(seeds)
        theirs = [float(others[name][peer] or "nan") for peer in PEERS]
        rows.append((own, theirs))
        print(
            f"{name:26s} {len(X):7d} {np.mean(own):14.3f} {seconds:8.1f}  " + "  ".join(f"{v:14.3f}" for v in theirs),
            flush=True,
        )
    own, theirs = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    print(f"{'mean':34s} {own.mean():14.3f} {'':8s}  " + "  ".join(f"{v:14.3f}" for v in np.nanmean(theirs, axis=0)))
    if len(seeds) > 1:
        print("mean of each random state:", np.round(own.mean(axis=0), 4))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=METHODS, default="lapmodes")
    parser.add_argument("--largest", type=int, default=10**9, help="leave out sets with more points")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--images", action="store_true", help="run the image sets instead (accuracy / NMI)")
    options = parser.parse_args()
    folder = Path(os.environ["LAPMODES_DATA"])
    warnings.simplefilter("ignore")
    if not options.images:
        run_battery(folder, options.method, options.largest, options.seeds)
        return
    for name, X, y in images(folder):
        for seed in options.seeds:
            labels = METHODS[options.method](np.unique(y).size, seed).fit_predict(X)  # type: ignore[attr-defined]
            nmi = normalized_mutual_info_score(y, labels, average_method="max")
            print(f"{name:24s} accuracy {clustering_accuracy(y, labels):.3f}  NMI {nmi:.3f}", flush=True)


if __name__ == "__main__":
    main()
