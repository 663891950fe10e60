"""All of MNIST from raw pixels: one fit with progress bars, then accuracy, time and memory.

    LAPMODES_DATA=... python benchmarks/mnist70k.py

The setting is the paper's for MNIST: unit norm, 5-NN binary graph, lambda = 0.2, sigma = 0.35, K-means start.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from measure import PeakMemory

from lapmodes import LaplacianKModes
from lapmodes.metrics import clustering_accuracy, normalized_mutual_info


def load_mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / "mnist70k.npz") as data:
        X, y = data["X"].astype(np.float32), data["y"].astype(int)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    arguments = parser.parse_args()
    if "LAPMODES_DATA" not in os.environ:
        print("Set LAPMODES_DATA to the folder with mnist70k.npz.", file=sys.stderr)
        return 2
    X, y = load_mnist(Path(os.environ["LAPMODES_DATA"]))
    model = LaplacianKModes(
        10,
        lam=0.2,
        bandwidth=0.35,
        affinity="binary",
        n_neighbors=5,
        init="k-means",
        random_state=arguments.seed,
        verbose=not arguments.quiet,
    )
    import sklearn.cluster
    import sklearn.neighbors  # noqa: F401  the libraries' own code is not the fit's memory

    with PeakMemory() as memory:
        began = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - began
    graph = sum(part.nbytes for part in (model.graph_.data, model.graph_.indices, model.graph_.indptr))
    result = {
        "accuracy": round(clustering_accuracy(y, model.labels_), 4),
        "nmi_max": round(normalized_mutual_info(y, model.labels_), 4),
        "objective": model.objective_,
        "relative_gap": model.gap_ / abs(model.objective_),
        "seconds": round(seconds, 1),
        "bytes_beyond_data_and_graph_per_point_and_cluster": round((memory.growth - graph) / (len(X) * 10), 1),
    }
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
