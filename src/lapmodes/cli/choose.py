"""The number of clusters, where it is left to the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._records import Array
from ..report.story import Selection

MOST = 10
SAMPLE = 2000
WHY = "the average silhouette of its clusters (how much nearer rows are to their own cluster than to the next) is best"


def choose_n_clusters(model: Any, X: Any, graph: Any, step: Any) -> Selection:
    """Fit 2 to 10 clusters, on at most 2,000 of the rows, and keep the best separated."""
    from sklearn.base import clone
    from sklearn.metrics import silhouette_score

    rows = sample_rows(X.shape[0])
    X, graph = X[rows], None if graph is None else graph[rows][:, rows]
    candidates = range(2, min(MOST, X.shape[0] - 1) + 1)
    if len(candidates) == 0:
        raise ValueError(f"-k auto needs at least 3 rows. Got {X.shape[0]}.")
    table = []
    for k in candidates:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = clone(model).set_params(n_clusters=k).fit(X, graph=graph).labels_
        alive = np.unique(labels).size
        score = float(silhouette_score(X, labels)) if 1 < alive < X.shape[0] else -1.0
        table.append((k, alive, score))
        step(1, f"k = {k}")
    best = max(table, key=lambda line: (line[1] == line[0], line[2]))
    return Selection(best[0], ("clusters", "not empty", "silhouette"), tuple(table), WHY)


def sample_rows(n: int) -> Array:
    """All rows, or a fixed random choice of them in order."""
    if n <= SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
