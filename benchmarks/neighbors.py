"""Graphs of nearest neighbours: ours beside scikit-learn, faiss and PyNNDescent where installed, at a recall of 0.98.

    python benchmarks/neighbors.py                       # 10^5 points in 3 and in 16 dimensions
    LAPMODES_DATA=... python benchmarks/neighbors.py     # and 20,000 images of MNIST
    LAPMODES_DATA=... python benchmarks/neighbors.py --full   # 10^6 points, and all of MNIST

A time holds everything from the rows to the lists: training and adding included. What a library leaves to its user
(probes, effort of a search) is first set, outside the time, to the least that reaches the recall on a sample of rows:
ours gets no such help. Recall counts a row as found if it is as near as the true one; the row itself is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from growth import blobs
from measure import report
from sklearn.neighbors import NearestNeighbors

from lapmodes import _native
from lapmodes.datasets import fetch_mnist
from lapmodes.graph.neighbors import make_index

RECALL, SAMPLE = 0.98, 1000
EVERY_PAIR = 1e12
"""Pairs of rows times dimensions up to which exact search is worth showing: some ten seconds on two cores."""
Lists = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """The true neighbours of a sample of rows: how far the k-th one is."""

    X: np.ndarray
    rows: np.ndarray
    radius: np.ndarray
    k: int

    @staticmethod
    def of(X: np.ndarray, k: int) -> Truth:
        """Measured by every pair."""
        rows = np.sort(np.random.default_rng(0).choice(len(X), SAMPLE, replace=False))
        near = NearestNeighbors(algorithm="brute").fit(X).kneighbors(X[rows], k + 1, return_distance=False)
        lengths = np.sort(Truth._lengths(X, rows, near), axis=1)
        return Truth(X, rows, lengths[:, k], k)  # the row itself comes first

    @staticmethod
    def _lengths(X: np.ndarray, rows: np.ndarray, near: np.ndarray) -> np.ndarray:
        return np.stack([np.linalg.norm(X[near[:, j]] - X[rows], axis=1) for j in range(near.shape[1])], axis=1)

    def recall(self, near: np.ndarray) -> float:
        """Of lists of the sample's rows, without the rows themselves as far as that is seen."""
        hit = self._lengths(self.X, self.rows, near) <= self.radius[:, None] * (1 + 1e-5)
        found = (hit & (near != self.rows[:, None])).sum(axis=1)
        return float(np.minimum(found, self.k).mean() / self.k)


def faiss_ways(X: np.ndarray, k: int, truth: Truth, threads: int) -> Iterator[tuple[str, Lists]]:
    """Exact search, inverted lists (of whole or shortened rows, then measured again), a navigable graph."""
    import faiss

    faiss.omp_set_num_threads(threads)
    n, d = X.shape
    if float(n) * n * d < EVERY_PAIR:
        yield "faiss Flat", lambda: faiss.knn(X, X, k + 1)[1]
    cells = 2 ** round(np.log2(np.sqrt(n)))
    recipes = {"HNSW16": ("HNSW16,Flat", "efSearch")}
    if d > 128:
        recipes[f"PCA64, IVF{cells}, refined"] = (f"PCA64,IVF{cells},Flat,RFlat", "nprobe")
        recipes[f"IVF{cells}, PQ, refined"] = (f"IVF{cells},PQ{d // 8}x4fs,RFlat", "nprobe")
    else:
        recipes[f"IVF{cells}"] = (f"IVF{cells},Flat", "nprobe")
        recipes[f"IVF{4 * cells}"] = (f"IVF{4 * cells},Flat", "nprobe")
    for name, (recipe, knob) in recipes.items():

        def make(recipe: str = recipe) -> faiss.Index:
            index = faiss.index_factory(d, recipe)
            index.train(X)
            index.add(X)
            return index

        setting = least_effort(make(), knob, k, truth)
        print(f"faiss {name}: {setting}", flush=True)

        def run(make=make, setting=setting) -> np.ndarray:
            index = make()
            faiss.ParameterSpace().set_index_parameters(index, setting)
            return index.search(X, k + 1)[1]

        yield f"faiss {name} ({setting})", run


