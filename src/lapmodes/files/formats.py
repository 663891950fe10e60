"""Which reader a file's ending asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import arrays, delimited, feather, h5ad, matrix_market, parquet, pictures
from .problems import FileError, existing_file
from .table import Reading, Table

CSV = (".csv", ".tsv", ".tab", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
TABLES = (*CSV, *PARQUET, *ARROW)
READERS: dict[str, Any] = (
    dict.fromkeys(CSV, delimited)
    | dict.fromkeys(PARQUET, parquet)
    | dict.fromkeys(ARROW, feather)
    | {".npy": arrays, ".npz": arrays, ".mtx": matrix_market, ".h5ad": h5ad}
)
PICTURES = pictures.SUFFIXES
ROWS = 2**16
"""Rows that are worked on at a time when a file is read piece by piece."""


def is_picture(path: Path) -> bool:
    """Whether a file is a picture by its ending."""
    return path.suffix.lower() in PICTURES


def reader_of(path: Path) -> Any:
    """The module that reads this kind of file."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        known = ", ".join(READERS)
        raise FileError(f"{str(path)!r} has an ending that is not known. Known are {known} and pictures.")
    return READERS[suffix]


def read(path: Path, reading: Reading | None = None) -> Table:
    """All rows of a file, or of a folder of pictures."""
    reading = reading or Reading()
    if path.is_dir():
        return pictures.read_folder(path, reading)
    module = reader_of(path)
    table: Table = module.read(existing_file(path), reading)
    return table


def batches(
    path: Path, reading: Reading, columns: Sequence[str] | None, kept: Sequence[str] = (), rows: int = ROWS
) -> Iterator[Table]:
    """The rows piece by piece where the format allows: only `columns` and `kept` of a table."""
    module = None if path.is_dir() else reader_of(path)
    if module is None or not hasattr(module, "batches"):
        yield read(path, reading)
        return
    existing_file(path)
    if not hasattr(module, "columns_of"):
        yield from module.batches(path, reading, (), (), rows)
        return
    known = module.columns_of(path, reading)
    wanted = list(dict.fromkeys([*kept, *(known if columns is None else columns)]))
    from .columns import check_known

    check_known(wanted, known)
    numeric = [] if columns is None else [name for name in columns if name not in kept]
    yield from module.batches(path, reading, wanted, numeric, rows)
