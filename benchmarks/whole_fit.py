"""Whole fits beside other libraries, accuracy beside time: scikit-learn, and Leiden, Genie and pyamg where installed.

    python benchmarks/whole_fit.py --data digits
    LAPMODES_DATA=... python benchmarks/whole_fit.py     # digits, blobs (10^5 x 16) and MNIST-70k
    LAPMODES_DATA=... python benchmarks/whole_fit.py --data mnist --limit 900 --only arpack "lapmodes (graph given)"

Each method runs in a process of its own, which is ended after --limit seconds ("> 120"). Those above the line work on
one and the same binary 5-NN graph, those below start from the points; each is compared with lapmodes doing the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from growth import blobs
from measure import PhaseClock, report, seconds_of
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.cluster import HDBSCAN, KMeans, MeanShift, SpectralClustering
from sklearn.datasets import load_digits

from lapmodes import LaplacianKModes
from lapmodes.baselines import NormalizedCut
from lapmodes.datasets import fetch_mnist
from lapmodes.metrics import clustering_accuracy, normalized_mutual_info
from lapmodes.paper.rivals.base import affinity_of

Method = Callable[[np.ndarray, int, Any], np.ndarray]
GIVEN, OWN = "lapmodes (graph given)", "lapmodes"
TRIALS = 20
"""Resolutions that Leiden may try until it finds exactly K communities."""


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "digits": digits,
    "blobs": partial(blobs, 100_000),
    "mnist": partial(fetch_mnist, unit_norm=True),
}


def leiden(X: np.ndarray, K: int, graph: Any) -> np.ndarray:
    """Modularity with its resolution searched for exactly K communities."""
    import igraph
    import leidenalg

    coo = graph.tocoo()
    upper = coo.row < coo.col
    network = igraph.Graph(graph.shape[0], np.column_stack([coo.row[upper], coo.col[upper]]).tolist())
    low, high = 0.0, 8.0
    for _ in range(TRIALS):
        middle = (low + high) / 2
        found = leidenalg.find_partition(
            network, leidenalg.RBConfigurationVertexPartition, resolution_parameter=middle, seed=0
        )
        if len(found) == K:
            break
        low, high = (middle, high) if len(found) < K else (low, middle)
    return np.array(found.membership)


def spectral(solver: str, X: np.ndarray, K: int, graph: Any) -> np.ndarray:
    model = SpectralClustering(K, affinity="precomputed", eigen_solver=solver, random_state=0)
    return model.fit(graph).labels_


def genie(X: np.ndarray, K: int, graph: Any) -> np.ndarray:
    from genieclust import Genie

    return Genie(n_clusters=K).fit_predict(X)


ON_GRAPH: dict[str, Method] = {
    GIVEN: lambda X, K, graph: LaplacianKModes(K, random_state=0).fit(X, graph=graph).labels_,
    **{f"SpectralClustering {solver}": partial(spectral, solver) for solver in ("lobpcg", "amg", "arpack")},
    "Leiden, resolution searched": leiden,
}
FROM_POINTS: dict[str, Method] = {
    OWN: lambda X, K, graph: LaplacianKModes(K, random_state=0).fit(X).labels_,
    "KMeans(n_init=10)": lambda X, K, graph: KMeans(K, n_init=10, random_state=0).fit(X).labels_,
    "Genie": genie,
    "HDBSCAN": lambda X, K, graph: HDBSCAN(min_cluster_size=10, copy=True, n_jobs=-1).fit(X).labels_,
    "MeanShift": lambda X, K, graph: MeanShift(n_jobs=-1).fit(X).labels_,
}
NEEDS = {"SpectralClustering amg": "pyamg", "Leiden, resolution searched": "leidenalg", "Genie": "genieclust"}


def run_one(data: str, method: str, file: Path) -> dict[str, Any]:
    """In the child: seconds of one method and how good its labels are."""
    X, y = DATA[data]()
    K, graph = len(np.unique(y)), csr_array(load_npz(file))
    work = {**ON_GRAPH, **FROM_POINTS}[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, labels = seconds_of(lambda: work(X, K, graph))
    return {
        "seconds": seconds,
        "accuracy": clustering_accuracy(y, labels),
        "nmi": normalized_mutual_info(y, labels, average="max"),
        "clusters": len(set(labels.tolist()) - {-1}),
    }


def run_phases(data: str) -> dict[str, float]:
    """In the child: seconds of our own phases, from the points."""
    X, y = DATA[data]()
    clock = PhaseClock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LaplacianKModes(len(np.unique(y)), random_state=0, verbose=clock).fit(X)
    return clock.seconds


def child(limit: float, *arguments: str) -> dict[str, Any] | None:
    """What a run of this file with the arguments found; None if it was ended."""
    command = [sys.executable, __file__, *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if process.returncode:
        raise RuntimeError(process.stderr)
    return json.loads(process.stdout.splitlines()[-1])


def compete(data: str, limit: float, only: list[str], skip: list[str]) -> list[list[Any]]:
    """A row for the graph, each method, and each of our phases."""
    X, _ = DATA[data]()
    seconds, graph = seconds_of(lambda: affinity_of(NormalizedCut(n_neighbors=5), X, None, np.random.RandomState(0)))
    rows: list[list[Any]] = [[data, "5-NN graph", f"{seconds:.2f}", *[""] * 4]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.npz"
        save_npz(file, graph, compressed=False)
        for reference, methods in ((GIVEN, ON_GRAPH), (OWN, FROM_POINTS)):
            own = None
            for method in methods:
                wanted = not only or any(word in method for word in only)
                if not wanted or any(word in method for word in skip) or not find_spec(NEEDS.get(method, "sklearn")):
                    continue
                found = child(limit, "--one", data, method, str(file))
                own = found["seconds"] if found and method == reference else own
                rows.append([data, method, *cells(found, own, limit)])
                print(*rows[-1][:3], "s", flush=True)
    if not only:
        rows += shares(data, child(limit, "--phases", data))
    return rows


def cells(found: dict[str, Any] | None, own: float | None, limit: float) -> list[Any]:
    """Seconds, ratio and scores of one method."""
    seconds = found["seconds"] if found else limit
    more = "" if found else "> "
    ratio = f"{more}{seconds / own:.2f}" if own else ""
    scores = [f"{found['accuracy']:.3f}", f"{found['nmi']:.3f}", found["clusters"]] if found else [""] * 3
    return [f"{more}{seconds:.2f}", ratio, *scores]


def shares(data: str, phases: dict[str, float] | None) -> list[list[Any]]:
    """Our own phases, each with its share of the whole in place of the ratio."""
    total = sum((phases or {}).values())
    return [
        [data, f"lapmodes: {name}", f"{seconds:.2f}", f"{100 * seconds / total:.0f} %", *[""] * 3]
        for name, seconds in (phases or {}).items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=["digits", "blobs", "mnist"])
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a method is ended")
    parser.add_argument("--only", nargs="+", default=[], help="methods whose name holds one of these")
    parser.add_argument("--skip", nargs="+", default=[], help="not methods whose name holds one of these")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--phases", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(*arguments.one[:2], Path(arguments.one[2]))))
        return 0
    if arguments.phases:
        print(json.dumps(run_phases(arguments.phases)))
        return 0
    rows = []
    for data in arguments.data:
        if data != "mnist" or "LAPMODES_DATA" in os.environ:
            rows += compete(data, arguments.limit, arguments.only, arguments.skip)
    report("whole_fit", ["data", "method", "seconds", "time / lapmodes", "ACC", "NMI (max)", "clusters"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