def least_effort(index: Any, knob: str, k: int, truth: Truth) -> str:
    """The least setting of a faiss index that reaches the recall on the sample; of shortened rows 4 k are measured."""
    import faiss

    refined = ",k_factor_rf=4" if isinstance(index, faiss.IndexRefineFlat) else ""
    for effort in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128):
        setting = f"{knob}={effort}{refined}"
        faiss.ParameterSpace().set_index_parameters(index, setting)
        if truth.recall(index.search(truth.X[truth.rows], k + 1)[1]) >= RECALL:
            break
    return setting


def pynndescent_way(X: np.ndarray, k: int, truth: Truth, threads: int) -> tuple[str, Lists]:
    """Its lists are made longer than those asked for until the recall is reached."""
    from pynndescent import NNDescent

    def run(length: int) -> np.ndarray:
        graph = NNDescent(X, n_neighbors=length, n_jobs=threads, random_state=0).neighbor_graph[0]
        return graph[:, : k + 1]

    lengths = (k + 1, k + 4, k + 8, 2 * k + 8)
    length = next((each for each in lengths if truth.recall(run(each)[truth.rows]) >= RECALL), lengths[-1])
    return f"PyNNDescent ({length} neighbors)", lambda: run(length)


def ways(X: np.ndarray, k: int, truth: Truth, threads: int, skip: str) -> Iterator[tuple[str, Lists]]:
    yield "lapmodes", lambda: make_index(X, threads).query_self(k).indices
    if X.shape[1] <= 12:
        tree = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=threads)
        yield "scikit-learn k-d tree", lambda: tree.fit(X).kneighbors(return_distance=False)
    elif float(len(X)) * X.size < EVERY_PAIR:
        brute = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=threads)
        yield "scikit-learn brute", lambda: brute.fit(X).kneighbors(return_distance=False)
    if find_spec("faiss") and "faiss" not in skip:
        yield from faiss_ways(X, k, truth, threads)
    if find_spec("pynndescent") and "pynndescent" not in skip:
        yield pynndescent_way(X, k, truth, threads)


def compete(name: str, X: np.ndarray, k: int, repeats: int, threads: int, skip: str) -> list[list[str]]:
    """Seconds, processor seconds and recall of each, the shortest of several rounds in turns."""
    truth = Truth.of(X, k)
    works = dict(ways(X, k, truth, threads, skip))
    best = dict.fromkeys(works, (np.inf, np.inf))
    recall = {}
    for _ in range(repeats):
        for title, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            found = work()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[title] = min(best[title], (wall, cpu))
            recall[title] = truth.recall(found[truth.rows])
            print(f"{name}, {k}-NN: {title} {wall:.2f} s, recall {recall[title]:.3f}", flush=True)
    own = best["lapmodes"][0]
    return [
        [name, str(k), title, f"{wall:.2f}", f"{cpu:.2f}", f"{wall / own:.2f}", f"{recall[title]:.3f}"]
        for title, (wall, cpu) in best.items()
    ]


def data(full: bool, only: str) -> Iterator[tuple[str, np.ndarray]]:
    n = 1_000_000 if full else 100_000
    for dimensions in (3, 16):
        name = f"blobs {n} x {dimensions}"
        if only in name:
            yield name, np.ascontiguousarray(blobs(n)[0][:, :dimensions])
    if "LAPMODES_DATA" in os.environ and only in "MNIST":
        X = fetch_mnist(unit_norm=True)[0]
        X = X if full else X[:: len(X) // 20_000][:20_000]
        yield f"MNIST {len(X)}", np.ascontiguousarray(X, dtype=np.float32)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="", help="data whose name holds this")
    parser.add_argument("--skip", default="", help="libraries to leave out")
    parser.add_argument("--neighbors", type=int, nargs="+", default=[10])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=_native.max_threads())
    options = parser.parse_args()
    rows = []
    for name, X in data(options.full, options.only):
        for k in options.neighbors:
            rows += compete(name, X, k, options.repeats, options.threads, options.skip)
    report("neighbors", ["data", "k", "method", "seconds", "processor", "time / lapmodes", "recall"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
