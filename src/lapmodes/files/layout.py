"""Where the data of a text table or of a sheet begin and end: titles, comments, header, units, totals."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .base import counted, listed

DELIMITERS = ",;\t|"
COMMENT = "#"
LONGEST = 40
"""Signs of a number with its unit."""
LOOKED_AT = 30
"""Rows from which the header is found."""
MOST_TITLES = 20
MOSTLY = 0.7
"""A column of numbers may hold some other cells."""
NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
MEASURE = re.compile(
    r"[-+(\u2212]?\s*(\W|[A-Z]{3})?\s*[-+]?(\d{1,3}([.,'\u2019\s]\d{3})+|\d+)?([.,]?\d+|[.,])?([eE][-+]?\d+)?"
    r"\s*(\W|\W?[A-Za-z]{1,3})?\s*[-)]?"
)
"""A number, perhaps with a currency sign before it or a unit behind it."""
UNIT = re.compile(r"\(.{1,12}\)|\[.{1,12}\]|.{0,3}[°%µμ/²³].{0,6}|[A-Za-z]{1,3}|hPa|mbar")
NO_VALUE = re.compile(r"\W{1,3}|n\W?\s?[ad]\W?|null|none|nan|missing", re.IGNORECASE)
SUMS = {"total", "totals", "grand total", "sum", "sums", "summe", "gesamt", "gesamtsumme", "insgesamt", "somme"}
SUMS |= {"total général", "totale", "suma", "totaal", "summa", "razem"}
MEANS = {"average", "mean", "mittelwert", "durchschnitt", "moyenne", "media", "gemiddelde", "medelvärde", "średnia"}
"""How a row begins that sums up those above it, or averages them."""


@dataclass(frozen=True)
class Header:
    """The names of columns and where the data begin."""

    names: tuple[str, ...]
    first: int
    """Rows before the first row of data."""
    lines: tuple[str, ...] = ()
    """What was passed over, for the person who reads it."""


@dataclass(frozen=True)
class Layout:
    """How a text table is laid out."""

    delimiter: str
    names: tuple[str, ...]
    skipped: int
    """Lines before the first line of data."""
    aligned: bool = False
    """Whether several spaces may stand between cells."""
    quoted: bool = False
    lines: tuple[str, ...] = ()


def find_layout(text: str, delimiter: str | None, *, whole: bool) -> Layout:
    """The layout of a table from its first lines; `whole` says that there are no others."""
    said = re.match(r"sep=(.)\s*[\r\n]+", text)  # how Excel is told the delimiter
    above, text = (1, text[said.end() :]) if said else (0, text)
    lines = [line for line in io.StringIO(text, newline="") if line.strip()]
    lines = lines if whole or len(lines) < 2 else lines[:-1]
    comments = [line for line in lines if line.lstrip().startswith(COMMENT)]
    mark = COMMENT if 2 * len(comments) < len(lines) else None
    lines = [line.strip("\r\n") for line in lines if mark is None or line not in comments]
    if not lines:
        return Layout(",", (), 0)
    sign = delimiter or (said[1] if said else guess_delimiter(lines))
    aligned = sign == " " and any("  " in line.strip() for line in lines)
    rows, ends, comment = _rows(text, sign, mark, aligned=aligned)
    rows = rows if whole or len(rows) < 2 else rows[:-1]
    if not rows:
        return Layout(",", (), 0)
    header = find_header(rows, comment)
    skipped = ends[header.first - 1] if header.first else ends[0] - 1
    return Layout(sign, header.names, above + skipped, aligned, '"' in text, header.lines)


def _rows(text: str, sign: str, mark: str | None, *, aligned: bool) -> tuple[list[list[str]], list[int], list[str]]:
    """The cells of each row, the line on which it ends, and the cells of the last comment before them."""
    rows: list[list[str]] = []
    ends: list[int] = []
    comment: list[str] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
    for cells in _until_error(reader):
        cells = [cell.strip() for cell in cells if cell or not aligned]
        if mark is not None and cells and cells[0].startswith(mark):
            first = cells[0].removeprefix(mark)
            comment = comment if rows else [first, *cells[1:]] if first.strip() else cells[1:]
        elif any(cells):
            rows.append(cells)
            ends.append(reader.line_num)
    return rows, ends, comment


def _until_error(reader: Any) -> Iterator[list[str]]:
    """What can be split; Arrow says what is wrong with the rest."""
    try:
        yield from reader
    except csv.Error:
        return


def find_header(rows: Sequence[Sequence[str]], comment: Sequence[str] = ()) -> Header:
    """The names of columns in the first rows, which may be preceded by titles and followed by units."""
    usual = Counter(len(row) for row in rows[-LOOKED_AT:]).most_common(1)[0][0]
    shorter = any(len(row) == usual - 1 for row in rows[:MOST_TITLES])
    if usual > 2 and shorter and all(row[-1] == "" for row in rows if len(row) == usual):  # rows end with a delimiter
        header = find_header([row[:-1] if len(row) == usual else row for row in rows], comment)
        return replace(header, names=(*header.names, *named([""] * usual)[len(header.names) :]))
    first = _n_titles(rows, usual)
    titles = [repr(" ".join(filter(None, row))[:40]) for row in rows[:first]]
    lines = [f"Passed over {counted(first, 'line')} above the table: {listed(titles, 3)}."] if titles else []
    row, data = rows[first], rows[first + 1 : first + LOOKED_AT]
    if len(comment) == len(row) > 1 and not _is_header(row, data):
        return Header(named(comment), first, tuple(lines))
    if _is_data(row, data):
        if not all(map(is_number, filter(None, row))):
            lines.append("Took the first line as data, since it holds numbers as the next ones do.")
        return Header(named([""] * len(row)), first, tuple(lines))
    numbers = [cell for cell in row if is_number(cell)]
    if numbers and not _are_labels(numbers):
        lines.append(f"Took the first line as names of columns, though it holds numbers ({listed(numbers, 3)}).")
    names, first = list(row), first + 1
    if len(names) == usual - 1:  # names of rows without a heading
        names = ["", *names]
    if first < len(rows) and _is_second_header(rows[first], rows[first + 1 : first + LOOKED_AT]):
        second, first = rows[first], first + 1
        if any(other and not name for name, other in zip(names, second, strict=False)):
            names = _joined(names, second)
        else:
            lines.append(f"Passed over a row of units: {listed([cell for cell in second if cell])}.")
    return Header(named(names), first, tuple(lines))


def named(names: Sequence[str]) -> tuple[str, ...]:
    """The names without space around them; a column without a name is called by its number."""
    return tuple(" ".join(name.split()) or f"column_{i + 1}" for i, name in enumerate(names))


def is_number(cell: str) -> bool:
    """Whether a cell holds nothing but a number."""
    return NUMBER.fullmatch(cell) is not None


def _is_measure(cell: str) -> bool:
    """Whether a cell holds a number, perhaps with a unit."""
    return len(cell) <= LONGEST and any(map(str.isdigit, cell)) and MEASURE.fullmatch(cell) is not None


def _n_titles(rows: Sequence[Sequence[str]], usual: int) -> int:
    """How many of the first rows are above the table: a single cell, or another number of cells than the others."""
    full = (i for i, row in enumerate(rows[:MOST_TITLES]) if len(row) == usual and sum(map(bool, row)) > 1)
    first = next(full, 0) if usual > 1 else 0
    if not any(map(_is_measure, rows[first])):
        return first
    for fewest in (1, 2):  # this is a row of data: one or two rows above it, with a cell less, may be its header
        above = rows[first - 1] if first else ()
        if len(above) in (usual, usual - 1) and sum(map(bool, above)) >= fewest and not any(map(_is_measure, above)):
            first -= 1
    return first


def _is_header(row: Sequence[str], data: Sequence[Sequence[str]]) -> bool:
    """Whether a row has words where the next rows have numbers."""
    if any(map(_is_measure, row)):
        return False
    return any(_is_measure(cell) for other in data for cell, name in zip(other, row, strict=False) if name)


def _is_data(row: Sequence[str], data: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is one of data: numbers only, or fractions among words as in the next rows."""
    filled = [cell for cell in row if cell]
    numbers = [cell for cell in filled if is_number(cell)]
    if len(numbers) == len(filled):
        index = row[0] == "" and all(other[0] for other in data)  # the rows have names and that column has none
        return not (_are_labels(numbers) and (len(numbers) > 3 or index))
    if not data or all(re.fullmatch(r"\d+", cell) for cell in numbers):
        return False
    return all([is_number(cell) for cell in row] == [_is_measure(cell) for cell in other] for other in data[:5])


