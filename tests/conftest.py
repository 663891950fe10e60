from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from reference import random_affinity

from lapmodes.graph.laplacian import build_graph

# No test depends on time: a loaded machine may take as long as it needs for an example.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + 0.5 * rng.standard_normal((180, 2))
    return X, y


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    graph = build_graph(random_affinity(rng, 60, 0.1))
    B = rng.random((60, 4))
    return graph, B, np.full((60, 4), 0.25)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lapmodes():
    """Run the command line in this process."""
    from typer.testing import CliRunner

    from lapmodes.cli.app import app

    return lambda *words, **extra: CliRunner().invoke(app, [str(word) for word in words], **extra)


@pytest.fixture
def blobs_csv(here):
    """Two groups of 30 rows, with columns that cannot be clustered."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [0.3, 30] + np.repeat([[0, 0], [5, 500]], 30, axis=0)
    with open(here / "blobs.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "length", "weight", "kind", "constant"])
        writer.writerows([i + 1, *row, "ab"[i // 30], 7] for i, row in enumerate(X.round(4).tolist()))
    return here / "blobs.csv"


@pytest.fixture(scope="session")
def told_rows():
    """Three groups of 30 rows with four columns, for the report."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)) + np.repeat([[0, 0, 0, 0], [6, 0, 0, 0], [0, 6, 6, 0]], 30, axis=0)


@pytest.fixture(scope="session")
def told_model(told_rows):
    """The model that the report tells about."""
    from lapmodes import LaplacianKModes

    return LaplacianKModes(3, random_state=0, n_jobs=1).fit(told_rows)
