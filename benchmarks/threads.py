"""Same bits for any number of threads: one hash for each kind of search and of rows, over all settings of threads.

    python benchmarks/threads.py                    the table of the documentation: 10^5 points, some minutes
    python benchmarks/threads.py --points 3000      the same with searches that are made to think they have many rows

Each fit runs in a process of its own, whose OMP_NUM_THREADS is set, as scikit-learn and BLAS read it when they start.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
from scipy.sparse import csr_array, random

SEARCHES = {"k-d tree": 3, "blocks": 30, "cells": 16, "principal axes": 200}
"""Kinds of search, and a number of dimensions that asks for each."""
OMP, JOBS, ROWS = (1, 2, 4), (1, 2, 3), ("dense", "sparse")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--omp", type=int, nargs="*", default=OMP)
    parser.add_argument("--jobs", type=int, nargs="*", default=JOBS)
    parser.add_argument("--searches", nargs="*", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=ROWS)
    parser.add_argument("--one", nargs=3, metavar=("SEARCH", "ROWS", "JOBS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        search, rows, jobs = options.one
        print(fit_hash(search, rows, int(jobs), options.points))
        return 0
    different = 0
    for search, rows in itertools.product(options.searches, options.rows):
        hashes = {
            run(search, rows, omp, jobs, options.points) for omp, jobs in itertools.product(options.omp, options.jobs)
        }
        different += len(hashes) > 1
        print(f"{search:16} {rows:8} {' '.join(sorted(hashes))}", flush=True)
    print("Same bits in every row." if not different else f"{different} rows with different bits.")
    return int(different > 0)


def run(search: str, rows: str, omp: int, jobs: int, points: int) -> str:
    words = [sys.executable, __file__, "--points", str(points), "--one", search, rows, str(jobs)]
    threads = {name: str(omp) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run(words, env=os.environ | threads, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def fit_hash(search: str, rows: str, jobs: int, points: int) -> str:
    """Hash of everything that a fit computes."""
    from lapmodes import LaplacianKModes
    from lapmodes.graph import approximate, neighbors

    approximately = search in ("cells", "principal axes")
    if points < 50_000:  # few rows take the ways of many
        neighbors.EXACT_WORK = 0.0 if approximately else np.inf
        approximate.CELL_ROWS = 200
    n = points if approximately or search == "k-d tree" else points // 4  # blocks compare all pairs
    X = data(SEARCHES[search], n) if rows == "dense" else sparse_rows(SEARCHES[search], min(n, 5000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LaplacianKModes(5, random_state=0, n_jobs=jobs).fit(X)
        new = model.predict_proba(X[:100] * 1.01)
    found = hashlib.sha256()
    for values in (
        model.labels_,
        model.cluster_centers_,
        model.assignments_,
        model.graph_.data,
        model.graph_.indices,
        new,
    ):
        found.update(np.ascontiguousarray(values).tobytes())
    found.update(np.array([model.objective_, model.gap_, model.lam_, model.bandwidth_]).tobytes())
    return found.hexdigest()[:12]


def data(d: int, n: int) -> np.ndarray:
    """Five groups, most of their variance in a few directions."""
    rng = np.random.default_rng(0)
    few = min(d, 8)
    X = rng.normal(size=(n, few)) + 4 * rng.normal(size=(5, few))[rng.integers(0, 5, size=n)]
    turned = np.einsum("nf,fd->nd", X, rng.normal(size=(few, d)))  # a product by BLAS would depend on its threads
    return turned + 0.05 * rng.normal(size=(n, d))


def sparse_rows(d: int, n: int) -> csr_array:
    """Rows that are mostly zero."""
    return csr_array(random(n, d, density=max(0.1, 2 / d), random_state=0)) * 3.0


if __name__ == "__main__":
    sys.exit(main())
