"""Where rows lie on the map, and pictures of very many of them at any zoom."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from .. import _native
from .._persistence import atomic_write
from .._records import Array
from .._rows import as_dense
from ..plotting.layout import (
    FEWEST,
    choose_rows,
    place_neighbors,
    principal_axes,
)
from ..report.payload import sample_rows

DRAWN = 200_000
"""Rows that a browser draws itself; more are pictures made here."""
EMBEDDED = 60_000
"""Rows that t-SNE places; further ones lie among their neighbours."""
MANY_NUMBERS, SAMPLED = 10**7, 4000
"""Of data with more numbers than this, so many rows decide the principal directions."""
SPREAD_ROUNDS = 30
"""Steps along edges in which places reach rows that were not placed."""
SHEET = 2048
"""Pixels along each side of the finest picture of a whole map."""
CELLS = 1024
"""Cells along each side that rows are sorted into, at most."""
FAINTEST = 0.35
"""Opacity of a pixel with one row beside others with many."""
CODES = 65536
"""Colours that a picture may have."""
LARGEST_PICTURE = 2048
EDGE = 1e-6
"""Room around the outermost rows, as a share of the map."""

Watch = Callable[[str, int, int, str], Any]


@dataclass(frozen=True)
class View:
    """The rows in the plane."""

    key: str
    """'components', 'neighbours', or 'columns:3,5'."""
    positions: Array
    """(n_rows, 2), float32."""
    axes: tuple[str, str]
    """What runs along each axis; empty where that has no meaning."""
    to_plane: Callable[[Array], Array] | None
    """Places of modes (as the model sees them); None where only rows have places."""
    caption: str

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest place, a little apart."""
        low, high = self.positions.min(axis=0).astype(float), self.positions.max(axis=0).astype(float)
        room = np.maximum((high - low) * EDGE, np.where(high > low, 0, 0.5))
        return low - room, high + room

    @cached_property
    def plane(self) -> Plane:
        """The rows, sorted into cells."""
        return Plane.of(self.positions, *self.bounds)


def columns_view(rows: Any, columns: tuple[int, int], features: Sequence[str], in_units: Any) -> View:
    """Two columns in their own units; where it is the same column twice, rows are spread up and down at random."""
    i, j = columns
    places = as_dense(rows[:, [i, j]]).astype(np.float32)
    if i == j:
        places[:, 1] = np.random.default_rng(0).random(len(places))
    caption = f"The columns {features[i]} and {features[j]}." if i != j else f"The column {features[i]}."

    def to_plane(modes: Array) -> Array:
        at = np.asarray(in_units(modes))[:, [i, j]]
        return np.column_stack([at[:, 0], np.full(len(at), 0.5)]) if i == j else at

    return View(f"columns:{i},{j}", places, (features[i], features[j] if i != j else ""), to_plane, caption)


def components_view(points: Any) -> View:
    """The two directions in which rows differ most, by a sample where there are many numbers."""
    n, d = points.shape
    principal = principal_axes(points if n * d <= MANY_NUMBERS else points[sample_rows(n, SAMPLED)])
    share = 100 * float(principal.shares.sum())
    caption = f"The two directions in which rows differ most; they show {share:.0f}\u202f% of all differences."
    quick = replace(principal, axes=principal.axes.astype(points.dtype))
    places = np.asarray(quick.project(points), dtype=np.float32)
    return View("components", places, ("first direction", "second direction"), principal.project, caption)


def neighbours_view(model: Any, points: Any, start: Array, watch: Watch | None = None) -> View:
    """t-SNE on the model's graph: of all rows, or of some, among which the others lie."""
    rows = choose_rows(np.asarray(model.labels_), EMBEDDED, np.asarray(model.exemplars_))
    placed, method = place_neighbors(model.graph_, points, rows, start[rows].astype(np.float64), watch)
    if rows.size < model.labels_.size:
        placed = spread_places(model.graph_, rows, placed, start)
    return neighbours_of(placed, method)


def neighbours_of(places: Array, method: str) -> View:
    """The view of places that were computed."""
    beside = f"Rows that are neighbours in the model's graph lie side by side ({method})."
    caption = f"{beside} The distance between groups means little."
    return View("neighbours", np.asarray(places, dtype=np.float32), ("", ""), None, caption)


