"""The rows that deserve a look: those between clusters, and outliers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._predict import outlier_scores, own_densities
from .._records import Array
from .._rows import largest_values
from .._settings import effective_threads
from .._validation import canonical, unit_rows
from .clusters import dense_row, describe, row_name, value_range
from .colors import hex_colors
from .payload import two_largest
from .story import Story
from .words import badge, percent, picture, table

LISTED = 12
"""Rows in each list."""
SURE = 0.9
"""Share of a cluster from which a row counts as belonging to it."""
EXACT = 10**10
"""Steps that the density of every row by every other may take: some seconds."""


def uncertain_rows(story: Story, entropy: Array) -> str:
    """The rows whose assignment is most spread out."""
    rows = np.argsort(-entropy, kind="stable")[:LISTED]
    rows = rows[entropy[rows] > 0]
    if rows.size == 0:
        return "<p>Every row belongs to one cluster entirely.</p>"
    colors = hex_colors(story.n_clusters)
    first, second, _ = two_largest(story.model.assignments_[rows])
    Z = story.model.assignments_
    lines = [
        [
            escape(row_name(story, int(row))),
            f"{badge(int(a), colors[a])} {percent(float(Z[row, a]))}",
            f"{badge(int(b), colors[b])} {percent(float(Z[row, b]))}",
            row_values(story, int(row)),
        ]
        for row, a, b in zip(rows, first, second, strict=True)
    ]
    count = int((largest_values(Z) < SURE).sum())
    return (
        f"<p>{count:,} of {story.n:,} rows belong to no cluster to {SURE:.0%} or more. Look at these before you act on "
        "their cluster.</p>"
        + table("The least certain rows", ["row", "mostly", "also", "values"], lines, numeric=False)
    )


def outliers(story: Story, density: Array) -> str:
    """The rows that fit their cluster least: the most remote of it, or torn between several."""
    score = training_score(story.model, story.points, density)
    rows = np.lexsort((density, -score))[:LISTED]
    colors = hex_colors(story.n_clusters)
    labels = story.model.labels_
    lines = [
        [
            escape(row_name(story, int(row))),
            badge(int(labels[row]), colors[labels[row]]),
            f"{score[row]:.3f}",
            row_values(story, int(row)),
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
    labels, own = model.labels_, density
    if hasattr(model, "outlier_score") and labels.size**2 * points.shape[1] <= EXACT:
        X = canonical(points) if issparse(points) else np.ascontiguousarray(points)
        X = unit_rows(X) if model._trained.metric == "cosine" else X
        own = own_densities(model._trained, X, labels, effective_threads(model.n_jobs))
    members = [np.sort(own[labels == k]) for k in range(model.n_clusters)]
    return outlier_scores(members, model.assignments_, own)


def row_values(story: Story, row: int) -> str:
    """A few values of a row in one cell."""
    if story.image_shape is not None:
        return picture(dense_row(story.rows, row), story.image_shape, row_name(story, row), *value_range(story.rows))
    return escape(", ".join(f"{name} {value}" for name, value in describe(story, row, 5)))
