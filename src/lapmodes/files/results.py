"""Clusters and soft assignments in the format of the input, written as they come."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from .._records import Array
from .._rows import as_dense
from .atomic import whole_file
from .base import FileError, require
from .columns import arrow_array
from .delimited import DELIMITED
from .formats import MATRIX_FORMATS, TABLE_FORMATS
from .matrices import write_h5ad
from .numerals import is_text

FORMULA_SIGNS, TEXT_SIGN = "=+@\\t\\r-", "'"
"""How cells begin that spreadsheets take for formulas, and what says that a cell is text."""
SPARSE_ROWS = 4096
"""Rows of sparse assignments that are written together."""


class TableSink:
    """Rows as CSV, Parquet or Arrow.

    Columns `cluster`, `cluster_name` where clusters have names, `gaps` where rows have some, then one for each cluster.
    """

    def __init__(
        self,
        path: Path,
        suffix: str,
        n_clusters: int,
        *,
        soft: bool,
        gaps: bool,
        names: Sequence[str] = (),
        no_formulas: bool = False,
    ) -> None:
        self._pa = require("pyarrow", "cli", "Writing tables")
        self._names = names_of(names)
        self._n, self._soft, self._suffix, self._gaps = n_clusters, soft, suffix, gaps
        self._no_formulas = no_formulas
        self._stream = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._writer: Any = None

    def write(self, labels: Array, Z: Any, kept: Any = None, gaps: Array | None = None) -> None:
        """Append rows; `kept` is an Arrow table of columns to copy in front of them, `gaps` counts missing values."""
        gaps = np.zeros(len(labels), dtype=np.int32) if gaps is None else gaps
        if not issparse(Z) or not self._soft:
            return self._append(labels, Z, kept, gaps)
        for start in range(0, Z.shape[0], SPARSE_ROWS):
            rows = slice(start, start + SPARSE_ROWS)
            some = None if kept is None else kept.slice(start, SPARSE_ROWS)
            self._append(labels[rows], Z[rows].toarray(), some, gaps[rows])

    def _append(self, labels: Array, Z: Any, kept: Any, gaps: Array) -> None:
        columns: dict[str, Any] = {} if kept is None else dict(zip(kept.column_names, kept.columns, strict=True))
        columns["cluster"] = arrow_array(labels.astype(np.int32))
        if self._names is not None:
            columns["cluster_name"] = arrow_array(self._names[labels].tolist())
        if self._gaps:
            columns["gaps"] = arrow_array(gaps.astype(np.int32))
        if self._soft:
            columns |= {f"cluster_{k}": arrow_array(Z[:, k]) for k in range(self._n)}
        table = self._pa.table(columns)
        table = without_formulas(table, self._suffix) if self._no_formulas else table
        if self._writer is None:
            self._writer = open_writer(self._stream, table.schema, self._suffix)
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
        self._stream.close()


class ArraySink:
    """Collects everything: for formats that are written at once."""

    def __init__(
        self, path: Path, suffix: str, *, soft: bool, row_names: tuple[str, ...] | None, names: Sequence[str] = ()
    ) -> None:
        self._path, self._suffix, self._soft, self._row_names = path, suffix, soft, row_names
        self._names = names_of(names)
        self._labels: list[Array] = []
        self._Z: list[Any] = []

    def write(self, labels: Array, Z: Any, kept: Any = None, gaps: Array | None = None) -> None:
        """Keep rows for the end."""
        self._labels.append(labels)
        if self._soft or self._suffix == ".h5ad":
            self._Z.append(Z)

    def close(self) -> None:
        """Write the file."""
        from scipy.io import mmwrite

        labels = np.concatenate(self._labels).astype(np.int32)
        Z = (vstack(self._Z) if issparse(self._Z[0]) else np.concatenate(self._Z)) if self._Z else None
        if self._suffix == ".h5ad":
            assert Z is not None
            called = None if self._names is None else self._names[labels]
            return write_h5ad(self._path, labels, Z, self._row_names, called)
        more = {} if self._names is None else {"cluster_names": self._names[:-1]}
        with open(self._path, "wb") as stream:
            if self._suffix == ".npy":
                np.save(stream, labels if Z is None else as_dense(Z), allow_pickle=False)
            elif self._suffix == ".mtx":
                mmwrite(stream, csr_array(labels[:, None] if Z is None else Z))
            elif Z is None:
                np.savez(stream, allow_pickle=False, labels=labels, **more)
            else:
                np.savez(stream, allow_pickle=False, labels=labels, assignments=as_dense(Z), **more)
        return None


def names_of(names: Sequence[str]) -> Array | None:
    """Names of the clusters, and an empty one at the end for rows in no cluster (-1); None where no cluster has one."""
    return np.array([*names, ""], dtype=str) if any(names) else None


@contextmanager
def sink(
    target: Path,
    n_clusters: int,
    *,
    soft: bool = True,
    row_names: tuple[str, ...] | None = None,
    gaps: bool = False,
    names: Sequence[str] = (),
    no_formulas: bool = False,
) -> Iterator[TableSink | ArraySink]:
    """Where rows of clusters go; the file appears when all of them are in it."""
    suffix = target.suffix.lower()
    with whole_file(target) as partial:
        out: TableSink | ArraySink
        if suffix in TABLE_FORMATS:
            out = TableSink(partial, suffix, n_clusters, soft=soft, gaps=gaps, names=names, no_formulas=no_formulas)
        elif suffix in MATRIX_FORMATS:
            out = ArraySink(partial, suffix, soft=soft, row_names=row_names, names=names)
        else:
            raise FileError(
                f"{str(target)!r} has no ending that can be written. Use {', '.join(sorted(TABLE_FORMATS))}."
            )
        try:
            yield out
        except BaseException:
            if isinstance(out, TableSink):
                out.close()
            raise
        out.close()


def write_columns(
    target: Path, columns: dict[str, Sequence[Any]], suffix: str | None = None, *, no_formulas: bool = False
) -> None:
    """A small table of named columns, in the format of the ending."""
    arrays = {name: arrow_array(values) for name, values in columns.items()}
    table, suffix = require("pyarrow", "cli", "Writing tables").table(arrays), suffix or target.suffix.lower()
    table = without_formulas(table, suffix) if no_formulas else table
    with open(target, "wb") as stream:
        writer = open_writer(stream, table.schema, suffix)
        writer.write_table(table)
        writer.close()


def without_formulas(table: Any, suffix: str) -> Any:
    """For delimited text: a sign before names and texts that a spreadsheet would run when it opens the file."""
    if TABLE_FORMATS[suffix] is not DELIMITED:
        return table
    pa, pc = (require(module, "cli", "Writing tables") for module in ("pyarrow", "pyarrow.compute"))
    columns = []
    for column in table.columns:
        if is_text(column.type):
            text = column.cast(pa.string())
            marked = pc.binary_join_element_wise(TEXT_SIGN, text, "")
            column = pc.if_else(pc.match_substring_regex(text, f"^[{FORMULA_SIGNS}]"), marked, text)
        columns.append(column)
    names = [f"{TEXT_SIGN}{name}" if re.match(f"[{FORMULA_SIGNS}]", name) else name for name in table.column_names]
    return pa.table(columns, names=names)


def open_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes them in the format of the ending."""
    opener = TABLE_FORMATS[suffix].writer
    assert opener is not None
    return opener(stream, schema, suffix)
