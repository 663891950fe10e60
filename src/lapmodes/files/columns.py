"""From named columns to a matrix of numbers: which columns can serve, and why others cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._records import Array
from .base import FileError, listed
from .numerals import is_text, split_text
from .screening import drop_option, screen

EXACT = 2**53
"""Whole numbers beyond this lose digits as floats."""
AS_ASKED = "left out as asked"
MOST_CATEGORIES = 50
"""A column of categories has at most so many different values."""
Categories = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of columns and the values that each of them has."""
NARROW = ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")
"""Types that single precision holds exactly."""


@dataclass(frozen=True)
class Choice:
    """Columns that are used, and those that are not with the reason."""

    names: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...] = ()
    """Sentences about columns that are used and may be no features."""


def choose(
    columns: Any, wanted: Sequence[str] | None, unwanted: Sequence[str], categories: Sequence[str] = ()
) -> Choice:
    """The columns asked for, or all that hold numbers and say something about how rows resemble each other.

    Those that are used as categories are not among them.
    """
    known = columns.column_names
    check_known([*(wanted or []), *unwanted], known)
    dropped = dict.fromkeys((name for name in wanted or known if name in unwanted), AS_ASKED)
    names = [name for name in wanted or known if name not in dropped and name not in categories]
    refused = {name: reason for name in names if (reason := why_not(columns, name)) is not None}
    if refused and wanted is not None:
        name, reason = next(iter(refused.items()))
        raise FileError(f"Column {name!r} cannot be used: {reason}.")
    numbers = [name for name in names if name not in refused and not is_vector(columns.column(name).type)]
    found = screen({name: _numbers(name, columns.column(name)) for name in numbers if wanted is None})
    refused |= found.dropped
    dropped |= refused
    names = [name for name in names if name not in refused]
    if not names and not categories:
        why = listed([f"{name!r} ({reason})" for name, reason in dropped.items()]) or "there is none"
        one_text = len(known) == 1 and "text" in why
        hint = "Is the delimiter right?" if one_text else "Columns of numbers that differ are needed."
        raise FileError(f"No column can be used: {why}. {hint}")
    in_order = tuple((name, dropped[name]) for name in wanted or known if name in dropped)
    return Choice(tuple(names), in_order, found.doubts)


def check_known(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that no column has."""
    there = set(known)
    missing = [name for name in names if name not in there]
    if missing:
        raise FileError(f"There is no column {missing[0]!r}; the columns are {listed(known, 8)}.")


def why_not(columns: Any, name: str) -> str | None:
    """Why a column cannot serve as numbers; None if it can."""
    import pyarrow.compute as pc
    from pyarrow import types

    column = columns.column(name)
    kind = column.type
    if types.is_null(kind):
        return "it has no values"
    if is_text(kind):
        return _text_reason(name, column)
    if is_vector(kind):
        return None if np.ptp(_lengths(column)) == 0 else "its lists have different lengths"
    if types.is_boolean(kind):
        return None
    if not is_number(kind):
        return f"it holds {in_words(kind)}, not numbers"
    low, high = (value.as_py() for value in pc.min_max(column).values())
    if low is None or low != low:
        return "it has no values"
    if types.is_integer(kind) and max(-low, high) > EXACT:
        return "its whole numbers are too long to be exact as floats, like an identifier's"
    return None


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is that of numbers, or of yes and no."""
    from pyarrow import types

    return any(check(kind) for check in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean))


def is_nested(kind: Any) -> bool:
    """Whether an Arrow type is that of lists or records."""
    from pyarrow import types

    return bool(types.is_nested(kind))


def in_words(kind: Any) -> str:
    """What values of a type are, for somebody who does not know Arrow."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return "categories"
    if types.is_temporal(kind):
        return "dates or times"
    return "records" if types.is_nested(kind) else str(kind)


def is_vector(kind: Any) -> bool:
    """Whether a column holds a list of numbers in each row, as embeddings are stored."""
    from pyarrow import types

    lists = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return bool(lists and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def find_categories(columns: Any, asked: Sequence[str], unwanted: Sequence[str]) -> Categories:
    """The columns asked for as categories with their values; "all" are those of text that have some and not many."""
    known = columns.column_names
    every = list(asked) == ["all"] and "all" not in known
    if not every:
        check_known(asked, known)
        if both := [name for name in asked if name in unwanted]:
            raise FileError(
                f"Column {both[0]!r} is in --categories and left out (--drop, --truth). Choose one of both."
            )
        return tuple((name, _values(name, columns.column(name))) for name in asked)
    found = {name: columns.column(name) for name in known if name not in unwanted and _is_word(columns, name)}
    counts = {name: len(encode(column)[0]) for name, column in found.items()}
    return tuple((name, _values(name, found[name])) for name in found if 2 <= counts[name] <= MOST_CATEGORIES)


def encode(column: Any) -> tuple[list[str], Array]:
    """The different values of a column as text, sorted, and which of them each row has; -1 where it has none."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = [_word(value) for value in coded.dictionary.to_pylist()]
    values = sorted({word for word in words if word})
    place = {word: i for i, word in enumerate(values)}
    codes = np.array([*(place.get(word, -1) for word in words), -1])
    rows = plain_array(coded.indices.cast(pa.int64()).fill_null(len(words)))
    return values, codes[rows]


