"""Which reader a file's ending asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import arrays, delimited, feather, h5ad, matrix_market, parquet, pictures
from .columns import check_distinct, check_known
from .problems import FileError, existing_file
from .table import Reading, Table

CSV = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
TABLES = (*CSV, *PARQUET, *ARROW)
READERS: dict[str, Any] = (
    dict.fromkeys(CSV, delimited)
    | dict.fromkeys(PARQUET, parquet)
    | dict.fromkeys(ARROW, feather)
    | {".npy": arrays, ".npz": arrays, ".mtx": matrix_market, ".h5ad": h5ad}
)
KNOWN = ", ".join(ending for ending in READERS if ending not in (".tab", ".pq", ".ipc", ".data"))
PICTURES = pictures.SUFFIXES
SHEET = "Save the sheet as CSV"
PACKED = "Unpack it first"
ADVICE = (
    dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), SHEET)
    | dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".7z"), PACKED)
    | dict.fromkeys((".pkl", ".pickle", ".joblib"), "A pickle can run code and is never read: save a table or an array")
)
"""What to do about files that people have but that are not read."""
ROWS = 2**16
"""Rows that are worked on at a time when a file is read piece by piece."""


def is_picture(path: Path) -> bool:
    """Whether a file is a picture by its ending."""
    return path.suffix.lower() in PICTURES


def reader_of(path: Path) -> Any:
    """The module that reads this kind of file."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        advice = ADVICE.get(suffix, "Save it as CSV or Parquet")
        raise FileError(f"{str(path)!r} is a kind of file that is not read. {advice}. These are: {KNOWN} and pictures.")
    return READERS[suffix]


def read(path: Path, reading: Reading | None = None) -> Table:
    """All rows of a file, or of a folder of pictures."""
    reading = reading or Reading()
    if path.is_dir():
        return pictures.read_folder(path, reading)
    module = reader_of(path)
    table: Table = module.read(existing_file(path), reading)
    if table.columns is not None:
        check_distinct(path, table.columns.column_names)
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
    check_distinct(path, known)
    wanted = list(dict.fromkeys([*kept, *(known if columns is None else columns)]))
    check_known(wanted, known)
    numeric = [] if columns is None else [name for name in columns if name not in kept]
    yield from module.batches(path, reading, wanted, numeric, rows)
