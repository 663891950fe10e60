"""Cost of `predict_proba` beside the bare search for the new points' neighbours.

python benchmarks/mapping.py

The start and the fit are not measured: modes are random points, and one alternation makes the assignments.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from growth import blobs
from measure import fastest, report

from lapmodes import LaplacianKModes
from lapmodes._settings import effective_threads
from lapmodes.graph.affinity import neighbors_needed
from lapmodes.graph.neighbors import make_index

TRAINING, NEW, NEW_SLOW = 50_000, 50_000, 10_000
"""Fewer new points where the search itself is slow."""
CASES = [
    (2, 20, {}),
    (2, 20, {"dtype": np.float64}),
    (2, 5, {}),
    (2, 100, {}),
    (2, 20, {"affinity": "entropic"}),
    (2, 20, {"laplacian": "normalized"}),
    (3, 20, {}),
    (8, 20, {}),
    (16, 20, {}),
]


def one(dimensions: int, clusters: int, options: dict) -> list[object]:
    options = dict(options)
    dtype = options.pop("dtype", np.float32)
    X = np.ascontiguousarray(blobs(TRAINING + NEW)[0][:, :dimensions], dtype=dtype)
    train, new = X[:TRAINING], X[TRAINING:] if dimensions < 8 else X[TRAINING : TRAINING + NEW_SLOW]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"init": "random", "lam": 1e-3, "max_iter": 1, "tol": 0.1, "random_state": 0}
        model = LaplacianKModes(clusters, **settings, **options).fit(train)
    index = make_index(train, effective_threads(None))
    reach = neighbors_needed(options.get("affinity", "self-tuning"), model.n_neighbors)
    works = {"search": lambda: index.query(new, reach), "map": lambda: model.predict_proba(new)}
    best = fastest(works, repeats=7 if dimensions < 8 else 3)
    told = ", ".join(str(value) for value in options.values())
    times = [f"{best['search']:.3f}", f"{best['map']:.3f}", f"{best['map'] / best['search']:.2f}"]
    return [dimensions, clusters, np.dtype(dtype).name, told, *times, f"{len(new) / best['map']:.0f}"]


def main() -> int:
    rows = [one(*case) for case in CASES]
    header = [
        "dimensions",
        "clusters",
        "dtype",
        "options",
        "search (s)",
        "predict_proba (s)",
        "ratio",
        "points a second",
    ]
    report("mapping", header, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