def _is_word(columns: Any, name: str) -> bool:
    """Whether a column holds text or categories; numbers in text are numbers."""
    from pyarrow import types

    kind = columns.column(name).type
    return bool(is_text(kind) or types.is_dictionary(kind))


def _word(value: Any) -> str:
    """A value as text; whole numbers look the same whether or not they were read as floats."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _values(name: str, column: Any) -> tuple[str, ...]:
    """The values of a column of categories, if it can be one."""
    if is_nested(column.type):
        raise FileError(
            f"Column {name!r} of --categories holds {in_words(column.type)}. Name columns of words or codes."
        )
    values = encode(column)[0]
    if not 2 <= len(values) <= MOST_CATEGORIES:
        raise FileError(
            f"Column {name!r} of --categories must have 2 to {MOST_CATEGORIES} different values. It has "
            f"{len(values):,}. Leave it out, or join rare values."
        )
    return tuple(values)


def indicators(column: Any, values: Sequence[str]) -> Array:
    """A column for each value: 1 where a row has it, else 0; a missing value is NaN, one that is not known is 0."""
    present, codes = encode(column)
    place = {value: i for i, value in enumerate(values)}
    places = np.array([*(place.get(value, -1) for value in present), -2])[codes]
    block = (places[:, None] == np.arange(len(values))).astype(np.float32)
    block[places == -2] = np.nan
    return block


def to_matrix(columns: Any, names: Sequence[str], categories: Categories = ()) -> tuple[Array, tuple[str, ...]]:
    """The columns side by side, NaN where there is no value, and a name for each."""
    parts, labels, values = [], [], dict(categories)
    for name in names:
        column = columns.column(name)
        if name in values:
            block = indicators(column, values[name])
            labels += [f"{name}={value}" for value in values[name]]
        elif is_vector(column.type):
            block = _vectors(name, column)
            labels += [f"{name}_{i}" for i in range(block.shape[1])]
        else:
            block = _numbers(name, column)[:, None]
            labels.append(name)
        parts.append(block)
    narrow = all(part.dtype == np.float32 for part in parts)
    matrix = np.empty((columns.num_rows, len(labels)), dtype=np.float32 if narrow else np.float64)
    return np.concatenate(parts, axis=1, out=matrix, casting="same_kind"), tuple(labels)


def plain_array(column: Any) -> Array:
    """The numbers of a column without gaps. Arrow's own conversion would import pandas, where that is installed."""
    chunks = getattr(column, "chunks", [column])
    parts = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def arrow_array(values: Any) -> Any:
    """Numbers as an Arrow array, again without pandas; lists of other things as Arrow takes them."""
    import pyarrow as pa

    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        return values if hasattr(values, "type") else pa.array(values)
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _numbers(name: str, column: Any) -> Array:
    import pyarrow as pa

    narrow = str(column.type) in NARROW
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        kind = pa.float32() if narrow else pa.float64()
        values = column.cast(kind, safe=False).fill_null(pa.scalar(float("nan"), kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FileError(f"Column {name!r} must hold numbers. It holds {column.type}.") from error
    return plain_array(values)


def _lengths(column: Any) -> Array:
    import pyarrow.compute as pc

    return plain_array(pc.list_value_length(column).fill_null(-1))


def _vectors(name: str, column: Any) -> Array:
    column = column.combine_chunks()
    lengths = _lengths(column)
    if len(lengths) == 0 or np.ptp(lengths) != 0 or lengths[0] < 1:
        raise FileError(f"The lists in column {name!r} must all have one length. Drop the column or repair it.")
    return _numbers(name, column.flatten()).reshape(len(column), -1)


def _text_reason(name: str, column: Any) -> str:
    """Text is left out; but where most values are numbers, the odd ones are named and have to be repaired."""
    import pyarrow.compute as pc

    numbers, others = (pc.indices_nonzero(mask) for mask in split_text(column))
    odd = [(row, column[row].as_py()) for row in others.slice(0, 4).to_pylist()]
    if len(numbers) == 0 or len(numbers) <= len(others):
        return f"it holds text, such as {odd[0][1][:30]!r}" if odd else "it holds blank text"
    if odd:
        more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
        what = f"numbers and text: {', '.join(f'{value!r} in row {row + 1}' for row, value in odd[:3])}{more}"
    elif len(kinds := _unlike(column)) > 1:
        what = f"numbers that cannot all be read in one way, such as {listed(kinds, 3)}"
    else:
        what = f"numbers such as {kinds[0]}, which do not fit the decimal sign that was asked for"
    raise FileError(f"Column {name!r} holds {what}. Repair it, or leave it out: {drop_option([name])}.")


def _unlike(column: Any) -> list[str]:
    """The first value of each kind, where values of one kind hold the same signs."""
    first: dict[str, str] = {}
    for value in column.to_pylist():
        first.setdefault(re.sub(r"\d+", "1", value or ""), repr(value))
    return [value for kind, value in first.items() if kind.strip()]
