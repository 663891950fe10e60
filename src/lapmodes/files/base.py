"""What all readers share: how they are asked to read, the table that they return, and the error that they raise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

NO_VALUE = [
    *("?", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "\u2026", "None", "none", "NONE", "<NA>", " ", "na"),
    *("missing", "Missing", "n.a.", "N.A.", "n. a.", "k.A.", "k. A.", "keine Angabe", "n.d.", "N.D.", "s.d."),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/V", "#WERT!", "#BEZUG!", "#ZAHL!"),
]
"""Marks of a missing number that people and spreadsheets use beside those that Arrow knows."""


class FileError(ValueError):
    """A file cannot be used; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Spelling:
    """How a column writes its numbers."""

    decimal: str = "."
    unit: str = ""
    """A percent or currency sign beside each number."""


@dataclass(frozen=True)
class Reading:
    """How to read a file; what a format has no use for is ignored."""

    delimiter: str | None = None
    """Of a delimited file; found from its first lines if None."""
    encoding: str | None = None
    """Of text; found if None."""
    array: str | None = None
    """Which array of an `.npz`, or which representation (`X`, a layer or a key of `obsm`) of an `.h5ad`."""
    size: tuple[int, int] | None = None
    """(height, width) to bring the pictures of a folder to."""
    decimal: str | None = None
    """The decimal sign of numbers that stand in text; found column by column if None."""
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """How columns of an earlier file wrote their numbers; these columns must do so again."""

    def spelling_of(self, name: str) -> Spelling:
        """How a column must write its numbers; a decimal sign that is asked for wins."""
        spelling = self.spellings[name]
        return spelling if self.decimal is None else replace(spelling, decimal=self.decimal)


@dataclass(frozen=True)
class Table:
    """The rows of a file: `columns` (an Arrow table) or `matrix` (dense or CSR), never both."""

    columns: Any = None
    matrix: Any = None
    names: tuple[str, ...] | None = None
    """Names of the matrix's columns, where the file has them."""
    graph: Any = None
    """Affinities between the rows, where the file has them."""
    row_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    """Where each row is a picture: (height, width) or (height, width, 3)."""
    note: str = ""
    """What was read, where the file offers a choice."""
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """How columns of text wrote their numbers."""
    understood: tuple[str, ...] = ()
    """Sentences about what was found out about the file, for the person who reads it."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.num_rows if self.columns is not None else self.matrix.shape[0])

    def take(self, rows: Sequence[int]) -> Table:
        """Some of the rows, without the graph."""
        names = None if self.row_names is None else tuple(self.row_names[row] for row in rows)
        if self.columns is not None:
            return replace(self, columns=self.columns.take(list(rows)), row_names=names, graph=None)
        return replace(self, matrix=self.matrix[list(rows)], row_names=names, graph=None)


@dataclass(frozen=True)
class Format:
    """The functions that read and write files of one kind; None for what the kind does not allow."""

    read: Callable[[Path, Reading], Table]
    """All rows."""
    batches: Callable[[Path, Reading, Sequence[str], Sequence[str], int], Iterator[Table]] | None = None
    """Pieces of so many rows: (path, reading, columns to read, those of them that must hold numbers, rows)."""
    column_names: Callable[[Path, Reading], list[str]] | None = None
    writer: Callable[[Any, Any, str], Any] | None = None
    """From (stream, Arrow schema, suffix) to an object with `write_table` and `close`."""


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise FileError(
            f"{purpose} needs {module.partition('.')[0]}, which is not installed: pip install 'lapmodes[{extra}]'"
        ) from error


def existing_file(path: Path) -> Path:
    """The path, if there is a file with something in it."""
    if not path.exists():
        raise FileError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder. Name a file, or a folder of pictures of one size.")
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not an ordinary file.")
    if not os.access(path, os.R_OK):
        raise FileError(f"{str(path)!r} cannot be read: there is no permission.")
    if path.stat().st_size == 0:
        raise FileError(f"{str(path)!r} is empty.")
    return path


def check_distinct(path: Path, names: Sequence[str]) -> None:
    """Refuse a file in which two columns have one name."""
    twice = [name for i, name in enumerate(names) if name in names[:i]] if len(set(names)) < len(names) else []
    if twice:
        raise FileError(f"{str(path)!r} has several columns named {twice[0]!r}. Give each its own name.")


def null_marks() -> list[str]:
    """What stands for a missing number."""
    from pyarrow import csv

    return [*csv.ConvertOptions().null_values, *NO_VALUE]


def counted(n: int, thing: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{n:,} {thing}{'s'[: n != 1]}"


def listed(names: Sequence[Any], most: int = 5) -> str:
    """The first few of many, in words."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def first_line(error: BaseException) -> str:
    """What an error says, without the details that follow, and without a full stop."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(". ")[:200]
