"""What is explored: rows in their own units and as the model sees them, their columns, texts and pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._persistence import atomic_write
from .._records import Array
from .._rows import as_dense
from ..metrics import assignment_entropy, neighbor_log_density
from ..report.content import (
    ReportContent,
    dense_row,
    other_values,
    report_content,
    row_name,
    used_values,
    value_range,
)
from ..report.markup import hex_colors, number, png
from ..report.page import write_page
from ..report.payload import numbers, texts, two_largest
from .acts import Act
from .maps import CODES, View, can_embed, columns_view, components_view
from .session import recipe_python, recipe_toml
from .states import Base, State

SHOWN = 40
"""Values of a row that are shown."""
PAGE = 200
"""Rows of a table that are sent at once."""
CELLS_SHOWN = 12
"""Columns of that table."""
LONGEST = 200
"""Signs of a value that are shown."""


@dataclass(frozen=True)
class Study:
    """The data of an exploration; models come and go, these stay."""

    content: ReportContent
    """The rows, and the first model."""
    base: Base
    in_units: Callable[[Array], Array]
    """Modes as the model sees them, in the units of the rows."""
    title: str
    workspace: Path | None = None
    """Where the journal, and places that took long to compute, are written; None: nowhere."""
    save: Callable[[State, list[Act]], tuple[Path, list[str]]] | None = None
    """Writes everything about a state, and names the folder and its files."""
    texts: Callable[[], dict[str, list[str]]] = dict
    """Further columns of text, too many values for a colour, in which a search looks."""
    columns_cache: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.content.n

    @cached_property
    def column_names(self) -> list[str]:
        """Columns that rows may be coloured by: those that were used, then the others."""
        return [*self.content.features, *self.content.described_by]

    @cached_property
    def first_view(self) -> View:
        """The map that is there at once: the columns if there are at most two, else the principal components."""
        d = self.content.points.shape[1]
        return self.columns(0, d - 1) if d <= 2 else components_view(self.content.points)

    @cached_property
    def log_density(self) -> Array:
        """How crowded it is at each row, by the first model's graph."""
        return np.asarray(neighbor_log_density(self.base.model, self.content.points))

    @property
    def has_neighbours(self) -> bool:
        """Whether rows can be placed by the graph."""
        return can_embed(self.n) and self.content.points.shape[1] > 2 and self.base.model.graph_.nnz > 0

    def columns(self, i: int, j: int) -> View:
        """The map of two columns."""
        return columns_view(self.content.rows, (i, j), self.content.features, self.in_units)

    def of(self, state: State) -> ReportContent:
        """What a report shows of a state."""
        modes = np.asarray(self.in_units(np.asarray(state.model.cluster_centers_)))
        return replace(self.content, model=state.model, modes=modes, names=state.names)

    def column(self, i: int) -> dict[str, Any]:
        """The values of a column for colours: numbers in steps between quantiles, or the commonest words."""
        if i not in self.columns_cache:
            features = self.content.features
            if i < len(features):
                found = numbers(features[i], as_dense(self.content.rows[:, [i]])[:, 0])
            else:
                name = self.column_names[i]
                found = texts(name, list(self.content.described_by[name]))
            self.columns_cache[i] = found
        return self.columns_cache[i]

    def row(self, row: int) -> dict[str, Any]:
        """A row's name and values, as text."""
        values = [*other_values(self.content, row)]
        if self.content.image_shape is None:
            values += used_values(self.content, row)
        return {
            "row": row,
            "name": cut(row_name(self.content, row)),
            "values": [[cut(key), cut(str(text))] for key, text in values[:SHOWN]],
            "more": max(0, len(values) - SHOWN),
        }

    def picture(self, pixels: Array) -> bytes:
        """A row or a mode as a PNG."""
        shape = self.content.image_shape
        assert shape is not None
        low, high = self._range
        values = (np.asarray(pixels, dtype=np.float64).reshape(shape) - low) / ((high - low) or 1)
        return png(np.clip(np.round(255 * values), 0, 255).astype(np.uint8))

    def row_picture(self, row: int) -> bytes:
        """A row as a PNG."""
        return self.picture(dense_row(self.content.rows, row))

    @cached_property
    def _range(self) -> tuple[float, float]:
        return value_range(self.content.rows)

    def table(self, rows: Array, state: State, sort: int, *, down: bool, first: int, count: int) -> dict[str, Any]:
        """Some rows as a table, sorted by one of its columns; the cluster is column 0 and the share column 1."""
        ordered = self._sorted(rows, state, sort, down=down)[first : first + count]
        shown = self._table_columns
        cells = [self._cells(int(row), state, shown) for row in ordered]
        header = ["cluster", "share", *(cut(self.column_names[i]) for i in shown)]
        return {"header": header, "rows": ordered.tolist(), "cells": cells, "total": int(rows.size)}

    @cached_property
    def _table_columns(self) -> list[int]:
        m = len(self.content.features)
        others = list(range(m, len(self.column_names)))
        used = [] if self.content.image_shape is not None or issparse(self.content.rows) else list(range(m))
        return [*others[: CELLS_SHOWN // 2], *used][:CELLS_SHOWN]

    def _sorted(self, rows: Array, state: State, sort: int, *, down: bool) -> Array:
        if sort < 0:
            return rows
        shown = self._table_columns
        if sort == 0:
            keys: Any = state.labels[rows]
        elif sort == 1 or sort - 2 >= len(shown):
            keys = np.asarray(state.model.probabilities_)[rows]
        elif shown[sort - 2] < len(self.content.features):
            keys = as_dense(self.content.rows[rows][:, [shown[sort - 2]]])[:, 0]
        else:
            values = self.content.described_by[self.column_names[shown[sort - 2]]]
            keys = np.asarray([values[row] for row in rows], dtype=str)
        order = np.argsort(keys, kind="stable")
        return np.asarray(rows[order[::-1] if down else order])

    def _cells(self, row: int, state: State, shown: Sequence[int]) -> list[str]:
        m = len(self.content.features)
        used = dense_row(self.content.rows, row) if any(i < m for i in shown) else np.empty(0)
        values = [
            number(float(used[i])) if i < m else cut(str(self.content.described_by[self.column_names[i]][row]))
            for i in shown
        ]
        return [str(int(state.labels[row])), f"{float(state.model.probabilities_[row]):.3f}", *values]

    def as_csv(self, rows: Array, state: State, *, values: bool = True) -> str:
        """Rows with their cluster and share, and all columns, as a spreadsheet reads them."""
        out = io.StringIO()
        writer = csv.writer(out)
        others, features = (list(self.content.described_by), self.content.features) if values else ([], ())
        writer.writerow(["row", "name", "cluster", "cluster_name", "share", *others, *features])
        labels, shares = state.labels, np.asarray(state.model.probabilities_)
        for row in rows.tolist():
            k = int(labels[row])
            called = [row + 1, row_name(self.content, row), k, state.names[k] if k >= 0 else "", float(shares[row])]
            own = [self.content.described_by[name][row] for name in others]
            own += [repr(float(value)) for value in dense_row(self.content.rows, row)] if values else []
            writer.writerow([plain(cell) for cell in [*called, *own]])
        return out.getvalue()

    def search(self, term: str) -> Array:
        """Mask of the rows with a text in a column or in their name; of sparse rows those with such a column."""
        term = term.casefold()
        found = np.zeros(self.n, dtype=bool)
        if not term:
            return found
        for texts_of_rows in self._searched.values():
            found |= np.char.find(texts_of_rows, term) >= 0
        columns = [i for i, name in enumerate(self.content.features) if term in name.casefold()]
        if issparse(self.content.rows) and columns:
            found |= np.asarray(abs(self.content.rows[:, columns]).sum(axis=1)).ravel() > 0
        return found

    @cached_property
    def _searched(self) -> dict[str, Array]:
        """The texts of all rows, in small letters."""
        columns: dict[str, Sequence[Any]] = dict(self.content.described_by) | self.texts()
        if self.content.row_names is not None:
            columns["\0name"] = self.content.row_names
        return {name: np.asarray([str(value).casefold() for value in values]) for name, values in columns.items()}


def cut(text: str) -> str:
    """A text of bounded length."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def plain(cell: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "@", "\t", "\r") else cell


def study_of(model: Any, X: Any, folder: Path | None = None, **options: Any) -> Study:
    """The study of an estimator and the rows that it was fitted on; with a folder, acts and results are kept there."""
    content = report_content(model, X, **options)
    base = Base(model, content.points)
    if folder is None:
        return Study(content, base, lambda modes: modes, content.title)

    def save(state: State, acts: list[Act]) -> tuple[Path, list[str]]:
        return folder, save_state(folder, study, state, acts)

    study = Study(content, base, lambda modes: modes, content.title, folder, save)
    return study


def save_state(folder: Path, study: Study, state: State, acts: list[Act]) -> list[str]:
    """The labels, the model, a report and the recipe of a state; each file appears whole."""
    folder.mkdir(parents=True, exist_ok=True)
    model = copy(state.model)
    model.cluster_names_ = state.names if any(state.names) else ()
    model.save(folder / "model.npz")
    write_page(folder / "report.html", study.of(state))
    texts_of_files = {
        "labels.csv": study.as_csv(np.arange(study.n), state, values=False),
        "recipe.toml": recipe_toml(acts, PLAIN_HEAD),
        "recipe.py": recipe_python(acts, PYTHON_HEAD),
    }
    for name, text in texts_of_files.items():
        with atomic_write(folder / name) as stream:
            stream.write(text.encode())
    return ["model.npz", "report.html", *texts_of_files]


PLAIN_HEAD = "# What was done in the explorer, in order."
PYTHON_HEAD = """from lapmodes.explore.session import Session
from lapmodes.explore.states import Base

# `model` and `X` are those that lapmodes.explore(model, X) was called with.
session = Session(Base(model, X))
"""


@dataclass(frozen=True)
class Shares:
    """What the browser needs to know of the assignments: each row's two largest clusters."""

    first: Array
    second: Array
    weight: Array
    entropy: Array

    @staticmethod
    def of(state: State) -> Shares:
        """As small integers; the first cluster is 65535 for rows that were left out."""
        Z = state.model.assignments_
        first, second, weight = two_largest(Z)
        first = first.astype("<u2")
        if state.left_out is not None:
            first[state.left_out] = CODES - 1
        entropy = np.round(255 * np.clip(assignment_entropy(Z), 0, 1)).astype("<u1")
        return Shares(first, second.astype("<u2"), np.round(255 * weight).astype("<u1"), entropy)

    def packed(self) -> bytes:
        """One after the other."""
        return b"".join(
            np.ascontiguousarray(each).tobytes() for each in (self.first, self.second, self.weight, self.entropy)
        )


def cluster_colors(state: State) -> list[str]:
    """The usual colours, or those that a person chose."""
    usual = hex_colors(state.n_clusters)
    return [own or color for own, color in zip(state.colors, usual, strict=True)]
