"""Delimited text: CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .base import FileError, Format, Reading, Table, counted, first_line, require
from .numerals import converted, is_text, null_marks, understand, understood
from .streams import check_unpacked, encoding_lines, inner_suffix, opened, text_encoding

PURPOSE = "Reading and writing CSV files"
HEAD_BYTES = 2**16
"""Bytes at the start of a file from which its delimiter and header are found."""
DELIMITERS = ",;\t|"
TAB_ENDINGS = (".tsv", ".tab")
OTHER = {"<!doctype html": "a web page", "<html": "a web page", "<?xml": "XML", "{": "JSON", "[{": "JSON", "[[": "JSON"}
"""How text starts that is something else."""
NUMBER = re.compile(r"^\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*$")


def read(path: Path, reading: Reading) -> Table:
    """All columns, with the types that their values have."""
    check_unpacked(path)
    options = _options(path, reading)
    with _one_sentence(path):
        columns = _parsed(path, options)
        table = understood(columns, reading, lambda names: _texts(path, options, names), _usual_decimal(options))
    return replace(table, understood=(*_encoding_lines(options, reading), *table.understood))


def _parsed(path: Path, options: dict[str, Any]) -> Any:
    """The table; if a line is wrong, once more on one thread, which knows the line's number."""
    try:
        return _arrow_table(path, options)
    except ValueError as error:
        if "columns, got" not in str(error):
            raise
    options["read_options"].use_threads = False
    return _arrow_table(path, options)


def _arrow_table(path: Path, options: dict[str, Any]) -> Any:
    with opened(path) as stream:
        return require("pyarrow.csv", "cli", PURPOSE).read_csv(stream, **options)


def _first_piece(path: Path, options: dict[str, Any]) -> Any:
    """The rows of the first block."""
    csv, pa = require("pyarrow.csv", "cli", PURPOSE), require("pyarrow", "cli", PURPOSE)
    with opened(path) as stream, csv.open_csv(stream, **options) as pieces:
        return pa.Table.from_batches([pieces.read_next_batch()], pieces.schema)


def _encoding_lines(options: dict[str, Any], reading: Reading) -> tuple[str, ...]:
    return encoding_lines(options["read_options"].encoding, reading)


def _texts(path: Path, options: dict[str, Any], names: Sequence[str]) -> Any:
    """Some columns as the text that stands in the file."""
    csv, pa = require("pyarrow.csv", "cli", PURPOSE), require("pyarrow", "cli", PURPOSE)
    nulls = options["convert_options"].null_values
    convert = csv.ConvertOptions(
        include_columns=list(names), column_types=dict.fromkeys(names, pa.string()), null_values=nulls
    )
    return _arrow_table(path, options | {"convert_options": convert})


def _usual_decimal(options: dict[str, Any]) -> str:
    """The likelier decimal sign: semicolons stand between the cells where commas stand within numbers."""
    return "," if options["parse_options"].delimiter == ";" else "."


def batches(path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int) -> Iterator[Table]:
    """Some columns, piece by piece; those in `numeric` must hold numbers."""
    csv, pa = require("pyarrow.csv", "cli", PURPOSE), require("pyarrow", "cli", PURPOSE)
    options = _options(path, reading)
    options["read_options"].block_size = 8 * rows * (1 + len(columns))
    convert = options["convert_options"]
    convert.include_columns = list(columns)
    with _one_sentence(path):
        kinds = {item.name: item.type for item in _first_piece(path, options).schema}
        texts = [name for name in numeric if not pa.types.is_boolean(kinds[name])]
        convert.column_types = dict.fromkeys(texts, pa.string())
        first = _first_piece(path, options).select(list(numeric))
        found = understand(first, reading, _usual_decimal(options))
        commas = [name for name, spelling in found.spellings.items() if spelling.decimal == ","]
        plain = [
            name for name in texts if name not in commas and not (is_text(kinds[name]) and name in found.spellings)
        ]
        convert.column_types |= dict.fromkeys(plain, pa.float64())
        row, lines = 0, (*_encoding_lines(options, reading), *found.lines)
        with opened(path) as stream:
            for batch in csv.open_csv(stream, **options):
                piece = converted(pa.Table.from_batches([batch]), found.spellings, row)
                yield Table(columns=piece, spellings=found.spellings, understood=lines if row == 0 else ())
                row += batch.num_rows


