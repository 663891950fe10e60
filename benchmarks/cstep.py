"""The C-step against the hardware: kernel values and one step of mean-shift beside what GEMM and memory can do.

    python benchmarks/cstep.py                    # 10^6 points in 16 dimensions, 20 clusters
    LAPMODES_DATA=... python benchmarks/cstep.py  # and MNIST-70k (10 clusters), TDT2 (sparse rows, 30 clusters)

The bound is the larger of two times: that of the least number of floating-point operations at the speed of a large
single-precision GEMM on as many threads, and that of the bytes that must be read or written once at the STREAM triad's
speed, both measured in the same run. Bytes: X, and B or the lists of members (for which Z is read). Operations: two
for each entry of X and mode for the kernel, four for each entry of X and cluster that the row belongs to for
mean-shift. "Hard" assignments put a row into one cluster, as the alternation nearly always does, "soft" into all.
Sparse rows gather, which neither bound counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from growth import CLUSTERS, blobs
from measure import report
from scipy.sparse import issparse
from sweep import shortest, triad_bandwidth

from lapmodes import _native
from lapmodes._records import Points
from lapmodes._rows import one_hot
from lapmodes.datasets import fetch_mnist, load_tdt2
from lapmodes.solve.modes import Members, cluster_sums, shift_modes
from lapmodes.solve.objective import inverse_width, kernel_values

REPEATS = 5


def gemm_speed() -> float:
    """Floating-point operations a second of a large product in single precision."""
    A = np.random.default_rng(0).random((3000, 3000), dtype=np.float32)
    return 2 * 3000**3 / shortest(lambda: A @ A, 4)


def data() -> Iterator[tuple[str, Any, np.ndarray]]:
    X, y = blobs(1_000_000)
    yield f"blobs 10^6 x 16, K = {CLUSTERS}", X, y
    if "LAPMODES_DATA" not in os.environ:
        return
    X, y = fetch_mnist(unit_norm=True)
    yield "MNIST 70k x 784, K = 10", np.ascontiguousarray(X, dtype=np.float32), y
    yield "TDT2 9,394 x 36,771 sparse, K = 30", *load_tdt2()


def bytes_of(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes if issparse(X) else X.nbytes


def middle(points: Points, y: np.ndarray, K: int) -> tuple[np.ndarray, float]:
    """A mode for each class, off its mean by a random point, and a bandwidth: the spread in a class."""
    seeds = points.rows(np.array([np.flatnonzero(y == k)[0] for k in range(K)]))
    means = np.stack([points.X[y == k].mean(axis=0) for k in range(K)]).astype(points.X.dtype)
    C = np.ascontiguousarray(0.7 * means + 0.3 * seeds)
    minus_d2 = kernel_values(points, C, 1.0, squared=True)
    return C, float(np.sqrt(-minus_d2[np.arange(points.n), y].mean() / 2))


def measure(name: str, X: Any, y: np.ndarray, speed: float, bandwidth: float, threads: int) -> list[list[str]]:
    points, K = Points(X, threads), int(y.max()) + 1
    C, sigma = middle(points, y, K)
    h, active = inverse_width(sigma, points.X.dtype), np.ones(K, dtype=bool)
    entries = X.nnz if issparse(X) else X.size
    size = bytes_of(X)
    B = kernel_values(points, C, sigma)
    Z = {"hard": one_hot(y, K, points.X.dtype), "soft": B / B.sum(axis=1, keepdims=True)}
    works = {"kernel values": (lambda: kernel_values(points, C, sigma), 2 * entries * K, size + B.nbytes)}
    for kind, each in Z.items():
        members, of_row = Members.of(each, threads), 1 if kind == "hard" else K
        shift = lambda members=members: cluster_sums(points, members, C, h, active)  # noqa: E731
        works[f"mean-shift, {kind}"] = (shift, 4 * entries * of_row, size + members.rows.nbytes + members.values.nbytes)
    works["lists of members"] = (lambda: Members.of(Z["hard"], threads), 0, B.nbytes)
    rows = []
    for title, (work, operations, moved) in works.items():
        seconds, bound = shortest(work, REPEATS), max(operations / speed, moved / bandwidth)
        by = "GEMM" if operations / speed > moved / bandwidth else "memory"
        rows.append([name, title, f"{1e3 * seconds:.1f}", f"{1e3 * bound:.1f}", by, f"{seconds / bound:.1f}"])
    found = shift_modes(points, Z["hard"], C, sigma, tol=1e-4 * sigma)
    seconds = shortest(lambda: shift_modes(points, Z["hard"], C, sigma, tol=1e-4 * sigma), 2)
    rows.append([name, f"C-step, {found.n_iter} shifts", f"{1e3 * seconds:.1f}", "", "", ""])
    return rows


def main() -> int:
    threads = _native.max_threads()
    speed, bandwidth = gemm_speed(), triad_bandwidth(threads)
    print(f"{_native.isa()}, {threads} threads, GEMM {speed / 1e9:.0f} GFLOP/s, triad {bandwidth / 1e9:.1f} GB/s")
    rows = [row for name, X, y in data() for row in measure(name, X, y, speed, bandwidth, threads)]
    report("cstep", ["data", "work", "ms", "bound (ms)", "of", "ratio"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
