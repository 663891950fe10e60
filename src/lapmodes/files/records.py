"""Tables as other programs store them: Parquet, Arrow's own files (also known as Feather), JSON records, and sheets."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._archives import check_fits
from .base import FileError, Format, Reading, Table, check_distinct, first_line, listed, require
from .layout import LOOKED_AT, find_header
from .numerals import understood
from .streams import check_unpacked, encoding_lines, opened, text_encoding

LINES = 'JSON with a record a line, as in {"a": 1}'
ARRAY = 'JSON with an array of records, as in [{"a": 1}, {"a": 2}]'
SHEET_ROWS = 2**20
"""Most rows that a sheet can have."""
ARROW_PURPOSE = "Reading and writing Parquet and Arrow files"


def read_parquet(path: Path, reading: Reading) -> Table:
    """All columns."""
    with _whole_file_sentence(path, "Parquet"):
        file = _open_parquet(path)
        check_fits(_parquet_size(file), path)
        return Table(columns=_checked(file.read()))


def parquet_batches(
    path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int
) -> Iterator[Table]:
    """Some columns, piece by piece."""
    pa = require("pyarrow", "cli", ARROW_PURPOSE)
    with _whole_file_sentence(path, "Parquet"):
        for batch in _open_parquet(path).iter_batches(batch_size=rows, columns=list(columns), use_threads=False):
            yield Table(columns=_checked(pa.Table.from_batches([batch])))


def parquet_columns(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    with _whole_file_sentence(path, "Parquet"):
        return list(_open_parquet(path).schema_arrow.names)


def parquet_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes Parquet."""
    return require("pyarrow.parquet", "cli", ARROW_PURPOSE).ParquetWriter(stream, schema, compression="zstd")


def read_feather(path: Path, reading: Reading) -> Table:
    """All columns."""
    with _whole_file_sentence(path, "Arrow"):
        return Table(columns=_checked(_open_feather(path).read_all()))


def feather_batches(
    path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int
) -> Iterator[Table]:
    """Some columns, in pieces of at most the batches of the file."""
    pa = require("pyarrow", "cli", ARROW_PURPOSE)
    with _whole_file_sentence(path, "Arrow"):
        file = _open_feather(path)
        for i in range(file.num_record_batches):
            batch = _checked(pa.Table.from_batches([file.get_batch(i)]).select(list(columns)))
            for start in range(0, batch.num_rows, rows):
                yield Table(columns=batch.slice(start, rows))


