"""One fused sweep of the Z-step against the memory's bandwidth, measured in the same run.

    python benchmarks/sweep.py

The graph joins uniform points in the plane with their 10 nearest neighbours (symmetrised); "local" numbers them along
a Z-curve, "random" at random. The bound is the bytes that one sweep must move at least once, over the STREAM triad:
Z and B read, Z_old and WZ_old read and written (6 N K numbers); the graph's weights, columns and row starts, its
diagonal and the step sizes read once. Gathered rows of Z count once: the rest must come from the caches. The triad
counts 24 bytes a number, as STREAM does. One sweep in four computes energy and certificate; both kinds are measured,
with no row left out as settled.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measure import report
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from lapmodes import _native
from lapmodes._records import Points
from lapmodes._rows import one_hot
from lapmodes.graph.laplacian import build_graph
from lapmodes.solve.assignments import DenseSweeps
from lapmodes.solve.objective import kernel_values
from lapmodes.solve.terms import DenseTerm


def triad_bandwidth(threads: int, repeats: int = 10) -> float:
    """Bytes a second of a = b + s c on arrays far larger than the caches."""
    a, b, c = np.zeros(20_000_000), np.ones(20_000_000), np.ones(20_000_000)
    return 24 * a.size / shortest(lambda: _native.triad(a, b, c, 2.0, threads), repeats)


def shortest(run, repeats: int) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def z_curve(X: np.ndarray) -> np.ndarray:
    """The order of points in the unit square along a Z-curve."""
    cells = (X * 2**15).astype(np.uint64)
    code = np.zeros(len(X), dtype=np.uint64)
    for bit in range(15):
        for axis in range(2):
            code |= ((cells[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(2 * bit + axis)
    return np.argsort(code)


def planar_graph(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, csr_array]:
    """Points in local order and their symmetrised k-NN graph."""
    X = np.random.default_rng(seed).random((n, 2))
    X = X[z_curve(X)]
    neighbors = KDTree(X).query(X, k + 1, workers=-1)[1][:, 1:]
    W = csr_array((np.ones(n * k), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return X, csr_array(W.maximum(W.T))


def measure(
    W: csr_array, X: np.ndarray, K: int, dtype: str, threads: int, repeats: int, certifies: bool = True
) -> tuple[float, int]:
    """Seconds of a sweep, after some to get under way, and the bytes it must move."""
    graph, lam = build_graph(W.astype(dtype)), 0.1
    modes = np.random.default_rng(1).random((K, 2)).astype(dtype)
    B = kernel_values(Points(X.astype(dtype), threads), modes, 0.7 / np.sqrt(K))
    Z = one_hot(B.argmax(axis=1), K, B.dtype)
    sweeps = DenseSweeps(graph, DenseTerm(B, threads), lam, Z, np.inf, threads)

    def sweep() -> None:
        sweeps.activate_all_rows()
        sweeps.sweep(0.5, certifies)

    sweeps.sweep(0.0, True)
    sweep()
    seconds = shortest(sweep, repeats)
    return seconds, 6 * B.nbytes + sum(part.nbytes for part in graph.arrays) + graph.diagonal.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--clusters", type=int, nargs="+", default=[2, 10, 20, 100])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--orders", nargs="+", default=["local", "random"])
    parser.add_argument("--threads", type=int, default=_native.max_threads())
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    X, W = planar_graph(options.points, options.neighbors)
    shuffle = np.random.default_rng(2).permutation(options.points)
    rows = []
    print(f"{_native.isa()}, {options.threads} threads, {W.nnz / W.shape[0]:.1f} edges a row")
    for order in options.orders:
        graph, points = (W, X) if order == "local" else (csr_array(W[shuffle][:, shuffle]), X[shuffle])
        for dtype in options.dtypes:
            for K in options.clusters:
                bandwidth = triad_bandwidth(options.threads)
                proven, size = measure(graph, points, K, dtype, options.threads, options.repeats)
                plain, _ = measure(graph, points, K, dtype, options.threads, options.repeats, certifies=False)
                ratios = [seconds * bandwidth / size for seconds in (proven, plain)]
                numbers = (1e3 * proven, 1e3 * plain, size / 1e6, bandwidth / 1e9, *ratios)
                rows.append((order, dtype, K, *(f"{number:.2f}" for number in numbers)))
                print(f"{order} {dtype} K={K}: {ratios[0]:.2f} and {ratios[1]:.2f} x the bound", flush=True)
    header = ["order", "dtype", "K", "ms, certifying", "ms, plain", "MB", "triad GB/s", "bounds, certifying", "plain"]
    report("sweep", header, rows)


if __name__ == "__main__":
    main()
