"""Checks on real data; they need LAPMODES_DATA and minutes (make slow)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import errors

from lapmodes import fit_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("LAPMODES_DATA" not in os.environ, reason="LAPMODES_DATA is not set"),
]


def test_all_of_mnist():
    script = Path(__file__).parent.parent / "benchmarks" / "mnist70k.py"
    run = subprocess.run([sys.executable, str(script), "--quiet"], capture_output=True, text=True, check=True)
    result = json.loads(run.stdout)
    assert result["accuracy"] >= 0.70
    assert result["nmi_max"] >= 0.72
    assert result["bytes_beyond_data_and_graph_per_point_and_cluster"] <= 64


def test_the_authors_two_moons():
    with np.load(Path(os.environ["LAPMODES_DATA"]) / "two_moons.npz") as data:
        X, y = data["X"].astype(float), data["y"].ravel().astype(int)
    widths = np.geomspace(5, 0.1, 10)
    *_, model = fit_path(
        X, 2, lam=1.0, bandwidth=widths, affinity="heat", n_neighbors=5, init="k-means", random_state=0
    )
    assert errors(y[y < 2], model.labels_[y < 2]) == 0
    distance = np.linalg.norm(model.cluster_centers_[:, None] - X[None, y < 2], axis=2)
    assert sorted(y[y < 2][distance.argmin(axis=1)]) == [0, 1]