def feather_columns(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    with _whole_file_sentence(path, "Arrow"):
        return list(_open_feather(path).schema.names)


def feather_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes an Arrow file."""
    ipc = require("pyarrow.ipc", "cli", ARROW_PURPOSE)
    return ipc.new_file(stream, schema, options=ipc.IpcWriteOptions(compression="lz4"))


PARQUET = Format(read_parquet, parquet_batches, parquet_columns, parquet_writer)
FEATHER = Format(read_feather, feather_batches, feather_columns, feather_writer)


def read_json(path: Path, reading: Reading) -> Table:
    """An array of records; a record a line is taken too, since many programs name such files alike."""
    text, lines = _text(path, reading)
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        if "Extra data" not in str(error):
            raise _not_json(path, ARRAY, error) from error
        records = _line_records(path, text)
    return _table(path, reading, records, ARRAY, lines)


def read_json_lines(path: Path, reading: Reading) -> Table:
    """A record a line."""
    text, lines = _text(path, reading)
    return _table(path, reading, _line_records(path, text), LINES, lines)


def read_sheet(path: Path, reading: Reading) -> Table:
    """The only sheet of a workbook that holds anything; its first row has the names."""
    openpyxl = require("openpyxl", "excel", "Reading .xlsx files")
    try:
        with zipfile.ZipFile(path) as parts:
            check_fits(sum(part.file_size for part in parts.infolist()), path)
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheets = {sheet.title: _filled_rows(sheet) for sheet in book.worksheets}
    except Exception as error:  # openpyxl lets through whatever a broken file makes its parsers raise
        raise FileError(f"{str(path)!r} is not a whole .xlsx file: {first_line(error)}. Save it again.") from error
    used = [title for title, rows in sheets.items() if rows]
    if len(used) != 1:
        what = f"several: {listed(used)}" if used else "none"
        raise FileError(f"{str(path)!r} must hold one sheet with values. It holds {what}. Save the sheet as CSV.")
    rows = sheets[used[0]]
    header = find_header([["" if cell is None else str(cell).strip() for cell in row] for row in rows[:LOOKED_AT]])
    check_distinct(path, header.names)
    rows = rows[header.first :]
    columns = {name: [row[i] if i < len(row) else None for row in rows] for i, name in enumerate(header.names)}
    table = understood(_arrow(columns), reading)
    return replace(table, understood=(*header.lines, *table.understood))


JSON = Format(read_json)
JSON_LINES = Format(read_json_lines)
SHEET = Format(read_sheet)


def _open_parquet(path: Path) -> Any:
    return require("pyarrow.parquet", "cli", ARROW_PURPOSE).ParquetFile(path, memory_map=False, pre_buffer=False)


def _open_feather(path: Path) -> Any:
    pa = require("pyarrow", "cli", ARROW_PURPOSE)
    return require("pyarrow.ipc", "cli", ARROW_PURPOSE).open_file(pa.memory_map(str(path)))


def _checked(table: Any) -> Any:
    """The table, if all its offsets, indices and texts are what they should be: Arrow itself trusts what it reads."""
    table.validate(full=True)
    return table


def _parquet_size(file: Any) -> int:
    """Bytes that a Parquet file says it unpacks to, at least one for each value."""
    about = file.metadata
    groups = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return int(max(groups, about.num_rows * about.num_columns))


@contextmanager
def _whole_file_sentence(path: Path, kind: str) -> Iterator[None]:
    """Arrow's errors in one sentence about the file."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:  # Arrow lets through whatever a broken file makes its parsers raise
        raise FileError(f"{str(path)!r} is not a whole {kind} file: {first_line(error)}.") from error


def _filled_rows(sheet: Any) -> list[Sequence[Any]]:
    """The rows with a value in them; what the sheet says about its size is not believed."""
    sheet.reset_dimensions()
    filled: list[Sequence[Any]] = []
    with closing(sheet.iter_rows(values_only=True)) as rows:
        for number, row in enumerate(rows, 1):
            if number > SHEET_ROWS:
                raise ValueError(f"it has more than {SHEET_ROWS:,} rows")
            if any(value is not None for value in row):
                filled.append(row)
    return filled


def _text(path: Path, reading: Reading) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and what to tell about its encoding."""
    check_unpacked(path)
    encoding = text_encoding(path, reading)
    with opened(path) as stream:
        return stream.read().decode(encoding).removeprefix("\ufeff"), encoding_lines(encoding, reading)


def _line_records(path: Path, text: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            records += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise _not_json(path, LINES, f"line {number}: {getattr(error, 'msg', error)}") from error
    return records


def _table(path: Path, reading: Reading, records: Any, expected: str, lines: tuple[str, ...]) -> Table:
    """Records side by side; null where one lacks what another has."""
    if not isinstance(records, list):
        raise _not_json(path, expected, f"it is one {type(records).__name__}")
    odd = next((row for row, record in enumerate(records, 1) if not isinstance(record, dict)), None)
    if odd is not None:
        raise _not_json(path, expected, f"number {odd} is no record")
    names = dict.fromkeys(name for record in records for name in record)
    table = understood(_arrow({name: [record.get(name) for record in records] for name in names}), reading)
    return replace(table, understood=(*lines, *table.understood))


def _arrow(columns: dict[str, list[Any]]) -> Any:
    pa = require("pyarrow", "cli", "Reading tables")
    return pa.table({name: _column(pa, values) for name, values in columns.items()})


def _column(pa: Any, values: Iterable[Any]) -> Any:
    """An Arrow array; where values are of several types, numbers of one type or the text of each."""
    values = list(values)
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    if all(value is None or type(value) in (int, float) for value in values):
        return pa.array([None if value is None else float(value) for value in values])
    return pa.array([None if value is None else str(value) for value in values])


def _not_json(path: Path, expected: str, why: str | BaseException) -> FileError:
    why = first_line(why) if isinstance(why, BaseException) else why
    return FileError(f"{str(path)!r} must hold {expected}. It does not: {why}. Repair it, or save it as CSV.")