def column_names(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    options = _options(path, reading)
    with _one_sentence(path):
        return list(_first_piece(path, options).column_names)


def open_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes delimited text."""
    csv = require("pyarrow.csv", "cli", PURPOSE)
    options = csv.WriteOptions(delimiter="\t" if suffix in TAB_ENDINGS else ",", quoting_style="needed")
    return csv.CSVWriter(stream, schema, write_options=options)


DELIMITED = Format(read, batches, column_names, open_writer)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Arrow's errors about a delimited file, in one sentence."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{str(path)!r} cannot be read as delimited text: {explained(first_line(error))}.") from error


def explained(text: str) -> str:
    """What Arrow says about a line, in words of the file."""
    cells = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", text)
    if cells:
        line = f"line {cells[1]}" if cells[1] else "a line"
        return f"{line} has {counted(int(cells[3]), 'cell')} where the first has {cells[2]}: {cells[4][:60]!r}"
    if "straddl" in text:
        return "a line is longer than a megabyte, or a quote is never closed"
    return text


def _options(path: Path, reading: Reading) -> dict[str, Any]:
    """How Arrow shall parse this file: its delimiter and header, from the first lines."""
    csv = require("pyarrow.csv", "cli", PURPOSE)
    encoding = text_encoding(path, reading)
    head = _head(path, encoding)
    said = re.fullmatch(r"sep=(.)", head[0])  # how Excel is told the delimiter
    head = head[1:] if said and len(head) > 1 else head
    delimiter = (
        reading.delimiter
        or (said[1] if said else None)
        or ("\t" if inner_suffix(path) in TAB_ENDINGS else guess_delimiter(head))
    )
    if delimiter == " " and reading.delimiter is None and any("  " in line.strip() for line in head):
        raise FileError(f"{str(path)!r} lines its columns up with spaces. Put one comma or tab between them.")
    names = [cell.strip().strip('"') for cell in head[0].split(delimiter)]
    read_options = csv.ReadOptions(encoding=encoding, skip_rows=1 if said else 0)
    if all(NUMBER.match(name) for name in names):  # no header
        read_options.column_names = [f"column_{i + 1}" for i in range(len(names))]
    return {
        "read_options": read_options,
        "parse_options": csv.ParseOptions(delimiter=delimiter, newlines_in_values='"' in "".join(head)),
        "convert_options": csv.ConvertOptions(null_values=null_marks()),
    }


def _head(path: Path, encoding: str) -> list[str]:
    """The first lines."""
    with opened(path) as stream:
        raw = stream.read(HEAD_BYTES)
    text = raw.decode(encoding, errors="ignore")
    if "\0" in text:
        raise FileError(f"{str(path)!r} holds binary data, not delimited text. Is its ending right?")
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        raise FileError(f"{str(path)!r} holds no text.")
    for opening, what in OTHER.items():
        if lines[0].lstrip().lower().startswith(opening):
            raise FileError(f"{str(path)!r} holds {what}, not delimited text. Save it as CSV.")
    return lines[:-1] if len(raw) == HEAD_BYTES and len(lines) > 1 else lines


def guess_delimiter(lines: Sequence[str]) -> str:
    """The sign that splits the most lines into the same number of cells, more than one; else a space.

    Commas come last, since they may stand within numbers too.
    """

    def evenness(sign: str) -> tuple[float, bool, int]:
        counts = [line.count(sign) for line in lines[:100]]
        usual = max(set(counts), key=counts.count)
        return (counts.count(usual) / len(counts), sign != ",", usual) if usual else (0.0, False, 0)

    best = max(DELIMITERS, key=evenness)
    if best == "," and "," not in lines[0] and all(NUMBER.match(line) for line in lines[1:]):
        return ";"  # one column, with decimal commas
    return best if any(best in line for line in lines) else " "