def can_embed(n: int) -> bool:
    """Whether there are enough rows for a map by neighbours."""
    return n >= FEWEST


def spread_places(graph: Any, rows: Array, placed: Array, start: Array) -> Array:
    """Places of all rows: those that have none lie at the mean of their neighbours, round by round."""
    n = graph.shape[0]
    total = np.asarray(graph.sum(axis=1)).ravel()
    step = csr_array(diags_array(1 / np.where(total > 0, total, 1)) @ graph)
    places, known = np.zeros((n, 2)), np.zeros(n)
    places[rows], known[rows] = placed, 1
    for _ in range(SPREAD_ROUNDS):
        reached = step @ known
        new = (known == 0) & (reached > 0)
        if not new.any():
            break
        places[new] = (step[new] @ (places * known[:, None])) / reached[new, None]
        known[new] = 1
    lost = known == 0  # parts of the graph without a placed row
    places[lost] = start[lost] / max(float(np.abs(start).max()), 1e-12) * np.abs(placed).max()
    return places


def save_places(file: Path, view: View, fingerprint: str) -> None:
    """Keep places that took long to compute."""
    header = json.dumps({"base": fingerprint, "caption": view.caption})
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as stream:
        np.savez(stream, allow_pickle=False, header=np.asarray(header), positions=view.positions)


