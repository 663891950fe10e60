"""Whole fits beside other libraries, accuracy beside time: scikit-learn, Leiden and Genie where installed.

python benchmarks/whole_fit.py                       # scikit-learn's digits
LAPMODES_DATA=... python benchmarks/whole_fit.py     # and MNIST-70k on one 5-NN graph
LAPMODES_DATA=... python benchmarks/whole_fit.py --arpack   # with scikit-learn's default eigensolver (minutes)
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import report, seconds_of
from sklearn.cluster import HDBSCAN, KMeans, MeanShift, SpectralClustering
from sklearn.datasets import load_digits

from lapmodes import LaplacianKModes
from lapmodes.baselines import NormalizedCut
from lapmodes.baselines._base import affinity_of
from lapmodes.datasets import fetch_mnist
from lapmodes.metrics import clustering_accuracy, normalized_mutual_info


def leiden(graph: Any, K: int) -> np.ndarray:
    """Modularity with its resolution searched for exactly K communities."""
    import igraph
    import leidenalg

    coo = graph.tocoo()
    upper = coo.row < coo.col
    network = igraph.Graph(graph.shape[0], list(zip(coo.row[upper].tolist(), coo.col[upper].tolist(), strict=True)))
    low, high = 0.0, 8.0
    for _ in range(20):
        middle = (low + high) / 2
        found = leidenalg.find_partition(
            network, leidenalg.RBConfigurationVertexPartition, resolution_parameter=middle, seed=0
        )
        if len(found) == K:
            break
        low, high = (middle, high) if len(found) < K else (low, middle)
    return np.array(found.membership)


def spectral(solver: str, K: int, graph: Any) -> Callable[[], np.ndarray]:
    model = SpectralClustering(K, affinity="precomputed", eigen_solver=solver, random_state=0)
    return lambda: model.fit(graph).labels_


def on_a_graph(X: np.ndarray, K: int, graph: Any, arpack: bool) -> dict[str, Callable[[], np.ndarray]]:
    """What works on the same graph."""
    works: dict[str, Callable[[], np.ndarray]] = {
        "lapmodes (graph given)": lambda: LaplacianKModes(K, random_state=0).fit(X, graph=graph).labels_,
        "SpectralClustering lobpcg": spectral("lobpcg", K, graph),
    }
    if find_spec("pyamg"):
        works["SpectralClustering amg"] = spectral("amg", K, graph)
    if arpack:
        works["SpectralClustering arpack"] = spectral("arpack", K, graph)
    if find_spec("leidenalg"):
        works["Leiden, resolution searched"] = lambda: leiden(graph, K)
    return works


def from_points(X: np.ndarray, K: int) -> dict[str, Callable[[], np.ndarray]]:
    """What starts from the points."""
    works: dict[str, Callable[[], np.ndarray]] = {
        "lapmodes": lambda: LaplacianKModes(K, random_state=0).fit(X).labels_,
        "KMeans(n_init=10)": lambda: KMeans(K, n_init=10, random_state=0).fit(X).labels_,
    }
    if find_spec("genieclust"):
        from genieclust import Genie

        works["Genie"] = lambda: Genie(n_clusters=K).fit_predict(X)
    if len(X) <= 5000:
        works["HDBSCAN"] = lambda: HDBSCAN(min_cluster_size=10, copy=True).fit(X).labels_
        works["MeanShift"] = lambda: MeanShift(bin_seeding=True).fit(X).labels_
    return works


def compete(name: str, X: np.ndarray, y: np.ndarray, arpack: bool) -> list[list[Any]]:
    K = len(np.unique(y))
    graph_seconds, graph = seconds_of(
        lambda: affinity_of(NormalizedCut(n_neighbors=5), X, None, np.random.RandomState(0))
    )
    rows: list[list[Any]] = [[name, "5-NN graph", f"{graph_seconds:.2f}", "", "", "", ""]]
    timed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, work in {**on_a_graph(X, K, graph, arpack), **from_points(X, K)}.items():
            seconds, labels = seconds_of(work)
            timed.append((title, seconds, labels))
            print(f"{name}: {title} {seconds:.1f} s", flush=True)
    own = {title: seconds for title, seconds, _ in timed}
    for title, seconds, labels in timed:
        reference = own[
            "lapmodes (graph given)" if "graph" in title or "Spec" in title or "Lei" in title else "lapmodes"
        ]
        rows.append(
            [
                name,
                title,
                f"{seconds:.2f}",
                f"{seconds / reference:.2f}",
                f"{clustering_accuracy(y, labels):.3f}",
                f"{normalized_mutual_info(y, labels, average='max'):.3f}",
                len(set(labels.tolist())),
            ]
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arpack", action="store_true")
    parser.add_argument("--digits", action="store_true", help="only scikit-learn's digits")
    arguments = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    rows = compete("digits", X, y, True)
    if "LAPMODES_DATA" in os.environ and not arguments.digits:
        rows += compete("MNIST-70k", *fetch_mnist(unit_norm=True), arguments.arpack)
    header = ["data", "method", "seconds", "time / lapmodes", "ACC", "NMI (max)", "clusters"]
    report("whole_fit", header, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
