"""Speed on shapes of real-world data: duplicates, integers, many components, outliers, one column, zeros, unlike units.

    python benchmarks/shapes.py                          all shapes
    python benchmarks/shapes.py --only flights zeros     some

A default fit beside scikit-learn's HDBSCAN and K-means on the same points in the same run: seconds of this library and
how many times those of the others, and the memory that each takes at most above the points. Each fit runs in a
process of its own, so that none profits from what another left behind.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from measure import PeakMemory, report, seconds_of
from scipy.sparse import csr_array, issparse, random_array
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.preprocessing import scale

from lapmodes import LaplacianKModes

Rng = np.random.Generator


def flights(rng: Rng, n: int) -> np.ndarray:
    """Minutes of delay, miles, and whether the delay is above 15: integers on few routes, most rows more than once."""
    routes = np.round(np.minimum(rng.lognormal(6.3, 0.7, 600), 4400))
    miles = rng.choice(routes, n, p=rng.dirichlet(np.full(600, 0.25)))
    delay = np.where(rng.random(n) < 0.8, rng.normal(-3, 8, n), rng.gamma(1.0, 38.0, n) - 5)
    delay = np.clip(np.round(delay), -60, 500)
    return np.asarray(scale(np.column_stack([delay, miles, delay > 15])))


def duplicates(rng: Rng, n: int) -> np.ndarray:
    """Only every twentieth row is new."""
    X = make_blobs(n // 20, 4, centers=8, cluster_std=1.5, random_state=0)[0]
    return np.asarray(X[rng.permutation(np.append(np.arange(n // 20), rng.integers(0, n // 20, n - n // 20)))])


def integers(rng: Rng, n: int) -> np.ndarray:
    """Answers from 0 to 9 to five questions."""
    means = rng.uniform(1, 8, (5, 5))
    return np.clip(np.round(means[rng.integers(0, 5, n)] + rng.normal(0, 1.3, (n, 5))), 0, 9)


def groups(rng: Rng, n: int) -> np.ndarray:
    """250 little groups far apart: as many components of any neighbour graph."""
    centres = rng.uniform(-1000, 1000, (250, 3))
    return centres[rng.integers(0, 250, n)] + rng.standard_normal((n, 3))


def outliers(rng: Rng, n: int) -> np.ndarray:
    """One dense blob, and one point in 400 very far away."""
    far = rng.standard_normal((n // 400, 3)) * 10 ** rng.uniform(2, 6, (n // 400, 1))
    return np.vstack([rng.standard_normal((n - len(far), 3)), far])


def one_column(rng: Rng, n: int) -> np.ndarray:
    """Four hills on a line."""
    return np.asarray(rng.normal(rng.integers(0, 4, n) * 5.0, 1)[:, None])


def zeros(rng: Rng, n: int) -> np.ndarray:
    """Three columns with clusters and a thousand of zeros."""
    X = make_blobs(n, 3, centers=5, random_state=0)[0]
    return np.hstack([X, np.zeros((n, 1000))])


def sparse_zeros(rng: Rng, n: int) -> Any:
    """A thousand columns, one entry in a hundred; each group has its own favourite columns."""
    favourite = np.repeat(np.eye(5), 200, axis=1)[rng.integers(0, 5, n)]
    noise = random_array((n, 1000), density=0.02, rng=rng, format="csr")
    return csr_array(noise.multiply(0.2 + favourite))


def unlike_scales(rng: Rng, n: int) -> np.ndarray:
    """Eight columns from 1e-4 to 1e6."""
    return np.asarray(make_blobs(n, 8, centers=6, random_state=0)[0] * 10.0 ** np.linspace(-4, 6, 8))


SHAPES: dict[str, tuple[Callable[[Rng, int], Any], int, int]] = {
    "flights": (flights, 20_000, 5),
    "duplicates": (duplicates, 300_000, 8),
    "integers": (integers, 20_000, 5),
    "groups": (groups, 10_000, 10),
    "outliers": (outliers, 20_000, 3),
    "one column": (one_column, 20_000, 4),
    "zeros": (zeros, 2_000, 5),
    "sparse zeros": (sparse_zeros, 3_000, 5),
    "unlike scales": (unlike_scales, 10_000, 6),
}


def distinct(X: Any) -> int:
    """Number of distinct rows."""
    return int(np.unique(X.toarray() if issparse(X) else X, axis=0).shape[0])


def fit_once(algorithm: str, shape: str) -> tuple[float, float]:
    """Seconds of a fit, and megabytes above the start; the first import is not counted."""
    warnings.simplefilter("ignore")
    make, n, K = SHAPES[shape]
    X = make(np.random.default_rng(0), n)
    models: dict[str, Any] = {
        "lapmodes": LaplacianKModes(K, random_state=0),
        "HDBSCAN": HDBSCAN(min_cluster_size=20, copy=True),
        "K-means": KMeans(K, n_init=10, random_state=0),
    }
    X = X.toarray() if issparse(X) and algorithm == "HDBSCAN" else X
    models[algorithm].fit(X[:200])
    with PeakMemory() as memory:
        seconds, _ = seconds_of(lambda: models[algorithm].fit(X))
    return seconds, memory.growth / 2**20


def main() -> None:
    """One line a shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=SHAPES, default=list(SHAPES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for shape in options.only:
            make, n, K = SHAPES[shape]
            X = make(np.random.default_rng(0), n)
            found = [pool.submit(fit_once, each, shape).result() for each in ("lapmodes", "HDBSCAN", "K-means")]
            own, hdbscan, k_means = (seconds for seconds, _ in found)
            times = [f"{own:.1f}", f"{own / hdbscan:.2f}", f"{own / k_means:.1f}"]
            rows.append([shape, f"{n} x {X.shape[1]}", distinct(X), K, *times, *(f"{mb:.0f}" for _, mb in found)])
            print(*rows[-1], flush=True)
    header = ["shape", "size", "distinct", "K", "seconds", "over HDBSCAN", "over K-means"]
    report("shapes", [*header, "MB", "MB HDBSCAN", "MB K-means"], rows)


if __name__ == "__main__":
    main()
