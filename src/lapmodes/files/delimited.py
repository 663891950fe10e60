"""Delimited text: CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .base import (
    FileError,
    Format,
    Reading,
    Spelling,
    Table,
    check_distinct,
    counted,
    first_line,
    listed,
    null_marks,
    require,
)
from .layout import COMMENT, Layout, find_layout, is_number
from .numerals import converted, is_text, numerals_of, told_of_commas, understand, understood
from .streams import Squeezed, check_unpacked, encoding_lines, inner_suffix, opened, text_encoding

PURPOSE = "Reading and writing CSV files"
HEAD_BYTES = 2**16
HEAD_LINES = 10
MOST_HEAD_BYTES = 2**26
"""The start of a file from which its layout is found: as many bytes as give some lines."""
MOST_BLOCK_BYTES = 2**27
"""Bytes that are parsed at a time when a file is read piece by piece."""
TAB_ENDINGS = (".tsv", ".tab")
OTHER = {"<!doctype html": "a web page", "<html": "a web page", "<?xml": "XML", "{": "JSON", "[{": "JSON", "[[": "JSON"}
"""How text starts that is something else."""
COMPLAINT = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)")
NO_NUMBER = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to double")


def read(path: Path, reading: Reading) -> Table:
    """All columns, with the types that their values have."""
    check_unpacked(path)
    source = _source(path, reading)
    with _one_sentence(path):
        columns = source.parsed()
        table = understood(columns, reading, source.texts, source.usual_decimal)
    return replace(table, understood=(*source.lines, *source.odd_lines(), *table.understood))


@dataclass
class Source:
    """A file, how Arrow shall parse it, and the lines that are not data."""

    path: Path
    layout: Layout
    encoding: str
    lines: tuple[str, ...]
    odd: list[Any] = field(default_factory=list)
    """Lines with too many or too few cells, which Arrow passed over."""

    @property
    def usual_decimal(self) -> str:
        """The likelier decimal sign: semicolons stand between the cells where commas stand within numbers."""
        return "," if self.layout.delimiter == ";" else "."

    def parsed(self, convert: Any = None) -> Any:
        """The table; where a line is odd, once more on one thread, which knows the line's number."""
        table = self._read(convert, threads=True)
        if self.odd:
            table = self._read(convert, threads=False)
        self.check_odd(table.num_rows)
        return table

    def texts(self, names: Sequence[str]) -> Any:
        """Some columns as the text that stands in the file."""
        pa = require("pyarrow", "cli", PURPOSE)
        return self.parsed(_convert(include_columns=list(names), column_types=dict.fromkeys(names, pa.string())))

    def pieces(self, convert: Any, block: int) -> Iterator[Any]:
        """The rows of one block after the other."""
        csv, pa = require("pyarrow.csv", "cli", PURPOSE), require("pyarrow", "cli", PURPOSE)
        self.odd.clear()
        options = self._options(convert, threads=False)
        options["read_options"].block_size = block
        with self._stream() as stream, csv.open_csv(stream, **options) as pieces:
            yield pa.Table.from_batches([], pieces.schema)
            for batch in pieces:
                yield pa.Table.from_batches([batch])

    def check_odd(self, n_rows: int) -> None:
        """Comments, blank lines and notes below the data may be passed over; anything else is an error."""
        for count, row in enumerate(self.odd):
            below = row.number is not None and row.number - self.layout.skipped - 1 - count >= n_rows
            note = below and row.actual_columns == 1 and not is_number(row.text) and row.text.count('"') % 2 == 0
            if not (note or self._is_blank(row) or row.text.lstrip().startswith(COMMENT)):
                line = f"Row #{row.number}: " if row.number is not None else ""
                raise ValueError(f"{line}Expected {row.expected_columns} columns, got {row.actual_columns}: {row.text}")

    def _is_blank(self, row: Any) -> bool:
        return not row.text.strip(f"{self.layout.delimiter} ")

    def odd_lines(self) -> tuple[str, ...]:
        """What to tell about lines that were passed over."""
        texts = [repr(row.text.strip()[:40]) for row in self.odd if not self._is_blank(row)]
        return (f"Passed over {counted(len(texts), 'line')} that held no data: {listed(texts, 3)}.",) if texts else ()

    def _read(self, convert: Any, *, threads: bool) -> Any:
        self.odd.clear()
        with self._stream() as stream:
            return require("pyarrow.csv", "cli", PURPOSE).read_csv(stream, **self._options(convert, threads=threads))

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        with opened(self.path) as stream:
            yield Squeezed(stream) if self.layout.aligned else stream

    def _options(self, convert: Any, *, threads: bool) -> dict[str, Any]:
        csv, layout = require("pyarrow.csv", "cli", PURPOSE), self.layout
        return {
            "read_options": csv.ReadOptions(
                encoding=self.encoding,
                skip_rows=layout.skipped,
                column_names=list(layout.names),
                use_threads=threads,
            ),
            "parse_options": csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=layout.quoted, invalid_row_handler=self._pass_over
            ),
            "convert_options": convert or _convert(),
        }

    def _pass_over(self, row: Any) -> str:
        self.odd.append(row)
        return "skip"