def load_places(file: Path, n: int, fingerprint: str) -> View | None:
    """The view that was kept, if it is of the same fit."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            header, positions = json.loads(str(stored["header"])), stored["positions"]
        if header["base"] != fingerprint or positions.shape != (n, 2) or not np.isfinite(positions).all():
            return None
        return View("neighbours", positions.astype(np.float32), ("", ""), None, str(header["caption"]))
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


@dataclass(frozen=True)
class Plane:
    """Points sorted into the cells of a grid, line by line from the top."""

    xy: Array
    order: Array
    """The row of each point."""
    starts: Array
    """Where the points of each cell begin."""
    side: int
    low: Array
    high: Array

    @staticmethod
    def of(positions: Array, low: Array, high: Array) -> Plane:
        """Sort points; cells hold some ten of them on average."""
        side = int(np.clip(2 ** np.round(np.log2(np.sqrt(len(positions) / 10) + 1)), 4, CELLS))
        place = (positions - low.astype(np.float32)) * (side / (high - low)).astype(np.float32)
        column = np.clip(place[:, 0].astype(np.int32), 0, side - 1)
        line = np.clip(side - 1 - place[:, 1].astype(np.int32), 0, side - 1)
        cell = line * side + column
        order = np.argsort(cell, kind="stable").astype(np.int32)
        starts = np.zeros(side * side + 1, dtype=np.int64)
        np.cumsum(np.bincount(cell, minlength=side * side), out=starts[1:])
        return Plane(np.ascontiguousarray(positions[order]), order, starts, side, low, high)

    def ranges(self, window: tuple[float, float, float, float]) -> Array:
        """Where the points of the cells that touch a window (left, right, bottom, top) are, line by line."""
        left, right, bottom, top = window
        scale = self.side / (self.high - self.low)
        first, last = (int(np.clip((x - self.low[0]) * scale[0], 0, self.side - 1)) for x in (left, right))
        highest, lowest = (int(np.clip((self.high[1] - y) * scale[1], 0, self.side - 1)) for y in (top, bottom))
        # A cell more on each side: rounding may put a point into the next one.
        first, last = max(0, first - 1), min(self.side - 1, last + 1)
        lines = np.arange(max(0, highest - 1), min(self.side - 1, lowest + 1) + 1) * self.side
        return np.column_stack([self.starts[lines + first], self.starts[lines + last + 1]])

    def points_in(self, window: tuple[float, float, float, float]) -> Array:
        """Places in the sorted order of the points inside a window."""
        found = [np.arange(begin, end) for begin, end in self.ranges(window) if end > begin]
        at = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        x, y = self.xy[at].T
        left, right, bottom, top = window
        return at[(x >= left) & (x <= right) & (y >= bottom) & (y <= top)]

    def nearest(self, x: float, y: float, reach: tuple[float, float]) -> int:
        """The row nearest to a place, within so much across and up; -1 if there is none."""
        at = self.points_in((x - reach[0], x + reach[0], y - reach[1], y + reach[1]))
        if at.size == 0:
            return -1
        apart = (self.xy[at] - [x, y]) / reach
        return int(self.order[at[np.einsum("nd,nd->n", apart, apart).argmin()]])

    def inside(self, polygon: Array) -> Array:
        """The rows inside a closed polygon, by the even-odd rule."""
        (left, bottom), (right, top) = polygon.min(axis=0), polygon.max(axis=0)
        at = self.points_in((left, right, bottom, top))
        x, y = self.xy[at].T.astype(np.float64)
        odd = np.zeros(at.size, dtype=bool)
        for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
            if y1 != y2:
                odd ^= ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        return np.sort(self.order[at[odd]])


class Sheet:
    """All points of a plane counted with their colours at several resolutions, each half the one before."""

    def __init__(self, plane: Plane, codes: Array, palette: Array) -> None:
        self.plane, self.palette = plane, palette
        self.codes = codes[plane.order]
        window = (plane.low[0], plane.high[0], plane.low[1], plane.high[1])
        everything = np.array([[0, len(plane.xy)]], dtype=np.int64)
        self.levels = [self._count(everything, window, (SHEET, SHEET), 1)[0]]
        while self.levels[-1].shape[0] > 64:
            finer = self.levels[-1]
            half = np.empty((finer.shape[0] // 2, finer.shape[1] // 2, 4), dtype=np.uint32)
            _native.halve_pixels(finer, half)
            self.levels.append(half)

    def _count(self, ranges: Array, window: Sequence[float], size: tuple[int, int], dot: int) -> tuple[Array, int]:
        left, right, bottom, top = map(float, window)
        sums = np.zeros((size[1], size[0], 4), dtype=np.uint32)
        across, down = size[0] / (right - left), size[1] / (top - bottom)
        seen = _native.add_pixels(self.plane.xy, self.codes, self.palette, ranges, left, top, across, down, dot, sums)
        return sums, seen

    def picture(self, window: tuple[float, float, float, float], size: tuple[int, int]) -> tuple[Array, list[float]]:
        """(pixels (height, width, 4), the window they show): about as fine as asked for, cut along pixels."""
        left, right, bottom, top = window
        plane = self.plane
        share = (right - left) / (plane.high[0] - plane.low[0]), (top - bottom) / (plane.high[1] - plane.low[1])
        if SHEET * min(share) < min(size):
            return self._close_up(window, size)
        fine = max(SHEET * share[0] / size[0], SHEET * share[1] / size[1])
        level = int(np.clip(np.floor(np.log2(max(fine, 1))), 0, len(self.levels) - 1))
        sums = self.levels[level]
        cell = (plane.high - plane.low) / sums.shape[0]
        first, last = (
            np.clip(
                [int(np.floor((x - plane.low[0]) / cell[0])), int(np.floor((plane.high[1] - y) / cell[1]))],
                0,
                len(sums),
            )
            for x, y in ((left, top), (right + cell[0], bottom - cell[1]))
        )
        columns, lines = np.maximum(last - first, 1)
        first = np.minimum(first, [len(sums) - columns, len(sums) - lines])
        pixels = np.empty((lines, columns, 4), dtype=np.uint8)
        _native.shade_pixels(sums, int(first[1]), int(first[0]), FAINTEST, pixels)
        shown_left, shown_top = plane.low[0] + first[0] * cell[0], plane.high[1] - first[1] * cell[1]
        return pixels, [shown_left, shown_left + columns * cell[0], shown_top - lines * cell[1], shown_top]

    def _close_up(self, window: tuple[float, float, float, float], size: tuple[int, int]) -> tuple[Array, list[float]]:
        """Closer than the finest level: the points themselves, the fewer the larger."""
        ranges = self.plane.ranges(window)
        about = int((ranges[:, 1] - ranges[:, 0]).sum())
        dot = 1 if about > 200_000 else 2 if about > 50_000 else 3 if about > 10_000 else 5
        sums, _ = self._count(ranges, window, size, dot)
        pixels = np.empty((*sums.shape[:2], 4), dtype=np.uint8)
        _native.shade_pixels(sums, 0, 0, FAINTEST if dot < 3 else 0.8, pixels)
        return pixels, list(window)
