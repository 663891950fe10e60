from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapmodes.paper import homotopy, table3, table3_runs
from lapmodes.paper.table3_runs import Problem


def three_blobs(data, seed, quick=False):
    """Three groups far apart, with unit rows without negative entries, in place of a data set."""
    X, y = make_blobs(90, 5, centers=3, cluster_std=0.3, center_box=(2, 9), random_state=0)
    X = np.abs(X)
    return Problem(X / np.linalg.norm(X, axis=1, keepdims=True), y, seed)


@pytest.fixture
def small_problem():
    """The first restart on three blobs."""
    return three_blobs("MNIST", 0)


@pytest.fixture
def small_problems(monkeypatch):
    """Blobs in place of each data set, in this process."""
    for module in (table3_runs, table3, homotopy):
        monkeypatch.setattr(module, "problem_of", three_blobs)
    monkeypatch.setattr(table3_runs, "_problem", three_blobs)
    for module in (table3, homotopy):
        monkeypatch.setattr(module, "effective_threads", lambda n: 1)
