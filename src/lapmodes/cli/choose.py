"""The number of clusters, where it is left to the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import select
from .._records import Array
from ..report.story import Selection

SAMPLE = 3000
"""Rows that the comparison looks at."""
IGNORED = ("n_clusters", "init", "path", "n_init")
WHY = "it is the largest number on which unlike ways of clustering agree best"


def choose_n_clusters(model: Any, X: Any, graph: Any) -> Selection:
    """Compare numbers of clusters by :func:`lapmodes.select`, on at most 3,000 of the rows."""
    rows = sample_rows(X.shape[0])
    if rows.size < 4:
        raise ValueError(f"-k auto needs at least 4 rows. Got {rows.size}.")
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in IGNORED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a number of clusters that does not suit is not the user's mistake
        found = select(X[rows], graph=None if graph is None else graph[rows][:, rows], **parameters)
    names = ("smallest", *(name for name in reversed(list(found.preferred)) if name != "agreement"), "agreement")
    lines = tuple((int(line["n_clusters"]), *(line[name].item() for name in names)) for line in found.table)
    return Selection(found.n_clusters, ("clusters", *names), lines, f"{WHY} ({said(found)})")


def table_lines(chosen: Selection) -> list[str]:
    """The comparison for the terminal, the chosen line marked."""
    head = "  ".join(f"{name:>9}" for name in chosen.header)
    rows = [
        "  ".join(f"{value:>9.4g}" for value in row) + ("  *" if row[0] == chosen.n_clusters else "")
        for row in chosen.rows
    ]
    return [head, *rows]


def said(found: Any) -> str:
    """What each criterion would take by itself."""
    return ", ".join(f"{name} says {k}" for name, k in found.preferred.items())


def sample_rows(n: int) -> Array:
    """All rows, or a fixed random choice of them in order."""
    if n <= SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
