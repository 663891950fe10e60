from __future__ import annotations

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from lapmodes.cli.app import app


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lapmodes():
    """Run the command line in this process."""
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
