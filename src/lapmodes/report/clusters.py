"""The section on clusters: each with its size, its mode, what sets it apart, and a real row."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._records import Array
from .colors import hex_colors
from .story import Story
from .words import badge, number, percent, picture

SHOWN = 8
TERMS = 12
TYPICAL = 6
CARDS = 60
"""Clusters that get a card each; the table of sizes has all."""


def cluster_cards(story: Story, sizes: Array) -> str:
    """A card for each cluster."""
    colors = hex_colors(story.n_clusters)
    center, spread = location(story.rows)
    cards = [
        card(story, k, int(sizes[k]), colors[k], body(story, k, center, spread))
        for k in range(min(story.n_clusters, CARDS))
    ]
    more = (
        f"<p>Cards are shown for the first {CARDS} of {story.n_clusters} clusters.</p>"
        if story.n_clusters > CARDS
        else ""
    )
    return f'<div class="cards">{"".join(cards)}</div>{more}'


def card(story: Story, k: int, size: int, color: str, content: str) -> str:
    """The frame of a card."""
    share = percent(size / story.n)
    rows = "row" if size == 1 else "rows"
    if size == 0:
        content = "<p>No row belongs to it: fewer clusters, or a smaller smoothness, would suit this data better.</p>"
    return (
        f'<article class="card" style="--own:{color}" aria-labelledby="cluster-{k}">'
        f'<h3 id="cluster-{k}">{badge(k, color)}</h3><p class="size">{size:,} {rows}, {share}</p>{content}</article>'
    )


def body(story: Story, k: int, center: Array, spread: Array) -> str:
    """The mode as a picture, as terms or as a row, and the exemplar."""
    if story.image_shape is not None:
        return as_pictures(story, k)
    if issparse(story.rows) and story.named:
        return as_terms(story, k, center) + exemplar(story, k)
    return as_row(story, k, center, spread) + exemplar(story, k)


def as_pictures(story: Story, k: int) -> str:
    """The mode and the rows nearest to it."""
    shape = story.image_shape
    assert shape is not None
    low, high = value_range(story.rows)
    mode = picture(story.modes[k], shape, f"Mode of cluster {k}", low, high)
    near = "".join(
        picture(dense_row(story.rows, row), shape, f"{row_name(story, row)}, near the mode", low, high)
        for row in typical_rows(story, k)
    )
    return (
        f'<div class="pictures"><figure>{mode}<figcaption>mode</figcaption></figure>'
        f"<figure><div>{near}</div><figcaption>rows nearest to it</figcaption></figure></div>"
    )


def as_terms(story: Story, k: int, center: Array) -> str:
    """The columns that stand out in the mode."""
    lead = story.modes[k] - center
    best = [int(i) for i in np.argsort(-lead)[:TERMS] if lead[i] > 0]
    items = "".join(f"<li>{escape(story.features[i])}</li>" for i in best)
    return f'<p>What its mode has more of than the average row:</p><ul class="terms">{items}</ul>'


def as_row(story: Story, k: int, center: Array, spread: Array) -> str:
    """The mode's values beside those of the average row, the most unusual first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(spread > 0, (story.modes[k] - center) / spread, 0.0)
    order = [int(i) for i in np.argsort(-np.abs(lead), kind="stable")]
    first = rows_of_mode(story, k, center, lead, order[:SHOWN])
    rest = order[SHOWN : SHOWN + 200]
    more = ""
    if rest:
        inner = rows_of_mode(story, k, center, lead, rest)
        more = f"<details><summary>{len(order) - SHOWN:,} more columns</summary>{mode_table(inner)}</details>"
    return mode_table(first) + more


def mode_table(rows: str) -> str:
    """The frame of the mode's values."""
    return (
        '<table class="mode"><thead><tr><th scope="col">column</th><th scope="col">mode</th>'
        f'<th scope="col">average</th><th scope="col">compared</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def rows_of_mode(story: Story, k: int, center: Array, lead: Array, columns: list[int]) -> str:
    """A line for each column, with a bar for how far the mode is from the average in standard deviations."""
    lines = []
    for i in columns:
        width = min(abs(float(lead[i])) / 3, 1) * 50
        side = "right" if lead[i] >= 0 else "left"
        label = f"{abs(lead[i]):.1f} standard deviations {'above' if lead[i] >= 0 else 'below'} average"
        lines.append(
            f'<tr><th scope="row">{escape(story.features[i])}</th><td>{number(float(story.modes[k, i]))}</td>'
            f"<td>{number(float(center[i]))}</td>"
            f'<td><span class="lean {side}" role="img" aria-label="{label}" title="{label}">'
            f'<i style="width:{width:.0f}%"></i></span></td></tr>'
        )
    return "".join(lines)


def exemplar(story: Story, k: int) -> str:
    """The real row nearest to the mode."""
    row = int(story.model.exemplars_[k])
    values = describe(story, row, 12)
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in values)
    return f"<details><summary>A typical row: {escape(row_name(story, row))}</summary><dl>{cells}</dl></details>"


def describe(story: Story, row: int, most: int) -> list[tuple[str, str]]:
    """Names and values of a row; of a sparse one its largest entries."""
    if story.describe is not None:
        return [(name, number(value)) for name, value in story.describe(row)[:most]]
    values = dense_row(story.rows, row)
    order = np.argsort(-values)[:most] if issparse(story.rows) else np.arange(len(values))[:most]
    return [(story.features[i], number(float(values[i]))) for i in order if values[i] or not issparse(story.rows)]


def row_name(story: Story, row: int) -> str:
    """How a row is called: its name if it has one, else its number from 1."""
    return story.row_names[row] if story.row_names is not None else f"row {row + 1:,}"


def typical_rows(story: Story, k: int) -> list[int]:
    """The rows of a cluster nearest to its mode."""
    members = np.flatnonzero(story.model.labels_ == k)
    members = members[: 20_000 // max(1, story.modes.shape[1] // 1000 + 1)]
    if members.size == 0:
        return []
    difference = np.asarray(dense_rows(story.points, members)) - story.model.cluster_centers_[k]
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
