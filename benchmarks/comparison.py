"""Which clustering when: ten sets by seven algorithms, with times and adjusted Rand indices, as one picture.

    pip install hdbscan leidenalg igraph evoc matplotlib
    python benchmarks/comparison.py

writes docs/results/comparison.png and docs/results/comparison.csv. Algorithms that take a number of clusters get the
true one; all other parameters are defaults. Leiden works on the graph of the 15 nearest neighbours, as in scanpy.
Each time is the lesser of two runs with one thread, after one that is not counted.
"""

import argparse
import csv
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_spirals

RESULTS = Path(__file__).parent.parent / "docs" / "results"
COLORS = np.array(
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a5195", "#8c8c00", "#444444", "#b2182b"]
)
NOISE = "#cfcfcf"
SIZE = 600


def data_sets():
    """(name, X, y) of each set; y is None where there is nothing to find."""
    rng = np.random.default_rng(0)
    yield "circles", *make_circles(SIZE, factor=0.5, noise=0.05, random_state=0)
    yield "moons", *make_moons(SIZE, noise=0.07, random_state=0)
    X, y = make_spirals(SIZE, n_spirals=3, random_state=0)
    yield "spirals", X, y
    yield "unequal widths", *make_blobs(SIZE, cluster_std=[1.0, 2.5, 0.5], random_state=170)
    X, y = make_blobs(SIZE, random_state=170)
    yield "slanted", X @ [[0.6, -0.6], [-0.4, 0.8]], y
    yield "blobs", *make_blobs(SIZE, centers=6, cluster_std=0.6, random_state=8)
    sizes = [SIZE - 90, 60, 30]
    yield "unequal sizes", *make_blobs(sizes, centers=np.array([[0, 0], [5, 0], [0, 5]]), random_state=0)
    y = np.repeat(np.arange(12), 100)
    X = rng.normal(size=(12, 64))[y] + 1.2 * rng.normal(size=(1200, 64))
    yield "directions (64 columns)", X / np.linalg.norm(X, axis=1, keepdims=True), y
    yield "nothing", rng.uniform(size=(SIZE, 2)), None
    X, y = load_digits(return_X_y=True)
    yield "digits (64 columns)", X, y


def leiden(X, K):
    """Communities of the 15-nearest-neighbour graph, at resolution 1."""
    import igraph
    import leidenalg
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(X, 15).tocoo()
    graph = igraph.Graph(n=len(X), edges=list(zip(near.row.tolist(), near.col.tolist(), strict=True)))
    found = leidenalg.find_partition(graph.simplify(), leidenalg.ModularityVertexPartition, seed=0)
    return np.asarray(found.membership)


def evoc(X, K):
    """The layer that EVoC calls the best."""
    from evoc import EVoC

    return EVoC(random_state=0).fit_predict(np.ascontiguousarray(X, dtype=np.float32))


ALGORITHMS = {
    "KMeans": lambda X, K: KMeans(K, n_init=10, random_state=0).fit_predict(X),
    "Gaussian mixture": lambda X, K: GaussianMixture(K, random_state=0).fit_predict(X),
    "Spectral": lambda X, K: SpectralClustering(
        K, affinity="nearest_neighbors", n_neighbors=10, random_state=0, assign_labels="cluster_qr"
    ).fit_predict(X),
    "HDBSCAN": lambda X, K: HDBSCAN(min_cluster_size=15, copy=True).fit_predict(X),
    "Leiden": leiden,
    "EVoC": evoc,
    "lapmodes": lambda X, K: LaplacianKModes(K, n_jobs=1, random_state=0).fit_predict(X),
}


def measure(run, X, K):
    """(labels, seconds), the least of runs after the first."""
    labels = run(X, K)
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        run(X, K)
        seconds.append(time.perf_counter() - began)
    return np.asarray(labels), min(seconds)


def draw(ax, places, labels, seconds, score):
    """The points in the colours of their clusters; noise is grey."""
    if labels is None:
        ax.text(0.5, 0.5, "needs more columns", transform=ax.transAxes, ha="center", va="center", color="#666666")
    else:
        order = np.argsort(-np.bincount(labels[labels >= 0], minlength=1), kind="stable")
        rank = np.empty(order.size, dtype=int)
        rank[order] = np.arange(order.size)
        colors = np.where(labels >= 0, COLORS[rank[np.maximum(labels, 0)] % len(COLORS)], NOISE)
        ax.scatter(*places.T, s=4, c=colors, linewidths=0)
        said = f"{seconds:.2f} s" if score is None else f"{max(score, 0):.2f}   {seconds:.2f} s"
        ax.set_xlabel(said, fontsize=8, labelpad=2)
    ax.set(xticks=[], yticks=[])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    folder = parser.parse_args().out
    sets = list(data_sets())
    figure, axes = plt.subplots(len(sets), len(ALGORITHMS), figsize=(12.5, 18), layout="constrained")
    rows = []
    for row, (name, X, y) in zip(axes, sets, strict=True):
        X = X if X.shape[1] > 2 else StandardScaler().fit_transform(X)
        places = PCA(2, random_state=0).fit_transform(X) if X.shape[1] > 2 else X
        K = 3 if y is None else len(np.unique(y))
        row[0].set_ylabel(name, fontsize=10)
        for ax, (algorithm, run) in zip(row, ALGORITHMS.items(), strict=True):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels, seconds = measure(run, X, K)
            except Exception as error:
                print(f"{algorithm} on {name}: {error}")
                labels, seconds = None, float("nan")
            score = None if y is None or labels is None else adjusted_rand_score(y, labels)
            draw(ax, places, labels, seconds, score)
            found = "" if labels is None else len(set(labels[labels >= 0]))
            left_out = "" if labels is None else f"{np.mean(labels < 0):.3f}"
            rows.append([name, algorithm, found, left_out, "" if score is None else f"{score:.3f}", f"{seconds:.4f}"])
            print(*rows[-1], sep="\t", flush=True)
    for ax, algorithm in zip(axes[0], ALGORITHMS, strict=True):
        ax.set_title(algorithm, fontsize=11)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "comparison.png", dpi=75)
    with open(folder / "comparison.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "algorithm", "clusters", "left_out", "adjusted_rand", "seconds"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
