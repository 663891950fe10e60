"""The number of clusters, where it is left to the data."""

from __future__ import annotations

import warnings
from typing import Any

from .. import Selection, select
from ..report.content import selection_rows
from ..report.payload import sample_rows

SAMPLE = 3000
"""Rows that the comparison looks at."""
IGNORED = ("n_clusters", "init", "path", "n_init")


def choose_n_clusters(model: Any, X: Any, graph: Any) -> Selection:
    """Compare numbers of clusters by :func:`lapmodes.select`, on at most 3,000 of the rows."""
    rows = sample_rows(X.shape[0], SAMPLE)
    if rows.size < 4:
        raise ValueError(f"-k auto needs at least 4 rows. Got {rows.size}.")
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in IGNORED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a number of clusters that does not suit is not the user's mistake
        return select(X[rows], graph=None if graph is None else graph[rows][:, rows], **parameters)


def table_lines(chosen: Selection) -> list[str]:
    """The comparison for the terminal, the chosen line marked."""
    names, compared = selection_rows(chosen)
    head = "  ".join(f"{name:>9}" for name in names)
    rows = [
        "  ".join(f"{value:>9.4g}" for value in row) + ("  *" if row[0] == chosen.n_clusters else "")
        for row in compared
    ]
    return [head, *rows]
