"""How a column writes its numbers: decimal commas, thousands signs, percent and currency signs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .base import FileError, Reading, Spelling, Table, counted, listed, null_marks
from .layout import without_totals

LOOKED_AT = 1000
"""Cells that tell whether a column of text may hold numbers."""
FEW_THOUSANDS = 10
"""Numbers as 1.234 that may tell that thousands are meant."""
FEW = 0.1
"""Cells that hold no number count as missing if they are at most this share of a column."""
SPACES = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'\u2019"
MONEY = r"[$£¥¢\x{20a0}-\x{20cf}]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|kr|zł|Kč|Fr\."
MEASURE = (
    r"%|‰|°C|°F|°|kg|mg|[µμ]g|lbs?|oz|km/h|m/s|mph|mm|cm|km|m²|m³|ft|mi|ml|cl|ms|sec|min|hrs?|hPa|kPa|mbar|bar|"
    rf"mV|mA|kWh?|kHz|MHz|Hz|ppm|ppb|dB|px|[{SPACES}](?:g|m|l|L|s|h|V|A|W|K|t)"
)
CELL = (
    rf"^(?P<sign>[-+\x{{2212}}(]?)[{SPACES}]*(?P<before>(?:{MONEY})?)[{SPACES}]*(?P<late_sign>[-+\x{{2212}}]?)"
    rf"(?P<body>(?:[0-9][0-9.,{APOSTROPHES}{SPACES}]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?)"
    rf"(?P<after>(?:{MONEY}|{MEASURE})?)(?P<end>[-)]?)$"
)
"""A number with its sign and its unit, in Arrow's regular expressions."""
SIGNS = {"": "", "+": "", "-": "-", "\u2212": "-", "()": "-"}
"""What stands around a number, and its sign: minus before it, behind it, or as bookkeepers write it."""
OTHER_SIGN = {".": ",", ",": "."}
SIGN_NAMES = {".": "points", ",": "commas"}


def _body(decimal: str) -> str:
    """Digits, in thousands or not, and what follows the decimal sign."""
    signs = (f"\\{OTHER_SIGN[decimal]}", f"[{SPACES}]", f"[{APOSTROPHES}]")
    groups = "|".join(f"(?:{sign}[0-9]{{3}})+" for sign in signs)
    whole = rf"(?:[1-9][0-9]{{0,2}}(?:{groups})|[0-9]+)"
    return rf"^(?:{whole}(?:\{decimal}[0-9]*)?|\{decimal}[0-9]+)(?:[eE][-+]?[0-9]+)?[{SPACES}]*$"


BODY = {decimal: _body(decimal) for decimal in OTHER_SIGN}


@dataclass(frozen=True)
class Numerals:
    """A column of text of which every value is a number in one way of writing, or in two."""

    decimals: frozenset[str]
    """The decimal signs with which all values are numbers."""
    unit: str
    signs: Any
    bodies: Any
    """Digits and the signs between them; null where a value is missing."""
    odd: tuple[tuple[int, str], ...] = ()
    """Rows, from 0, with a cell that holds no number, and what it holds; these are null too."""
    brackets: bool = False
    """Whether a number in brackets is below zero."""

    def holds(self, signs: str) -> bool:
        """Whether one of the signs stands between the digits of any value."""
        import pyarrow.compute as pc

        return bool(pc.any(pc.match_substring_regex(self.bodies, f"[0-9][{signs}]+[0-9]|^[{signs}][0-9]")).as_py())

    @property
    def ambiguous(self) -> bool:
        """Whether the numbers depend on which sign is the decimal one, as those of 1,234 do."""
        return len(self.decimals) > 1 and self.holds(".,")

    def numbers(self, decimal: str) -> Any:
        """The values as floats."""
        import pyarrow as pa
        import pyarrow.compute as pc

        group = f"[{OTHER_SIGN[decimal]}{APOSTROPHES}{SPACES}]"
        bodies = pc.replace_substring(pc.replace_substring_regex(self.bodies, group, ""), decimal, ".")
        return pc.cast(pc.binary_join_element_wise(self.signs, bodies, ""), pa.float64())

    def in_words(self, spelling: Spelling) -> str:
        """What is unusual about the numbers; empty if nothing is."""
        group = OTHER_SIGN[spelling.decimal]
        found = [
            ("decimal commas", spelling.decimal == "," and self.holds(",")),
            (f"thousands {SIGN_NAMES[group]}", self.holds(group)),
            ("thousands spaces", self.holds(SPACES)),
            ("thousands apostrophes", self.holds(APOSTROPHES)),
            ("brackets for a minus", self.brackets),
            (f"unit {self.unit}" if self.unit.isalpha() else f"{self.unit} signs", bool(self.unit)),
        ]
        return " and ".join(words for words, there in found if there)


