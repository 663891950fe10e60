"""The rows that deserve a look: those between clusters, and outliers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._records import Array
from ..metrics import CHUNK_ENTRIES, outlier_scores
from ..plotting.style import columns_without_names
from .clusters import dense_row, describe, row_name, value_range
from .content import ReportContent
from .markup import badge, hex_colors, percent, picture, table
from .payload import two_largest

LISTED = 12
"""Rows in each list."""
SURE = 0.9
"""Share of a cluster from which a row counts as belonging to it."""
EXACT_STEPS = 10**10
"""Steps that the density of every row by every other may take: some seconds."""


def uncertain_rows(content: ReportContent, entropy: Array) -> str:
    """The rows whose assignment is most spread out."""
    rows = np.argsort(-entropy, kind="stable")[:LISTED]
    rows = rows[entropy[rows] > 0]
    if rows.size == 0:
        return "<p>Every row belongs to one cluster entirely.</p>"
    colors = hex_colors(content.n_clusters)
    first, second, _ = two_largest(content.model.assignments_[rows])
    Z = content.model.assignments_
    lines = [
        [
            escape(row_name(content, int(row))),
            f"{badge(int(a), colors[a])} {percent(float(Z[row, a]))}",
            f"{badge(int(b), colors[b])} {percent(float(Z[row, b]))}",
            row_values(content, int(row)),
        ]
        for row, a, b in zip(rows, first, second, strict=True)
    ]
    count = int((content.model.probabilities_ < SURE).sum())
    return (
        f"<p>{count:,} of {content.n:,} rows belong to no cluster to {SURE:.0%} or more. Look at these before you act "
        "on their cluster.</p>"
        + table("The least certain rows", ["row", "mostly", "also", "values"], lines, numeric=False)
    )


def outliers(content: ReportContent, density: Array) -> str:
    """The rows that fit their cluster least: the most remote of it, or torn between several."""
    score = training_score(content.model, content.points, density)
    rows = np.lexsort((density, -score))[:LISTED]
    colors = hex_colors(content.n_clusters)
    labels = content.model.labels_
    lines = [
        [
            escape(row_name(content, int(row))),
            badge(int(labels[row]), colors[labels[row]]),
            f"{score[row]:.3f}",
            row_values(content, int(row)),
        ]
        for row in rows
    ]
    return (
        "<p>These rows fit no cluster well. They may be mistakes in the data, or rare and interesting. They hardly "
        "pull on the modes, which sit where rows are dense. The score is 0 at the heart of a cluster; at 0.9, nine "
        "tenths of its cluster lie where it is denser, or the row is torn between clusters. Every cluster has a most "
        "remote row, so a score near 1 alone is no proof of a mistake.</p>"
        + table("The likeliest outliers", ["row", "cluster", "score", "values"], lines, numeric=False)
    )


def training_score(model: Any, points: Any, density: Array) -> Array:
    """``outlier_score`` of the rows of the fit; of many rows by their density among neighbours, not the exact one."""
    if hasattr(model, "density") and model.labels_.size**2 * points.shape[1] <= EXACT_STEPS:
        density = own_densities(model, points)
    return outlier_scores(model.assignments_, density)


def own_densities(model: Any, points: Any) -> Array:
    """Log density of each row of the fit in its own cluster, exactly."""
    own = np.empty(model.labels_.size)
    step = max(1, CHUNK_ENTRIES // model.n_clusters)
    with columns_without_names():
        for start in range(0, own.size, step):
            rows = slice(start, start + step)
            densities = model.density(points[rows], log=True)
            own[rows] = np.take_along_axis(densities, model.labels_[rows, None], axis=1)[:, 0]
    return own


def row_values(content: ReportContent, row: int) -> str:
    """A few values of a row in one cell."""
    if content.image_shape is not None:
        pixels, low_and_high = dense_row(content.rows, row), value_range(content.rows)
        return picture(pixels, content.image_shape, row_name(content, row), *low_and_high)
    return escape(", ".join(f"{name} {value}" for name, value in describe(content, row, 5)))
