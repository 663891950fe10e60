"""Cost of `predict_proba` beside the bare search for the new points' neighbours.

python benchmarks/mapping.py
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from growth import CLUSTERS, blobs
from measure import fastest, report

from lapmodes import LaplacianKModes
from lapmodes._threads import effective_threads
from lapmodes.graph.neighbors import NeighborIndex

TRAINING, NEW = 50_000, 50_000


def main() -> int:
    rows = []
    for dimensions in (2, 16):
        X = np.ascontiguousarray(blobs(TRAINING + NEW)[0][:, :dimensions])
        train, new = X[:TRAINING], X[TRAINING:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LaplacianKModes(CLUSTERS, random_state=0).fit(train)
        index = NeighborIndex(train, effective_threads(None))
        reach = model.n_neighbors
        best = fastest(
            {
                "search": lambda index=index, new=new, reach=reach: index.query(new, reach),
                "map": lambda model=model, new=new: model.predict_proba(new),
            },
            repeats=3,
        )
        rate = f"{NEW / best['map']:.0f}"
        cells = [f"{best['search']:.2f}", f"{best['map']:.2f}", f"{best['map'] / best['search']:.2f}", rate]
        rows.append([dimensions, *cells])
    report("mapping", ["dimensions", "search (s)", "predict_proba (s)", "ratio", "points a second"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