@dataclass(frozen=True)
class Understanding:
    """How the columns of a file write their numbers, and what to tell the reader about it."""

    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def split_text(column: Any) -> tuple[Any, Any]:
    """Which values of a column of text are numbers in some way of writing, and which are something else."""
    import pyarrow.compute as pc

    text = _without_marks(column)
    numbers = _are_numerals(parsed_rows(text))
    return numbers, pc.and_not(pc.is_valid(text), numbers)


def parsed(column: Any) -> Numerals | None:
    """The numbers of a column of text; None if more than a few values are none, or if they have several units."""
    import pyarrow.compute as pc

    some = _without_marks(column.slice(0, LOOKED_AT)).drop_null()
    if len(some) and 2 * pc.sum(_are_numerals(parsed_rows(some))).as_py() < len(some):
        return None
    text = _without_marks(column)
    cells, known = parsed_rows(text), len(text) - text.null_count
    fits, signs = _fits(cells), _signs(cells)
    numbers = pc.and_(pc.or_(*fits.values()), pc.is_valid(signs))
    odd = pc.indices_nonzero(pc.and_not(pc.is_valid(text), numbers)).to_pylist()
    if known == 0 or len(odd) > FEW * known:
        return None
    decimals = frozenset(
        sign for sign, fit in fits.items() if pc.sum(pc.and_(fit, numbers)).as_py() == known - len(odd)
    )
    if odd:
        cells, signs = pc.if_else(numbers, cells, None), pc.if_else(numbers, signs, None)
    units = pc.unique(pc.binary_join_element_wise(_field(cells, "before"), _field(cells, "after"), "")).drop_null()
    if len(units) > 1 or not decimals:
        return None
    brackets = bool(pc.any(pc.equal(_field(cells, "end"), ")")).as_py())
    values = tuple((row, column[row].as_py()) for row in odd)
    bodies = pc.utf8_trim(_field(cells, "body"), SPACES)
    return Numerals(decimals, units[0].as_py().strip(SPACES), signs, bodies, values, brackets)


def parsed_rows(text: Any) -> Any:
    """The parts of each number; null where there is none."""
    import pyarrow.compute as pc

    return pc.extract_regex(text, CELL)


def _are_numerals(cells: Any) -> Any:
    """Whether the parts are those of a number in some way of writing."""
    import pyarrow.compute as pc

    return pc.and_(pc.or_(*_fits(cells).values()), pc.is_valid(_signs(cells)))


def _fits(cells: Any) -> dict[str, Any]:
    """For each decimal sign, which values are numbers with it."""
    import pyarrow.compute as pc

    bodies = _field(cells, "body")
    return {sign: pc.fill_null(pc.match_substring_regex(bodies, body), False) for sign, body in BODY.items()}


def _signs(cells: Any) -> Any:
    """The sign of each number; null where what stands around it makes no sense."""
    import pyarrow as pa
    import pyarrow.compute as pc

    around = [_field(cells, part).cast(pa.string()) for part in ("sign", "late_sign", "end")]
    place = pc.index_in(pc.binary_join_element_wise(*around, ""), value_set=pa.array(list(SIGNS)))
    return pc.take(pa.array(list(SIGNS.values())), place)


def understand(
    columns: Any, reading: Reading, usual: str = ".", found: Mapping[str, Numerals] | None = None
) -> Understanding:
    """How each column of text writes its numbers, from all of its values.

    A column in which 1,234 may be a thousand or not follows the other columns, and `usual` if they do not tell.
    `found` are the columns of text that hold numbers, where they are known already.
    """
    from pyarrow import types

    found = numerals_of(columns) if found is None else found
    definite = {sign for numerals in found.values() if len(numerals.decimals) == 1 for sign in numerals.decimals}
    evidence = definite if reading.decimal is None else {reading.decimal}
    spellings: dict[str, Spelling] = {}
    said: dict[str, list[str]] = {}
    for name, numerals in found.items():
        sure = numerals.decimals if len(numerals.decimals) == 1 else evidence
        spelling = Spelling(next(iter(sure)) if len(sure) == 1 else usual, numerals.unit)
        if reading.decimal not in (None, spelling.decimal) or name in reading.spellings:
            continue
        words = numerals.in_words(spelling)
        if numerals.ambiguous and len(sure) != 1:
            words += f" (a guess: if that is wrong, use --decimal '{OTHER_SIGN[usual]}')"
        spellings[name] = spelling
        said.setdefault(words, []).append(repr(name))
    if evidence == {","}:  # where this file has whole numbers only, the next one may have decimals or thousands
        spellings |= {item.name: Spelling(",") for item in columns.schema if types.is_integer(item.type)}
    known = {name: reading.spelling_of(name) for name in reading.spellings if name in columns.column_names}
    lines = [f"Read {listed(names)} with {words}." for words, names in said.items() if words]
    return Understanding(spellings | known, tuple(lines))


