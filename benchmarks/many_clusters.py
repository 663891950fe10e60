"""Many clusters: memory, time and result of sparse assignments beside dense ones, each in a process of its own.

    python benchmarks/many_clusters.py                      # 10^5 points, 1,000 clusters
    python benchmarks/many_clusters.py --points 20000 --clusters 300

Gaussian blobs of unequal size in 16 dimensions, single precision. First whole fits: the default constructor, with
sparse and with dense assignments, and scikit-learn's K-means. Then the steps alone: the same alternation with sparse
and with dense assignments from the same start on the same graph, without a prior and with two
alternations only, so that objective, gap and labels can be compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings

import numpy as np
from measure import PeakMemory, report

DIMENSIONS = 16


def blobs(n: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Blobs of unequal size, some of which touch."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3.0, size=(K, DIMENSIONS)).astype(np.float32)
    y = rng.choice(K, size=n, p=rng.dirichlet(np.full(K, 10.0)))
    return rng.standard_normal((n, DIMENSIONS), dtype=np.float32) + centers[y], y


def fitted(how: str, X: np.ndarray, K: int):
    """The model of one row of the table, fitted."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    from lapmodes import LaplacianKModes

    if how == "KMeans":
        return KMeans(K, n_init=1, random_state=0).fit(X)
    if how == "MiniBatchKMeans":
        return MiniBatchKMeans(K, n_init=1, random_state=0).fit(X)
    sparse = how.startswith("sparse")
    if how.endswith("fit"):
        return LaplacianKModes(K, sparse_assignments=sparse, random_state=0).fit(X)
    start = MiniBatchKMeans(K, n_init=1, random_state=0).fit(X).cluster_centers_
    return LaplacianKModes(K, lam=0.1, bandwidth=3.0, init=start, max_iter=2, sparse_assignments=sparse).fit(X)


def measure(how: str, n: int, K: int) -> dict[str, object]:
    from sklearn.metrics import adjusted_rand_score

    X, y = blobs(n, K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(how, X[:2000], 8)  # the libraries' own code is not the fit's memory
        began = time.process_time()
        with PeakMemory() as memory:
            model = fitted(how, X, K)
        seconds = time.process_time() - began
    support = getattr(model, "assignments_", np.empty((1, 0)))
    return {
        "bytes": memory.growth,
        "seconds": seconds,
        "ari": adjusted_rand_score(y, model.labels_),
        "objective": getattr(model, "objective_", None),
        "gap": getattr(model, "gap_", None),
        "n_iter": int(model.n_iter_),
        "support": float(np.count_nonzero(support.data) if hasattr(support, "nnz") else np.count_nonzero(support)) / n,
        "labels": model.labels_.tolist() if how.endswith("steps") else None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=1000)
    every = ["sparse fit", "dense fit", "MiniBatchKMeans", "KMeans", "sparse steps", "dense steps"]
    parser.add_argument("--only", nargs="+", default=every)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    n, K = options.points, options.clusters
    if options.one:
        print(json.dumps(measure(options.one, n, K)))
        return 0
    rows, labels, full = [], {}, 4 * n * K
    for how in options.only:
        command = [sys.executable, __file__, "--one", how, "--points", str(n), "--clusters", str(K)]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            print(process.stderr, file=sys.stderr)
            return 1
        found = json.loads(process.stdout.splitlines()[-1])
        labels[how] = found.pop("labels")
        print(f"{how}: {found}", flush=True)
        numbers = [f"{found[name]:.4f}" if found[name] is not None else "" for name in ("objective", "gap")]
        memory = [f"{found['bytes'] / 2**20:.0f}", f"{found['bytes'] / n:.0f}", f"{found['bytes'] / full:.2f}"]
        rows.append([how, *memory, f"{found['seconds']:.1f}", f"{found['ari']:.4f}", *numbers, found["n_iter"],
                     f"{found['support']:.2f}"])  # fmt: skip
    header = ["fit", "peak MiB", "bytes a point", "peak / (N K 4)", "processor s", "ARI", "objective", "gap"]
    report("many_clusters", [*header, "alternations", "support"], rows)
    if labels.get("sparse steps") and labels.get("dense steps"):
        same = np.mean(np.array(labels["sparse steps"]) == np.array(labels["dense steps"]))
        print(f"labels of sparse and dense steps agree for {same:.4%} of the points")
    return 0


if __name__ == "__main__":
    sys.exit(main())
