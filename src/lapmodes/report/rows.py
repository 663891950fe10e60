"""The rows that deserve a look: those between clusters, and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._records import Array
from ..metrics import outlier_scores
from ..plotting.style import columns_without_names
from .clusters import Portraits
from .content import ReportContent, dense_row, other_values, row_name, used_values, value_range
from .markup import badge, name, percent, picture, table
from .payload import two_largest

LISTED = 10
"""Rows in each list."""
USED, NOT_USED = 5, 3
"""Values of a row that are shown, of columns that were used and of others."""
SURE = 0.9
"""Share of a cluster from which a row counts as belonging to it."""
FAR = 0.99, 0.999
"""Scores above which rows are counted."""
EXACT_STEPS = 10**10
"""Steps that a search for the neighbours of every row among all may take: some seconds."""


def uncertain_rows(content: ReportContent, portraits: Portraits, entropy: Array) -> str:
    """The rows whose assignment is most spread out, with the columns that tell their two clusters apart."""
    rows = np.argsort(-entropy, kind="stable")[:LISTED]
    rows = rows[entropy[rows] > 0]
    if rows.size == 0:
        return "<p>Every row belongs to one cluster entirely.</p>"
    Z, found = content.model.assignments_, portraits.profile
    lines = []
    for row, a, b in zip(rows.tolist(), *two_largest(Z[rows])[:2], strict=True):
        apart = None if found is None else np.abs(found.inside[a, 1] - found.inside[b, 1]) / found.spread
        lines.append(
            [
                name(row_name(content, row)),
                share_of(int(a), float(Z[row, a]), content.names),
                share_of(int(b), float(Z[row, b]), content.names),
                row_values(content, row, apart),
            ]
        )
    count = int((content.model.probabilities_ < SURE).sum())
    return (
        f"<p>{count:,} of {content.n:,} rows belong to no cluster to {percent(SURE)} or more. Look at these before you "
        "act on their cluster.</p>"
        + table("The least certain rows", ["row", "mostly", "also", "values"], lines, kind="list")
    )


def share_of(k: int, share: float, names: Sequence[str] = ()) -> str:
    """A cluster and how much of a row belongs to it."""
    return f"<span>{badge(k, names)} {percent(share)}</span>"


def outliers(content: ReportContent, portraits: Portraits, density: Array) -> str:
    """The rows that fit their cluster least, with the columns in which they differ most from it."""
    score = training_score(content.model, content.points, density)
    found, lines = portraits.profile, []
    for row in np.lexsort((density, -score))[:LISTED].tolist():
        k = int(content.model.labels_[row])
        apart = None if found is None else np.abs(dense_row(content.rows, row) - found.inside[k, 1]) / found.spread
        own = badge(k, content.names)
        lines.append([name(row_name(content, row)), own, score_text(score[row]), row_values(content, row, apart)])
    far = [int((score > limit).sum()) for limit in FAR]
    return (
        "<p>These rows fit no cluster well. They may be mistakes in the data, or rare and interesting. They hardly "
        "pull on the modes, which sit where rows are dense. The score is the share of a cluster's members that lie "
        "less far out than the row, by a smooth model of their distances from their neighbours: 0.5 for the median "
        "member, 0.99 for one of a hundred, in every cluster alike. "
        f"{far[0]:,} of {content.n:,} rows score above {FAR[0]}, where one of a hundred members is expected, and "
        f"{far[1]:,} above {FAR[1]}, where fewer than one of a thousand is.</p>"
        + table("The likeliest outliers", ["row", "cluster", "score", "values"], lines, kind="list")
    )


def training_score(model: Any, points: Any, density: Array) -> Array:
    """``outlier_score`` of the rows of the fit; of many rows by their density among neighbours in the graph."""
    if model.graph_given_ or model.labels_.size**2 * points.shape[1] > EXACT_STEPS:
        return outlier_scores(model.assignments_, density)
    with columns_without_names():
        return np.asarray(model.outlier_score(points))


def score_text(score: float) -> str:
    """A score with as many digits as tell it from 1."""
    return f"{score:.3f}" if score < FAR[1] else f"{np.floor(score * 1e6) / 1e6:.6f}"


def row_values(content: ReportContent, row: int, apart: Array | None) -> str:
    """A few values of a row in one cell: of columns that were not used, and of those that are most apart."""
    if content.image_shape is not None:
        pixels, low_and_high = dense_row(content.rows, row), value_range(content.rows)
        return picture(pixels, content.image_shape, row_name(content, row), *low_and_high)
    columns: Sequence[int] | None = None if apart is None else np.argsort(-apart, kind="stable")[:USED].tolist()
    pairs = [*other_values(content, row)[:NOT_USED], *used_values(content, row, columns)[:USED]]
    return (
        f'<span class="facts">{"".join(f"<span><b>{name(key)}</b> {name(text)}</span> " for key, text in pairs)}</span>'
    )
