"""The section on clusters: each with its size, its mode, what sets it apart, and a real row."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._records import Array
from .content import ReportContent
from .markup import badge, hex_colors, number, percent, picture

SHOWN = 8
TERMS = 12
TYPICAL = 6
CARDS = 60
"""Clusters that get a card each; the table of sizes has all."""


def cluster_cards(content: ReportContent, sizes: Array) -> str:
    """A card for each cluster."""
    colors = hex_colors(content.n_clusters)
    center, spread = location(content.rows)
    cards = [
        card(content, k, int(sizes[k]), colors[k], card_text(content, k, center, spread))
        for k in range(min(content.n_clusters, CARDS))
    ]
    more = (
        f"<p>Cards are shown for the first {CARDS} of {content.n_clusters} clusters.</p>"
        if content.n_clusters > CARDS
        else ""
    )
    return f'<div class="cards">{"".join(cards)}</div>{more}'


def card(content: ReportContent, k: int, size: int, color: str, text: str) -> str:
    """The frame of a card."""
    share = percent(size / content.n)
    rows = "row" if size == 1 else "rows"
    if size == 0:
        text = "<p>No row belongs to it: fewer clusters, or a smaller smoothness, would suit this data better.</p>"
    return (
        f'<article class="card" style="--own:{color}" aria-labelledby="cluster-{k}">'
        f'<h3 id="cluster-{k}">{badge(k, color)}</h3><p class="size">{size:,} {rows}, {share}</p>{text}</article>'
    )


def card_text(content: ReportContent, k: int, center: Array, spread: Array) -> str:
    """The mode as a picture, as terms or as a row, and the exemplar."""
    if content.image_shape is not None:
        return as_pictures(content, k)
    if issparse(content.rows) and content.named:
        return as_terms(content, k, center) + exemplar(content, k)
    return as_row(content, k, center, spread) + exemplar(content, k)


def as_pictures(content: ReportContent, k: int) -> str:
    """The mode and the rows nearest to it."""
    shape = content.image_shape
    assert shape is not None
    low, high = value_range(content.rows)
    mode = picture(content.modes[k], shape, f"Mode of cluster {k}", low, high)
    near = "".join(
        picture(dense_row(content.rows, row), shape, f"{row_name(content, row)}, near the mode", low, high)
        for row in typical_rows(content, k)
    )
    return (
        f'<div class="pictures"><figure>{mode}<figcaption>mode</figcaption></figure>'
        f"<figure><div>{near}</div><figcaption>rows nearest to it</figcaption></figure></div>"
    )


def as_terms(content: ReportContent, k: int, center: Array) -> str:
    """The columns that stand out in the mode."""
    lead = content.modes[k] - center
    best = [int(i) for i in np.argsort(-lead)[:TERMS] if lead[i] > 0]
    items = "".join(f"<li>{escape(content.features[i])}</li>" for i in best)
    return f'<p>What its mode has more of than the average row:</p><ul class="terms">{items}</ul>'


def as_row(content: ReportContent, k: int, center: Array, spread: Array) -> str:
    """The mode's values beside those of the average row, the most unusual first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(spread > 0, (content.modes[k] - center) / spread, 0.0)
    order = [int(i) for i in np.argsort(-np.abs(lead), kind="stable")]
    first = rows_of_mode(content, k, center, lead, order[:SHOWN])
    rest = order[SHOWN : SHOWN + 200]
    more = ""
    if rest:
        inner = rows_of_mode(content, k, center, lead, rest)
        more = f"<details><summary>{len(order) - SHOWN:,} more columns</summary>{mode_table(inner)}</details>"
    return mode_table(first) + more


def mode_table(rows: str) -> str:
    """The frame of the mode's values."""
    return (
        '<table class="mode"><thead><tr><th scope="col">column</th><th scope="col">mode</th>'
        f'<th scope="col">average</th><th scope="col">compared</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def rows_of_mode(content: ReportContent, k: int, center: Array, lead: Array, columns: list[int]) -> str:
    """A line for each column, with a bar for how far the mode is from the average in standard deviations."""
    lines = []
    for i in columns:
        width = min(abs(float(lead[i])) / 3, 1) * 50
        side = "right" if lead[i] >= 0 else "left"
        label = f"{abs(lead[i]):.1f} standard deviations {'above' if lead[i] >= 0 else 'below'} average"
        lines.append(
            f'<tr><th scope="row">{escape(content.features[i])}</th><td>{number(float(content.modes[k, i]))}</td>'
            f"<td>{number(float(center[i]))}</td>"
            f'<td><span class="lean {side}" role="img" aria-label="{label}" title="{label}">'
            f'<i style="width:{width:.0f}%"></i></span></td></tr>'
        )
    return "".join(lines)


def exemplar(content: ReportContent, k: int) -> str:
    """The real row nearest to the mode."""
    row = int(content.model.exemplars_[k])
    values = describe(content, row, 12)
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in values)
    return f"<details><summary>A typical row: {escape(row_name(content, row))}</summary><dl>{cells}</dl></details>"


def describe(content: ReportContent, row: int, most: int) -> list[tuple[str, str]]:
    """Names and values of a row; of a sparse one its largest entries."""
    if content.describe is not None:
        return [(name, number(value)) for name, value in content.describe(row)[:most]]
    values = dense_row(content.rows, row)
    order = np.argsort(-values)[:most] if issparse(content.rows) else np.arange(len(values))[:most]
    return [(content.features[i], number(float(values[i]))) for i in order if values[i] or not issparse(content.rows)]


def row_name(content: ReportContent, row: int) -> str:
    """How a row is called: its name if it has one, else its number from 1."""
    return content.row_names[row] if content.row_names is not None else f"row {row + 1:,}"


def typical_rows(content: ReportContent, k: int) -> list[int]:
    """The rows of a cluster nearest to its mode."""
    members = np.flatnonzero(content.model.labels_ == k)
    members = members[: 20_000 // max(1, content.modes.shape[1] // 1000 + 1)]
    if members.size == 0:
        return []
    difference = np.asarray(dense_rows(content.points, members)) - content.model.cluster_centers_[k]
    order = np.argsort(np.einsum("nd,nd->n", difference, difference), kind="stable")
    return [int(row) for row in members[order[:TYPICAL]]]


def location(rows: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of each column."""
    if issparse(rows):
        mean, variance = mean_variance_axis(rows.tocsr(), axis=0)
        return mean.astype(np.float64), np.sqrt(variance.astype(np.float64))
    return rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)


def value_range(rows: Any) -> tuple[float, float]:
    """Lowest and highest value of all."""
    return (0.0, float(rows.max())) if issparse(rows) else (float(rows.min()), float(rows.max()))


def dense_row(rows: Any, row: int) -> Array:
    """One row as numbers."""
    return np.asarray(dense_rows(rows, np.array([row]))[0], dtype=np.float64)


def dense_rows(rows: Any, chosen: Array) -> Array:
    """Some rows as a dense array."""
    part = rows[chosen]
    return np.asarray(part.toarray() if issparse(part) else part)
