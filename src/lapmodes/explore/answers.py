"""What a page may ask for: places, shares, columns, rows, pictures of many rows, tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import __version__
from .._records import Array
from .acts import BadMessageError
from .describe import mode_places, review, row_shares
from .maps import DRAWN, LARGEST_PICTURE, View
from .states import State
from .study import PAGE
from .worker import Explorer

MOST_CORNERS = 10_000
"""Of a lasso."""

Answer = tuple[bytes, str, dict[str, str]]
"""The body, its kind, and further headers."""


class NotThereError(LookupError):
    """What was asked for does not exist, or no longer."""


class Answers:
    """What a page may ask for: each public method is a question, with the query as its argument."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer, self.study = explorer, explorer.study
        self.questions = {
            "about": self.about,
            "state": lambda query: as_json(self.explorer.snapshot()),
            "positions": self.positions,
            "modes": self.modes,
            "shares": lambda query: as_bytes(explorer.shares(*self.version(query))),
            "members": self.members,
            "density": lambda query: as_bytes(explorer.densities().tobytes()),
            "column": self.column,
            "row": self.row,
            "picture": self.picture,
            "clusters": lambda query: as_json(explorer.details(*self.version(query))),
            "review": self.review,
            "search": lambda query: as_bytes(self.study.search(query.get("q", "")[:200]).astype("<u1").tobytes()),
            "raster": self.raster,
            "near": self.near,
        }
        self.forms = {"inside": self.inside, "places": self.places, "table": self.table, "csv": self.csv}

    def get(self, what: str, query: Any, body: None) -> Answer:
        """The answer to a question."""
        if what not in self.questions:
            raise NotThereError
        return self.questions[what](query)

    def post(self, what: str, query: Any, body: bytes) -> Answer:
        """The answer to a question with a body."""
        if what not in self.forms:
            raise NotThereError
        return self.forms[what](query, body)

    def version(self, query: Any) -> tuple[int, State]:
        """The version that is asked for, if it is still there."""
        number = whole(query, "version", 2**53)
        state = self.explorer.state_at(number)
        if state is None:
            raise NotThereError("This state is gone.")
        return number, state

    def view(self, query: Any) -> View:
        """The map that is asked for."""
        view = self.explorer.view(query.get("view", "first"))
        if view is None:
            raise NotThereError("There is no such map, or not yet.")
        return view

    def about(self, query: Any) -> Answer:
        """What does not change."""
        content = self.study.content
        return as_json(
            {
                "title": self.study.title,
                "n": self.study.n,
                "features": list(content.features),
                "columns": self.study.column_names,
                "pictures": content.image_shape is not None,
                "drawn": self.study.n <= DRAWN,
                "first_view": self.study.first_view.key,
                "neighbours": self.study.has_neighbours,
                "can_save": self.study.save is not None,
                "version": __version__,
            }
        )

    def positions(self, query: Any) -> Answer:
        """The places of all rows; where they are many only what is around them."""
        view = self.view(query)
        low, high = view.bounds
        about = {"low": low.tolist(), "high": high.tolist(), "axes": view.axes, "caption": view.caption}
        drawn = self.study.n <= DRAWN and query.get("raster") != "1"
        body = np.ascontiguousarray(view.positions, dtype="<f4").tobytes() if drawn else b""
        return body, "application/octet-stream", {"X-About": json.dumps(about | {"key": view.key})}

    def modes(self, query: Any) -> Answer:
        """Where the modes are."""
        _, state = self.version(query)
        return as_json(mode_places(self.view(query), state))

    def members(self, query: Any) -> Answer:
        """The rows of a cluster."""
        _, state = self.version(query)
        rows = np.flatnonzero(state.labels == whole(query, "cluster", state.n_clusters))
        return as_bytes(rows.astype("<u4").tobytes())

    def column(self, query: Any) -> Answer:
        """The values of a column."""
        return as_json(self.study.column(whole(query, "i", len(self.study.column_names))))

    def row(self, query: Any) -> Answer:
        """A row's values and shares."""
        _, state = self.version(query)
        row = whole(query, "i", self.study.n)
        return as_json(self.study.row(row) | {"shares": row_shares(state, row), "cluster": int(state.labels[row])})

    def picture(self, query: Any) -> Answer:
        """A row or a mode as a picture."""
        if self.study.content.image_shape is None:
            raise NotThereError
        if "row" in query:
            return self.study.row_picture(whole(query, "row", self.study.n)), "image/png", {}
        _, state = self.version(query)
        k = whole(query, "mode", state.n_clusters)
        modes = self.study.in_units(np.asarray(state.model.cluster_centers_[[k]]))
        return self.study.picture(np.asarray(modes)[0]), "image/png", {}

    def review(self, query: Any) -> Answer:
        """Rows to look at."""
        number, state = self.version(query)
        kind = "outliers" if query.get("what") == "outliers" else "uncertain"
        return as_json(self.explorer.cached(kind, number, lambda: review(self.study, state, kind)))

    def raster(self, query: Any) -> Answer:
        """A picture of a part of the map, as red, green, blue and opacity."""
        number, state = self.version(query)
        window = tuple(finite(query, name) for name in ("left", "right", "bottom", "top"))
        size = whole(query, "width", LARGEST_PICTURE), whole(query, "height", LARGEST_PICTURE)
        if not (window[1] > window[0] and window[3] > window[2] and min(size) > 0):
            raise BadMessageError("A window must have an area.")
        choice = checked_choice(query.get("colour", "cluster"), len(self.study.column_names))
        dark = query.get("dark") == "1"
        sheet = self.explorer.sheet(number, state, self.view(query), choice, dark=dark)
        pixels, shown = sheet.picture((window[0], window[1], window[2], window[3]), size)
        about = {"window": shown, "width": pixels.shape[1], "height": pixels.shape[0]}
        return pixels.tobytes(), "application/octet-stream", {"X-About": json.dumps(about)}

    def near(self, query: Any) -> Answer:
        """The row nearest to a place."""
        x, y, across, up = (finite(query, name) for name in ("x", "y", "across", "up"))
        return as_json({"row": self.view(query).plane.nearest(x, y, (max(across, 1e-300), max(up, 1e-300)))})

    def inside(self, query: Any, body: bytes) -> Answer:
        """The rows inside a lasso: corners as pairs of float32."""
        if len(body) % 8 or not 3 <= len(body) // 8 <= MOST_CORNERS:
            raise BadMessageError(f"A lasso must have 3 to {MOST_CORNERS:,} corners.")
        corners = np.frombuffer(body, dtype="<f4").reshape(-1, 2).astype(np.float64)
        if not np.isfinite(corners).all():
            raise BadMessageError("A lasso must have finite corners.")
        return as_bytes(self.view(query).plane.inside(corners).astype("<u4").tobytes())

    def places(self, query: Any, body: bytes) -> Answer:
        """Where some rows are, for pages that do not hold all of them."""
        return as_bytes(np.ascontiguousarray(self.view(query).positions[self.rows(body)], dtype="<f4").tobytes())

    def table(self, query: Any, body: bytes) -> Answer:
        """Rows as a table."""
        _, state = self.version(query)
        sort = whole(query, "sort", 1000) - 1 if "sort" in query else -1
        first = whole(query, "first", self.study.n + 1) if "first" in query else 0
        rows = self.rows(body)
        down = query.get("down") == "1"
        return as_json(self.study.table(rows, state, sort, down=down, first=first, count=PAGE))

    def csv(self, query: Any, body: bytes) -> Answer:
        """Rows as a CSV file."""
        _, state = self.version(query)
        text = self.study.as_csv(self.rows(body), state)
        return text.encode(), "text/csv; charset=utf-8", {"Content-Disposition": 'attachment; filename="rows.csv"'}

    def rows(self, body: bytes) -> Array:
        """Numbers of rows, as unsigned integers of four bytes."""
        if len(body) % 4 or not body:
            raise BadMessageError("Rows must be numbers of four bytes.")
        rows = np.unique(np.frombuffer(body, dtype="<u4")).astype(np.int64)
        if rows[-1] >= self.study.n:
            raise BadMessageError(f"Rows must be from 0 to {self.study.n - 1}.")
        return rows


def as_json(value: Any) -> Answer:
    """An answer in JSON."""
    return json.dumps(value, ensure_ascii=False).encode(), "application/json", {}


def as_bytes(value: bytes) -> Answer:
    """An answer of numbers."""
    return value, "application/octet-stream", {}


def whole(query: Any, name: str, limit: int) -> int:
    """A whole number below a limit."""
    text = query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 16) or not int(text) <= limit - 1:
        raise BadMessageError(f"{name!r} must be a whole number from 0 to {limit - 1}.")
    return int(text)


def finite(query: Any, name: str) -> float:
    """A finite number."""
    value = float(query.get(name, "nan")[:40])
    if not np.isfinite(value):
        raise BadMessageError(f"{name!r} must be a finite number.")
    return value


def checked_choice(choice: str, n_columns: int) -> str:
    """What rows are coloured by."""
    if choice in ("cluster", "soft", "density", "entropy") or choice.startswith("search:"):
        return choice[:200]
    head, _, tail = choice.partition(":")
    if head == "column" and tail.isdigit() and int(tail) < n_columns:
        return choice
    raise BadMessageError("'colour' must be cluster, soft, density, entropy, column:NUMBER or search:TERM.")