def _are_labels(numbers: Sequence[str]) -> bool:
    """Whether numbers may be names of columns: years, or a count."""
    if not all(re.fullmatch(r"\d+", cell) for cell in numbers):
        return False
    values = [int(cell) for cell in numbers]
    return all(1500 <= value <= 2100 for value in values) or values == list(range(values[0], values[0] + len(values)))


def _is_second_header(row: Sequence[str], data: Sequence[Sequence[str]]) -> bool:
    """Whether a row has words in the columns in which the rows below it have numbers, and in no others."""
    data = [other for other in data if len(other) in (len(row), len(row) + 1)]
    if not data or any(map(_is_measure, row)):
        return False
    words: dict[bool, list[str]] = {True: [], False: []}
    for i, cell in enumerate(row):
        known = [other[i] for other in data if _is_word(other[i])]
        if known and _is_word(cell):
            words[sum(map(_is_measure, known)) > MOSTLY * len(known)].append(cell)
    if not words[True] or words[False]:
        return False
    return len(words[True]) > 1 or UNIT.fullmatch(words[True][0]) is not None


def _is_word(cell: str) -> bool:
    """Whether a cell says something else than that there is no value."""
    return cell == "%" or (cell != "" and NO_VALUE.fullmatch(cell) is None)


def _joined(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Names of two rows, where an upper one stands for several columns."""
    names, group = [], ""
    for above, below in zip(upper, lower, strict=False):
        group = above or group
        names.append(f"{group} {below}".strip() if below else above)
    return names


def guess_delimiter(lines: Sequence[str]) -> str:
    """The sign that splits the most lines into the same number of cells, more than one; else spaces, if they do so.

    Commas come last, since they may stand within numbers too.
    """

    def evenness(sign: str) -> tuple[float, bool, int]:
        counts = [line.count(sign) for line in lines[:100]]
        usual = max(set(counts), key=counts.count)
        return (counts.count(usual) / len(counts), sign != ",", usual) if usual else (0.0, False, 0)

    best = max(DELIMITERS, key=evenness)
    numbers = [_is_measure(line.strip()) for line in lines[1:]]
    inside = [number or best not in line for number, line in zip(numbers, lines[1:], strict=True)]
    cells = [line.split() for line in lines]
    even = len({len(row) for row in cells[1:]} - {0, 1}) == 1
    figures = [is_number(cell) for row in cells[1:] for cell in row]
    if even and not any(best in line for line in lines) and sum(figures) > MOSTLY * len(figures):
        return " "
    if best not in lines[0] and all(inside) and sum(numbers) > MOSTLY * len(numbers):
        return ";"  # one column, perhaps with decimal commas
    if any(best in line for line in lines):
        return best
    return " " if even and len({len(row) for row in cells[1:]}) == 1 else ","


def without_totals(texts: Any, numbers: Any) -> tuple[Any, tuple[str, ...]]:
    """The table without a last row that sums up the others, and a sentence about it."""
    import pyarrow.compute as pc

    last = numbers.num_rows - 1
    cells = [str(column[last].as_py() or "").strip() for column in texts.columns] if last > 2 else []
    word = next((cell for cell in cells if cell), "")
    plain = word.strip(" :").lower()
    rule = pc.sum if plain in SUMS else pc.mean if plain in MEANS else None
    if rule is None or not any(_is_result(column, rule) for column in numbers.columns):
        return numbers, ()
    return numbers.slice(0, last), (f"Passed over the last row, which sums up the others ({word!r}).",)


def _is_result(column: Any, rule: Any) -> bool:
    """Whether the last value comes from the others by this rule, within rounding."""
    from pyarrow import types

    if not (types.is_integer(column.type) or types.is_floating(column.type)) or column[-1].as_py() is None:
        return False
    found, value = rule(column.slice(0, len(column) - 1)).as_py(), float(column[-1].as_py())
    return found is not None and abs(float(found) - value) <= 1e-3 * max(abs(value), 1e-9)
