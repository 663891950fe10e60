"""The data of the map for the page's script: places, shares and values of the drawn rows, as small integers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .._rows import as_dense
from ..plotting import PALETTE
from ..plotting.layout import DRAWN, DRAWN_AS_THEY_ARE, Layout, Watch, choose_rows, lay_out
from .clusters import Portraits
from .content import NO_VALUE, ReportContent, other_values, row_name, value_range
from .markup import hex_colors

DENSE_ROWS = 1024
"""Rows of sparse assignments that are made dense together."""
GRID_STEPS = 65535
"""Coordinates are rounded to this many steps: finer than a screen."""
COLUMNS, SPARSE_COLUMNS = 60, 20
"""Most columns whose values the page holds."""
KNOTS = 256
"""Values are rounded between so many quantiles of their column, each in as many steps."""
MISSING = 65535
SHOWN = 8
"""Values of a row that are shown beside it."""
CATEGORIES = 12
"""Most values of a column that have a colour of their own."""
TERMS = 6
"""Of a sparse row, the largest entries that are shown."""
PIXELS = 1_000_000
"""Of all pictures on the map together; larger ones are made smaller."""
SIGNS = 400_000
"""Of all names and texts of rows together; longer ones are left out."""


def map_layouts(content: ReportContent, watch: Watch | None = None) -> tuple[Array, tuple[Layout, ...]]:
    """The rows to draw, and where."""
    points, modes = content.on_the_map
    most = DRAWN_AS_THEY_ARE if points.shape[1] <= 2 else DRAWN
    rows = choose_rows(content.model.labels_, most, np.asarray(content.model.exemplars_))
    return rows, lay_out(content.model, points, modes, content.features, rows, watch)


def payload(
    content: ReportContent, rows: Array, layouts: Sequence[Layout], portraits: Portraits, density: Array, entropy: Array
) -> dict[str, Any]:
    """What the script needs, as JSON."""
    first, second, weight = two_largest(content.model.assignments_[rows])
    index = "<u1" if content.n_clusters <= 256 else "<u2"
    columns, telling = value_columns(content, rows, portraits)
    return {
        "colors": hex_colors(content.n_clusters),
        "few": hex_colors(len(PALETTE)),
        "many": hex_colors(CATEGORIES),
        "sizes": portraits.sizes.tolist(),
        "called": list(content.names),
        "views": [view(each) for each in layouts],
        "wide": content.n_clusters > 256,
        "first": packed(first.astype(index)),
        "second": packed(second.astype(index)),
        "weight": packed(np.round(255 * weight).astype("<u1")),
        "density": packed(ranks(density)[rows]),
        "entropy": packed(np.round(255 * np.clip(entropy[rows], 0, 1)).astype("<u1")),
        "rows": None if len(rows) == content.n else packed(rows.astype("<u4")),
        "names": within_limit([row_name(content, int(row)) for row in rows]) if content.row_names is not None else None,
        "columns": columns,
        "telling": telling,
        "texts": row_texts(content, rows),
        "terms": terms_of(content, rows),
        "pictures": pictures_of(content, rows),
    }


def view(layout: Layout) -> dict[str, Any]:
    """A map: its places in steps between the lowest and the highest."""
    low, high = layout.positions.min(axis=0), layout.positions.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    steps = np.round((layout.positions - low) / span * GRID_STEPS).astype("<u2")
    return {
        "name": layout.name,
        "x": packed(steps[:, 0]),
        "y": packed(steps[:, 1]),
        "low": low.tolist(),
        "span": span.tolist(),
        "modes": np.asarray(layout.modes, dtype=float).round(6).tolist(),
        "axes": layout.axes,
    }


def packed(values: Array) -> str:
    """The bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def value_columns(
    content: ReportContent, rows: Array, portraits: Portraits
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The columns that a row may be coloured by, and for each cluster which of them tell most about it."""
    order = telling_columns(portraits)[: SPARSE_COLUMNS if issparse(content.rows) else COLUMNS]
    values = as_dense(content.rows[rows][:, order]) if order else np.empty((rows.size, 0))
    columns = [numbers(content.features[i], values[:, at]) for at, i in enumerate(order)]
    place = {i: at for at, i in enumerate(order)}
    telling = [[place[each.column] for each in traits if each.column in place][:SHOWN] for traits in portraits.traits]
    return columns + [
        texts(each, [given[row] for row in rows]) for each, given in content.described_by.items()
    ], telling


def telling_columns(portraits: Portraits) -> list[int]:
    """Columns that set any cluster apart, those of all clusters in turn, the most telling first."""
    longest = max(map(len, portraits.traits), default=0)
    in_turn = (traits[i].column for i in range(longest) for traits in portraits.traits if i < len(traits))
    return list(dict.fromkeys(in_turn))


def numbers(name: str, values: Array, *, used: bool = True) -> dict[str, Any]:
    """A column of numbers: few values as they are, others between quantiles; NaN is missing."""
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    distinct, codes = np.unique(values[known], return_inverse=True)
    column: dict[str, Any] = {"name": name, "used": used}
    if distinct.size <= KNOTS and known.all():
        return column | {"kind": "few", "values": short(distinct), "codes": packed(codes.astype("<u1"))}
    knots = np.quantile(values[known], np.linspace(0, 1, KNOTS + 1))
    steps = np.full(values.size, MISSING)
    steps[known] = between(values[known], knots)
    return column | {"kind": "many", "values": short(knots), "codes": packed(steps.astype("<u2"))}


def between(values: Array, knots: Array) -> Array:
    """Values as 256 times the quantile below, plus how far up to the next one they are, of 254."""
    below = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, KNOTS - 1)
    width = knots[below + 1] - knots[below]
    part = np.round(254 * (values - knots[below]) / np.where(width > 0, width, 1))
    return np.asarray(256 * below + np.clip(part, 0, 254).astype(np.int64))


def short(values: Array) -> list[float]:
    """Numbers with nine digits, and whole ones without a fraction."""
    rounded = [float(f"{value:.9g}") for value in values.tolist()]
    return [int(value) if value.is_integer() and abs(value) < 2**53 else value for value in rounded]


def texts(name: str, values: Sequence[str]) -> dict[str, Any]:
    """A column that was not used: numbers where all values are, else its commonest values."""
    parsed = as_numbers(values)
    if parsed is not None:
        return numbers(name, parsed, used=False)
    names, codes, counts = np.unique(np.asarray(values, dtype=str), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:255]
    place = np.full(names.size, order.size)
    place[order] = np.arange(order.size)
    return {
        "name": name,
        "used": False,
        "kind": "words",
        "values": [*(str(names[i]) for i in order), *(["other"] if names.size > order.size else [])],
        "codes": packed(place[codes].astype("<u1")),
    }


def as_numbers(values: Sequence[str]) -> Array | None:
    """Values as numbers, NaN where there is none; None if they are few, or if any is a word."""
    try:
        parsed = np.array([np.nan if value in ("", NO_VALUE) else float(value) for value in values])
    except ValueError:
        return None
    return parsed if np.unique(parsed[np.isfinite(parsed)]).size > CATEGORIES else None


def row_texts(content: ReportContent, rows: Array) -> dict[str, Any] | None:
    """The first two columns of text in the file whose values are too many for a colour: what a row is called there."""
    if content.describe is None or rows.size > DRAWN + 1000:
        return None
    chosen = [key for key, value in content.describe(0) if isinstance(value, str) and key not in content.described_by]
    kept = set(chosen[:2]) - set(content.features)
    if not kept:
        return None
    found = [[text for key, text in other_values(content, int(row)) if key in kept] for row in rows]
    lines = within_limit([" · ".join(each) for each in found])
    return None if lines is None else {"values": lines}


def within_limit(lines: list[str]) -> list[str] | None:
    """Lines, if they are not too much for a page."""
    return lines if sum(map(len, lines)) <= SIGNS else None


def terms_of(content: ReportContent, rows: Array) -> dict[str, Any] | None:
    """The largest entries of sparse rows: which, and their names."""
    if not issparse(content.rows) or content.image_shape is not None:
        return None
    some = content.rows[rows].tocsr()
    row = np.repeat(np.arange(rows.size), np.diff(some.indptr))
    order = np.lexsort((-some.data, row))
    rank = np.arange(row.size) - some.indptr[row]
    keep = (rank < TERMS) & (some.data[order] > 0)
    used, codes = np.unique(some.indices[order[keep]], return_inverse=True)
    table = np.zeros((rows.size, TERMS), dtype="<u2")
    table[row[keep], rank[keep]] = codes + 1
    return {"names": [content.features[i] for i in used], "table": packed(table)}


def pictures_of(content: ReportContent, rows: Array) -> dict[str, Any] | None:
    """The drawn rows as small grey pictures."""
    if content.image_shape is None:
        return None
    height, width = content.image_shape[:2]
    step = max(1, int(np.ceil(np.sqrt(rows.size * height * width / PIXELS))))
    low, high = value_range(content.rows)
    small = np.empty((rows.size, -(-height // step), -(-width // step)), dtype="<u1")
    for at, row in enumerate(rows):
        pixels = as_dense(content.rows[[row]]).reshape(content.image_shape).astype(np.float64)
        grey = pixels.mean(axis=2) if pixels.ndim == 3 else pixels
        small[at] = np.clip(np.round(255 * (averaged(grey, step) - low) / ((high - low) or 1)), 0, 255)
    return {"pixels": packed(small), "height": small.shape[1], "width": small.shape[2]}


def averaged(grey: Array, step: int) -> Array:
    """A picture with a pixel for each square of so many."""
    rows, columns = np.arange(0, grey.shape[0], step), np.arange(0, grey.shape[1], step)
    sums = np.add.reduceat(np.add.reduceat(grey, rows, axis=0), columns, axis=1)
    counts = np.outer(np.diff([*rows, grey.shape[0]]), np.diff([*columns, grey.shape[1]]))
    return np.asarray(sums / counts)


def two_largest(Z: Any) -> tuple[Array, Array, Array]:
    """The two largest clusters of each row, and the first one's share of the two."""
    if Z.shape[1] == 1:
        zero = np.zeros(Z.shape[0], dtype=int)
        return zero, zero, np.ones(Z.shape[0])
    if issparse(Z):
        pieces = [two_largest(Z[i : i + DENSE_ROWS].toarray()) for i in range(0, Z.shape[0], DENSE_ROWS)]
        first, second, share = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return first, second, share
    order = np.argpartition(-Z, 1, axis=1)[:, :2]
    pair = np.take_along_axis(Z, order, axis=1)
    swap = pair[:, 0] < pair[:, 1]
    order[swap], pair[swap] = order[swap][:, ::-1], pair[swap][:, ::-1]
    return order[:, 0], order[:, 1], pair[:, 0] / np.maximum(pair.sum(axis=1), np.finfo(float).tiny)


def ranks(values: Array) -> Array:
    """Each value's place among all, from 0 (lowest) to 255."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values))
    return np.round(255 * rank / max(len(values) - 1, 1)).astype("<u1")


def sample_rows(n: int, most: int) -> Array:
    """All rows, or a fixed random choice of so many, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
