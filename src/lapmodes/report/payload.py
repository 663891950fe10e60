"""The data of the interactive charts: small integers in base64, drawn by the page's own script."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .colors import hex_colors
from .figures import Map, drawn_rows
from .story import Story

PIECE = 1024
"""Rows of sparse assignments that are looked at together."""
STEPS = 65535
"""Coordinates are rounded to this many steps: finer than a screen."""


def payload(story: Story, place: Map, density: Array, entropy: Array) -> dict[str, Any]:
    """What the script needs, as JSON."""
    model = story.model
    rows = drawn_rows(story.n)
    low, high = place.place.min(axis=0), place.place.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    quantised = np.round((place.place[rows] - low) / span * STEPS).astype("<u2")
    first, second, weight = two_largest(model.assignments_[rows])
    index = "<u1" if story.n_clusters <= 256 else "<u2"
    history = model.history_
    return {
        "colors": hex_colors(story.n_clusters),
        "low": low.tolist(),
        "span": span.tolist(),
        "x": packed(quantised[:, 0]),
        "y": packed(quantised[:, 1]),
        "first": packed(first.astype(index)),
        "second": packed(second.astype(index)),
        "weight": packed(np.round(255 * weight).astype("<u1")),
        "density": packed(ranks(density)[rows]),
        "entropy": packed(np.round(255 * np.clip(entropy[rows], 0, 1)).astype("<u1")),
        "rows": None if len(rows) == story.n else packed(rows.astype("<u4")),
        "wide": story.n_clusters > 256,
        "names": list(story.row_names) if story.row_names is not None and story.n <= 5000 else None,
        "modes": np.asarray(place.modes, dtype=float).round(6).tolist(),
        "axes": place.axes,
        "objective": history["objective"].tolist(),
        "gap": history["gap"].tolist(),
    }


def packed(values: Array) -> str:
    """The bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def two_largest(Z: Any) -> tuple[Array, Array, Array]:
    """The two largest clusters of each row, and the first one's share of the two."""
    if Z.shape[1] == 1:
        zero = np.zeros(Z.shape[0], dtype=int)
        return zero, zero, np.ones(Z.shape[0])
    if issparse(Z):
        pieces = [two_largest(Z[i : i + PIECE].toarray()) for i in range(0, Z.shape[0], PIECE)]
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
    place = np.empty(len(values))
    place[order] = np.arange(len(values))
    return np.round(255 * place / max(len(values) - 1, 1)).astype("<u1")
