"""A model fitted to labelled data: how well and how fast it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .._records import Array
from ..metrics import clustering_accuracy
from ._exhibit import Table

# The problems are small: on a busy machine threads wait for each other longer than they work. The result is
# the same with any number of them.
COMMON: dict[str, Any] = {"init": "k-means", "random_state": 0, "n_jobs": 1}


@dataclass(frozen=True)
class Run:
    """A fitted model and how well and how fast it did."""

    data: str
    algorithm: str
    model: Any
    accuracy: float
    seconds: float


def timed_fit(data: str, algorithm: str, model: Any, X: Array, y: Array, noise: int | None = None) -> Run:
    """Fit a model and score it."""
    began = perf_counter()
    model.fit(X)
    seconds = perf_counter() - began
    return Run(data, algorithm, model, clustering_accuracy(y, model.labels_, noise=noise), seconds)


def runs_table(name: str, runs: Sequence[Run]) -> Table:
    """One row a run."""
    rows = [
        [run.algorithm, f"{run.accuracy:.3f}", f"{run.model.objective_:.4g}", f"{run.model.gap_:.1e}"] for run in runs
    ]
    header = ["algorithm", "accuracy", "objective", "certified gap"]
    return Table(name, "Accuracy is of points that are not outliers.", header, rows)