def _convert(**options: Any) -> Any:
    return require("pyarrow.csv", "cli", PURPOSE).ConvertOptions(null_values=null_marks(), **options)


def batches(path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int) -> Iterator[Table]:
    """Some columns, piece by piece; those in `numeric` must hold numbers."""
    pa = require("pyarrow", "cli", PURPOSE)
    source, block = _source(path, reading), min(MOST_BLOCK_BYTES, 8 * rows * (1 + len(columns)))
    with _one_sentence(path):
        first = _first(source.pieces(_convert(include_columns=list(columns)), block))
        kinds = {item.name: item.type for item in first.schema}
        texts = [name for name in numeric if not pa.types.is_boolean(kinds[name])]
        types = {name: pa.string() if is_text(kinds[name]) else pa.float64() for name in texts}
        numerals = numerals_of(first.select(list(numeric)))
        if told_of_commas(first.select(list(numeric)), reading, numerals, source.usual_decimal):
            as_text = _convert(include_columns=list(columns), column_types=dict.fromkeys(texts, pa.string()))
            first = _first(source.pieces(as_text, block))
            numerals = numerals_of(first.select(list(numeric)))
        found = understand(first.select(list(numeric)), reading, source.usual_decimal, numerals)
        commas = [name for name, spelling in found.spellings.items() if spelling.decimal == "," and name in types]
        types |= dict.fromkeys(commas, pa.string())
        usual = dict.fromkeys(types, Spelling())
        row, lines = 0, (*source.lines, *found.lines)
        for piece in _numeric_pieces(source, list(columns), types, block):
            piece, odd = converted(piece, {**usual, **found.spellings}, row)
            yield Table(columns=piece, spellings=found.spellings, understood=(*(() if row else lines), *odd))
            row += piece.num_rows
        source.check_odd(row)


def _numeric_pieces(source: Source, columns: list[str], types: dict[str, Any], block: int) -> Iterator[Any]:
    """The rows piece by piece; a column that turns out to hold other things than numbers is read as text from there."""
    pa, done = require("pyarrow", "cli", PURPOSE), 0
    while True:
        row = 0
        try:
            for piece in source.pieces(_convert(include_columns=columns, column_types=types), block):
                if row + piece.num_rows > done:
                    yield piece.slice(max(0, done - row))
                row += piece.num_rows
                done = max(done, row)
            return
        except pa.ArrowInvalid as error:
            column = NO_NUMBER.search(str(error))
            name = source.layout.names[int(column[1])] if column else None
            if name is None or types.get(name) != pa.float64():
                raise
            types[name] = pa.string()


def _first(pieces: Iterator[Any]) -> Any:
    """The first piece with rows; if there is none, one without."""
    empty = next(pieces)
    return next(pieces, empty)


def column_names(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    return list(_source(path, reading).layout.names)


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
    cells = COMPLAINT.search(text)
    if cells:
        line = f"line {cells[1]}" if cells[1] else "a line"
        return f"{line} has {counted(int(cells[3]), 'cell')} where the first has {cells[2]}: {cells[4][:60]!r}"
    if "straddl" in text:
        return "a line is longer than a megabyte, or a quote is never closed"
    return text


def _source(path: Path, reading: Reading) -> Source:
    """The file, and how Arrow shall parse it: its encoding, delimiter and header, from the first lines."""
    encoding = text_encoding(path, reading)
    text, whole = _head(path, encoding)
    delimiter = reading.delimiter or ("\t" if inner_suffix(path) in TAB_ENDINGS else None)
    layout = find_layout(text, delimiter, whole=whole)
    if not layout.names:
        raise FileError(f"{str(path)!r} holds no text.")
    check_distinct(path, layout.names)
    return Source(path, layout, encoding, (*encoding_lines(encoding, reading), *layout.lines))


def _head(path: Path, encoding: str) -> tuple[str, bool]:
    """The first lines, and whether they are all."""
    raw = b""
    with opened(path) as stream:
        while chunk := stream.read(HEAD_BYTES):
            raw += chunk
            if len(chunk) < HEAD_BYTES or len(re.findall(rb"[\r\n]", raw)) > HEAD_LINES or len(raw) > MOST_HEAD_BYTES:
                break
    text = raw.decode(encoding, errors="ignore").lstrip("\ufeff")
    if "\0" in text:
        raise FileError(f"{str(path)!r} holds binary data, not delimited text. Is its ending right?")
    for opening, what in OTHER.items():
        if text.lstrip().lower().startswith(opening):
            raise FileError(f"{str(path)!r} holds {what}, not delimited text. Save it as CSV.")
    return text, len(chunk) < HEAD_BYTES
