"""Which reader a file's ending asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .base import FileError, Format, Reading, Table, check_distinct, existing_file
from .columns import check_known
from .delimited import DELIMITED
from .matrices import H5AD, MATRIX_MARKET, NPY, NPZ, PICTURE_ENDINGS, read_folder
from .records import FEATHER, JSON, JSON_LINES, PARQUET, SHEET
from .streams import inner_suffix, is_packed

TABLE_FORMATS = (
    dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat", ".data"), DELIMITED)
    | dict.fromkeys((".parquet", ".pq"), PARQUET)
    | dict.fromkeys((".feather", ".arrow", ".ipc"), FEATHER)
)
"""Endings of files with named columns."""
MATRIX_FORMATS = {".npy": NPY, ".npz": NPZ, ".mtx": MATRIX_MARKET, ".h5ad": H5AD}
"""Endings of files that hold a matrix of numbers."""
RECORD_FORMATS = {".json": JSON, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".xlsx": SHEET}
"""Endings of files with named columns that are read but not written."""
FORMATS = TABLE_FORMATS | RECORD_FORMATS | MATRIX_FORMATS
KNOWN = ", ".join(ending for ending in FORMATS if ending not in (".tab", ".pq", ".ipc", ".data", ".ndjson"))
ADVICE = (
    dict.fromkeys((".xls", ".xlsm", ".ods", ".numbers"), "Save the sheet as CSV")
    | dict.fromkeys((".bz2", ".xz", ".tar", ".7z"), "Unpack it first")
    | dict.fromkeys((".pkl", ".pickle", ".joblib"), "A pickle can run code and is never read: save a table or an array")
)
"""What to do about files that people have but that are not read."""
PACKABLE = [suffix for suffix, kind in FORMATS.items() if kind in (DELIMITED, JSON, JSON_LINES)]
"""Endings of files that may be packed."""
BATCH_ROWS = 2**16
"""Rows that are worked on at a time when a file is read piece by piece."""


def is_picture(path: Path) -> bool:
    """Whether a file is a picture by its ending."""
    return path.suffix.lower() in PICTURE_ENDINGS


def format_of(path: Path) -> Format:
    """How this kind of file is read."""
    suffix = inner_suffix(path)
    if is_packed(path) and suffix in FORMATS and suffix not in PACKABLE:
        raise FileError(f"{str(path)!r} holds a {suffix} file, which is not read packed. Unpack it first.")
    if suffix not in FORMATS:
        advice = ADVICE.get(suffix, "Save it as CSV or Parquet")
        raise FileError(f"{str(path)!r} is a kind of file that is not read. {advice}. These are: {KNOWN} and pictures.")
    return FORMATS[suffix]


def read(path: Path, reading: Reading | None = None) -> Table:
    """All rows of a file, or of a folder of pictures."""
    reading = reading or Reading()
    if path.is_dir():
        return read_folder(path, reading)
    table = format_of(existing_file(path)).read(path, reading)
    if table.columns is not None:
        check_distinct(path, table.columns.column_names)
    return table


def batches(
    path: Path,
    reading: Reading,
    columns: Sequence[str] | None,
    kept: Sequence[str] = (),
    rows: int | None = None,
) -> Iterator[Table]:
    """The rows piece by piece where the format allows: only `columns` and `kept` of a table."""
    kind, rows = None if path.is_dir() else format_of(existing_file(path)), rows or BATCH_ROWS
    if kind is None or kind.batches is None:
        yield read(path, reading)
        return
    if kind.column_names is None:
        yield from kind.batches(path, reading, (), (), rows)
        return
    known = kind.column_names(path, reading)
    check_distinct(path, known)
    wanted = list(dict.fromkeys([*kept, *(known if columns is None else columns)]))
    check_known(wanted, known)
    numeric = [] if columns is None else [name for name in columns if name not in kept]
    yield from kind.batches(path, reading, wanted, numeric, rows)