def understood(
    columns: Any, reading: Reading, as_text: Callable[[Sequence[str]], Any] | None = None, usual: str = "."
) -> Table:
    """The table with numbers in text made numbers; `as_text` reads columns again that Arrow took for floats.

    That is needed where 1.234 may mean 1234, which only the other columns tell.
    """
    from pyarrow import types

    floats = [item.name for item in columns.schema if as_text is not None and types.is_floating(item.type)]
    found = numerals_of(columns)
    texts = columns
    if as_text is not None and floats and told_of_commas(columns, reading, found, usual):
        texts = replaced(columns, as_text(floats), floats)
        found |= numerals_of(texts.select(floats))
    understanding = understand(texts, reading, usual, found)
    spellings = understanding.spellings
    if reading.decimal is None and texts is not columns:
        texts = replaced(texts, columns, [name for name in floats if name not in spellings])
    numbers, odd = converted(texts, spellings, 0, found)
    kept, totals = without_totals(texts, numbers)
    lines = (*understanding.lines, *(totals or odd))
    return Table(columns=kept, spellings=spellings, understood=lines)


def told_of_commas(columns: Any, reading: Reading, found: Mapping[str, Numerals], usual: str) -> bool:
    """Whether there is reason to doubt that 1.234 is less than two: a wish, an earlier file, or the columns."""
    told = reading.decimal == "," or bool(reading.spellings)
    told = told or any(numerals.holds(".,") for numerals in found.values())
    return told or (usual == "," and any(_may_be_thousands(column) for column in columns.columns))


def _may_be_thousands(column: Any) -> bool:
    """Whether floats are thousandths from one on, and below a thousand where they are whole: 950 beside 1.234."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return False
    sizes = pc.abs(column.drop_null())
    whole = pc.equal(sizes, pc.floor(sizes))
    others = sizes.filter(pc.invert(whole))
    if len(others) < FEW_THOUSANDS or len(others) == len(sizes) or pc.min(others).as_py() < 1:
        return False
    rest = pc.abs(pc.subtract(pc.multiply(others, 1000.0), pc.round(pc.multiply(others, 1000.0))))
    return bool(pc.max(rest).as_py() < 1e-6 and pc.max(sizes.filter(whole)).as_py() < 1000)


def replaced(columns: Any, others: Any, names: Sequence[str]) -> Any:
    """The table with some of its columns from another table."""
    import pyarrow as pa

    wanted = set(names)
    parts = [others.column(name) if name in wanted else columns.column(name) for name in columns.column_names]
    return pa.table(parts, names=columns.column_names) if wanted else columns


def converted(
    columns: Any,
    spellings: Mapping[str, Spelling],
    first_row: int = 0,
    found: Mapping[str, Numerals] | None = None,
) -> tuple[Any, tuple[str, ...]]:
    """The table with its columns of text as numbers where a spelling is known for them, and what is not a number."""
    import pyarrow as pa

    lines, numbers = [], {}
    for name in (item.name for item in columns.schema if item.name in spellings and is_text(item.type)):
        numerals = (found or {}).get(name) or parsed(columns.column(name))
        if numerals is not None and numerals.odd:
            lines.append(_odd_line(name, numerals.odd, first_row))
        numbers[name] = _numbers(name, columns.column(name), numerals, spellings[name], first_row)
    return replaced(columns, pa.table(numbers), list(numbers)), tuple(lines)


def _odd_line(name: str, odd: Sequence[tuple[int, str]], first_row: int) -> str:
    places = listed([f"{value[:30]!r} in row {first_row + row + 1}" for row, value in odd], 3)
    return f"Took {counted(len(odd), 'cell')} of {name!r} without a number as missing: {places}."


def numerals_of(columns: Any) -> dict[str, Numerals]:
    """The columns of text that hold numbers."""
    texts = [item.name for item in columns.schema if is_text(item.type)]
    return {name: numerals for name in texts if (numerals := parsed(columns.column(name))) is not None}


def _numbers(name: str, column: Any, numerals: Numerals | None, spelling: Spelling, first_row: int) -> Any:
    """The values as floats; the first that is not written this way is named."""
    import pyarrow as pa

    if numerals is not None and spelling.decimal in numerals.decimals and numerals.unit == spelling.unit:
        return numerals.numbers(spelling.decimal)
    for row, value in enumerate(_without_marks(column).to_pylist()):
        one = None if value is None else parsed(pa.chunked_array([[value]]))
        if value is not None and (one is None or spelling.decimal not in one.decimals or one.unit != spelling.unit):
            raise FileError(
                f"Column {name!r} must hold numbers with decimal {SIGN_NAMES[spelling.decimal]}"
                f"{f' and {spelling.unit} signs' if spelling.unit else ''}, as in the fit. Got {value!r} in row "
                f"{first_row + row + 1}. Repair it, or say how numbers are written: --decimal SIGN."
            )
    return pa.nulls(len(column), pa.float64())


def _without_marks(column: Any) -> Any:
    """The text without space around it; null where it says that there is no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = pc.is_in(text, value_set=pa.array(sorted({mark.strip() for mark in null_marks()})))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def _field(cells: Any, name: str) -> Any:
    import pyarrow.compute as pc

    return pc.struct_field(cells, name)
