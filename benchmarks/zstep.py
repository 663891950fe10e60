"""Time to a certified relative gap of 1e-4: the Z-step against the paper's Algorithm 1 in NumPy and SciPy.

    LAPMODES_DATA=... python benchmarks/zstep.py

Both begin at the same Z (each point in its best cluster) with the same modes. Problems: the paper's spirals
(lambda = 100, sigma = 0.2, 5-NN heat), once with a mode in each spiral and once with modes at random points; a pixel
grid of 512 x 512 smooth noise with 8 neighbours; a million points in 20 blobs (10-NN); all of MNIST (binary 5-NN,
lambda = 0.2, sigma = 0.35) if LAPMODES_DATA names a folder with mnist70k.npz. --cache keeps the graphs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from algorithm1 import algorithm1
from measure import report
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.neighbors import kneighbors_graph

from lapmodes import _native
from lapmodes._records import Graph, Points
from lapmodes._rows import one_hot
from lapmodes.datasets import make_spirals
from lapmodes.graph.grid import grid_graph
from lapmodes.graph.laplacian import build_graph
from lapmodes.solve.assignments import solve_assignments
from lapmodes.solve.objective import kernel_values
from lapmodes.solve.terms import DenseTerm

Problem = tuple[Graph, np.ndarray, float]


def symmetric(W: csr_array) -> csr_array:
    return csr_array(W.maximum(W.T))


def cached(cache: Path | None, name: str, build: Callable[[], csr_array]) -> csr_array:
    file = cache and cache / f"{name}.npz"
    if file and file.exists():
        return csr_array(load_npz(file))
    W = build()
    if file:
        save_npz(file, W)
    return W


def problem(X: np.ndarray, C: np.ndarray, W: csr_array, lam: float, sigma: float) -> Problem:
    return build_graph(W.astype(X.dtype)), kernel_values(Points(X, 1), C.astype(X.dtype), sigma), lam


def spirals(modes: str) -> Problem:
    X, y = make_spirals(random_state=0)
    W = kneighbors_graph(X, 5, mode="distance")
    W.data = np.exp(-0.5 * np.square(W.data / 0.2))
    middle = [np.flatnonzero(y == k)[200] for k in range(5)]
    chosen = middle if modes == "each" else np.random.default_rng(0).choice(len(X), 5, replace=False)
    return problem(X, X[chosen], symmetric(csr_array(W)), 100.0, 0.2)


def pixels(lam: float) -> Problem:
    rng = np.random.default_rng(0)
    image = sum(width * gaussian_filter(rng.standard_normal((512, 512)), width) for width in (4, 16, 48))
    image = ((image - image.min()) / np.ptp(image)).astype(np.float32)
    edge = float(np.sqrt(np.square(np.diff(image, axis=0)).mean()))
    return problem(image.reshape(-1, 1), np.linspace(0.15, 0.85, 6)[:, None], grid_graph(image, edge), lam, 0.03)


def blobs(cache: Path | None) -> Problem:
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (20, 3))
    X = (centres[np.sort(rng.integers(20, size=1_000_000))] + rng.standard_normal((1_000_000, 3))).astype(np.float32)
    W = cached(cache, "blobs", lambda: symmetric(csr_array(kneighbors_graph(X, 10, n_jobs=-1))))
    return problem(X, centres, W, 1.0, 1.0)


def mnist(cache: Path | None) -> Problem:
    with np.load(Path(os.environ["LAPMODES_DATA"]) / "mnist70k.npz") as data:
        X, y = data["X"].astype(np.float32), data["y"].astype(int)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = cached(cache, "mnist", lambda: symmetric(csr_array(kneighbors_graph(X, 5))))
    return problem(X, np.array([X[y == digit].mean(axis=0) for digit in range(10)]), W, 0.2, 0.35)


def problems(cache: Path | None) -> Iterator[tuple[str, Callable[[], Problem]]]:
    yield "spirals, a mode in each", lambda: spirals("each")
    yield "spirals, modes at random", lambda: spirals("random")
    for lam in (0.1, 1.0):
        yield f"pixels 512 x 512, lambda {lam}", lambda lam=lam: pixels(lam)
    yield "a million points in blobs", lambda: blobs(cache)
    if "LAPMODES_DATA" in os.environ:
        yield "MNIST 70k", lambda: mnist(cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which Algorithm 1 is given up")
    parser.add_argument("--only", default="", help="problems whose name holds this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=_native.max_threads())
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    rows = []
    for name, make in problems(options.cache):
        if options.only not in name:
            continue
        graph, B, lam = make()
        Z0, seconds = one_hot(B.argmax(axis=1), B.shape[1], B.dtype), []
        for _ in range(options.repeats):
            began = time.perf_counter()
            found = solve_assignments(graph, B, lam, Z0, tol=options.tol, max_iter=50_000, threads=options.threads)
            seconds.append(time.perf_counter() - began)
        n_iter, reference, gap = algorithm1(graph, B, lam, Z0, options.tol, options.limit)
        times = f"{'' if gap <= options.tol else '> '}{reference / min(seconds):.1f}"
        proven = f"{found.gap / DenseTerm(B).scale:.1e}"
        rows.append(
            (name, found.n_iter, f"{min(seconds):.3f}", proven, n_iter, f"{reference:.1f}", f"{gap:.1e}", times)
        )
        print(f"{name}: Algorithm 1 takes {times} times as long", flush=True)
    header = ["problem", "sweeps", "seconds", "gap", "Algorithm 1: iterations", "seconds", "gap", "time / lapmodes"]
    report("zstep", header, rows)


if __name__ == "__main__":
    main()
