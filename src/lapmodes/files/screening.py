"""Which columns of numbers are no features: empty, constant, mostly missing, identifiers, and repeats of others.

What is surely no feature is left out with a reason. What is only doubtful is used, with a note.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .._records import Array
from .._rows import adjusted_rand
from .base import listed

MOSTLY = 0.5
"""A column with a larger share of missing values is left out."""
IDENTIFIER = {"id", "ids", "uuid", "guid", "pk", "identifier", "rowid"}
"""Words of names that only identifiers have, at the start or the end."""
JOINED = re.compile(
    r"(user|row|order|customer|client|item|product|passenger|patient|student|subject|sample|person|record|object|"
    r"session|transaction|account|employee|member|event|case|trip|store|station|device|sensor)id|\w*(nummer|_?nr)"
)
"""Names of identifiers in one word."""
COUNTER = {"key", "nr", "no", "num", "number", "numero", "n°", "nº", "№", "#", "index", "idx", "row", "rows"}
COUNTER |= {"rownames", "rownum", "serial", "record", "obs", "seq", "lfd"}
"""Words that identifiers have, and features too: the values must be all different."""
CODE = {"code", "codes", "zip", "zipcode", "postcode", "postal", "plz", "fips", "isbn", "ean", "phone", "telephone"}
"""Words for numbers that name things and measure nothing."""
RANK = {"rank", "ranking", "position", "place"}
FEW_ROWS = 10
"""In fewer rows, whole numbers may all be different by chance."""
DENSE = 0.5
ROUNDING = 1e-9
LINEAR, NEARLY = 0.9995, 0.995
"""Correlations of columns that may repeat each other, and that nearly do."""
SAMPLE = 2000
"""Rows on which columns are compared first."""
MOST_COLUMNS, MOST_PAIRS = 1000, 1000
"""Columns that are compared with each other, and pairs of like ones that are looked at closely."""
SAME = 0.9
"""Adjusted Rand index from which clusters are the values of a column, but for some rows."""
PURE = 0.99


@dataclass(frozen=True)
class Screening:
    """Columns that are no features with the reason, and sentences about those that may be none."""

    dropped: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def screen(columns: Mapping[str, Array]) -> Screening:
    """What speaks against columns of numbers, in which NaN stands for a missing value."""
    columns = {name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()}
    dropped = {name: reason for name, values in columns.items() if (reason := why_no_feature(name, values)) is not None}
    rest = {name: values[~np.isnan(values)] for name, values in columns.items() if name not in dropped}
    repeats, nearly = find_repeats({name: columns[name] for name in rest})
    alike: dict[str, list[str]] = {}
    marks: dict[float, list[str]] = {}
    for name, known in rest.items():
        why, mark = why_doubtful(name, known), _sentinel(known)
        if why is not None and name not in repeats:
            alike.setdefault(why, []).append(name)
        elif mark is not None and name not in repeats:
            marks.setdefault(mark, []).append(name)
    doubts = [_doubt(names, why) for why, names in alike.items()]
    doubts += [
        f"{mark:g} stands far from all else in {listed([repr(name) for name in names])}, and counts as a number. If it "
        f"marks a missing value, make these cells blank in the file, or leave the column out: {drop_option(names)}."
        for mark, names in marks.items()
    ]
    return Screening(dropped | repeats, (*doubts, *nearly))


def _doubt(names: Sequence[str], why: str) -> str:
    """A sentence about columns that may be no features, and how to leave them out."""
    shown, several = listed([repr(name) for name in names]), len(names) > 1
    return (
        f"Column{'s' if several else ''} {shown} may be no feature{'s' if several else ''}: {why}. "
        f"To leave {'them' if several else 'it'} out: {drop_option(names)}."
    )


def why_no_feature(name: str, values: Array) -> str | None:
    """Why a column says nothing about how rows resemble each other; None if it may."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return "it has no values"
    low, high = float(known.min()), float(known.max())
    if high - low <= 4 * np.finfo(values.dtype).eps * max(abs(low), abs(high)):
        where = "in every row" if known.size == values.size else "wherever it has a value"
        return f"it is {low:g} {where}"
    gaps = 1 - known.size / values.size
    if gaps > MOSTLY:
        return f"it is missing in {100 * gaps:.0f} % of the rows"
    return _why_identifier(name, values.size, known)


def _why_identifier(name: str, n_rows: int, known: Array) -> str | None:
    """Why whole numbers are those of an identifier: by their name, or because they count the rows."""
    if not _whole(known):
        return None
    low, distinct = float(known.min()), np.unique(known).size
    different, words = distinct == known.size, words_of(name)
    if different and known.size == n_rows and known.max() - low == n_rows - 1 and low in (0.0, 1.0):
        if n_rows > 2 and (np.diff(known) == 1).all():
            return "it only counts the rows"
        if n_rows >= FEW_ROWS and not RANK & set(words):
            return f"it holds each number from {low:.0f} to {known.max():.0f} once, as an identifier does"
    named = _names_identifier(words)
    if different and (named or _names_counter(words, known)):
        return "its name and its whole numbers, all different, are those of an identifier"
    if named and distinct > 2 and (len(words) > 1 or distinct > DENSE * known.size):
        return "its name and its whole numbers are those of an identifier"
    if known.size >= FEW_ROWS and _are_dates(known):
        return f"its whole numbers are dates, such as {low:.0f}"
    return None


def why_doubtful(name: str, known: Array) -> str | None:
    """Why a column may be no feature, from its values without gaps; None if nothing speaks against it."""
    many, steps, words = known.size >= FEW_ROWS, np.diff(known), words_of(name)
    if many and steps[0] != 0 and np.abs(steps - steps[0]).max() <= 1e-6 * abs(steps[0]):
        return f"the values change by {steps[0]:g} from row to row, as row numbers and clocks do"
    span, whole = float(np.ptp(known)) + 1, _whole(known)
    distinct = np.unique(known).size if whole else 0
    different = many and distinct == known.size
    if different and (span == distinct or (_monotone(steps) and distinct > DENSE * span)):
        return "the whole numbers follow one another, as those of identifiers do"
    if whole and span > 2 and (_names_identifier(words) or (different and words[-1] in COUNTER)):
        return "the name is that of an identifier"
    if whole and span > 2 and CODE & set(words):
        return "the name is that of a code, and codes measure nothing"
    return None


def find_repeats(columns: Mapping[str, Array]) -> tuple[dict[str, str], list[str]]:
    """Columns that are equal to, or linear in, an earlier one; and a sentence about those that nearly are."""
    names = list(columns)
    if not 2 <= len(names) <= MOST_COLUMNS or columns[names[0]].size < FEW_ROWS:
        return {}, []
    alike = _correlations([columns[name] for name in names])
    pairs = [(int(j), int(i)) for j, i in np.argwhere(np.tril(alike > NEARLY, -1))]
    pairs.sort(key=lambda pair: (-round(float(alike[pair]), 6), pair))
    repeats: dict[str, str] = {}
    nearly: list[tuple[str, str, float]] = []
    for j, i in pairs[:MOST_PAIRS]:
        one, other = names[i], names[j]
        if one in repeats or other in repeats:
            continue
        relation = _relation(columns[one], columns[other]) if alike[j, i] > LINEAR else None
        if relation is not None:
            repeats[other] = f"it {relation} column {one!r}"
        else:
            nearly.append((one, other, float(alike[j, i])))
    return repeats, _nearly_line([pair for pair in nearly if not {*pair[:2]} & set(repeats)])


def _nearly_line(pairs: Sequence[tuple[str, str, float]]) -> list[str]:
    if not pairs:
        return []
    shown = [f"{one!r} and {other!r} (correlation {min(value, 0.999):.3f})" for one, other, value in pairs]
    return [
        f"Columns that nearly repeat each other count twice: {listed(shown, 3)}. "
        f"To leave one out: {drop_option([pairs[0][1]])}."
    ]


def decisive_columns(features: Sequence[str], X: Array, labels: Array) -> str | None:
    """A sentence where clusters are nothing but the values of one column, or of a few yes/no columns."""
    n_clusters = int(labels.max()) + 1
    if len(features) < 2 or n_clusters < 2 or labels.size < FEW_ROWS:
        return None
    coded = {i: codes for i in range(len(features)) if (codes := _codes(X[:, i], n_clusters)) is not None}
    same = [i for i, codes in coded.items() if adjusted_rand(codes, labels) >= SAME]
    pure = [i for i, codes in coded.items() if codes.max() == 1 and _is_pure(codes, labels)]
    names = [features[i] for i in same[:1] or pure]
    shown, several = listed([repr(name) for name in names]), len(names) > 1
    if same:
        what = f"The clusters are the values of column {shown} in {_share(coded[same[0]], labels)}"
    elif several and adjusted_rand(_combinations([coded[i] for i in pure]), labels) >= SAME:
        share = _share(_combinations([coded[i] for i in pure]), labels)
        what = f"The clusters are the combinations of the yes/no columns {shown} in {share}"
    elif pure:
        what = f"No cluster mixes the two values of the yes/no column{'s' if several else ''} {shown}"
    else:
        return None
    return f"{what}. To see what the other columns say: {drop_option(names)}."


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: customerID, customer_id and 'Customer ID' alike."""
    apart = re.sub(r"([a-z])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return [word for word in re.split(r"[^\w°º№#]|_", apart.lower()) if word] or [""]


def drop_option(names: Sequence[str]) -> str:
    """The option that leaves columns out, as a shell takes it."""
    return f"--drop {shlex.quote(','.join(name if ',' not in name else json.dumps(name) for name in names))}"


def _names_identifier(words: list[str]) -> bool:
    return bool(IDENTIFIER & {words[0], words[-1]}) or (len(words) == 1 and bool(JOINED.fullmatch(words[0])))


def _names_counter(words: list[str], known: Array) -> bool:
    """Whether a name is that of a counter: by itself, or at its end if the numbers are in order or close together."""
    if words == [""] or words[0] == "unnamed" or (len(words) == 1 and words[0] in COUNTER):
        return True
    return words[-1] in COUNTER and (_monotone(np.diff(known)) or known.size > DENSE * (np.ptp(known) + 1))


def _whole(known: Array) -> bool:
    return bool((known == np.floor(known)).all())


def _monotone(steps: Array) -> bool:
    return bool((steps > 0).all() or (steps < 0).all())


def _are_dates(known: Array) -> bool:
    """Whether all are dates as in 20130115."""
    month, day = known // 100 % 100, known % 100
    inside = (known >= 1900_01_01) & (known <= 2100_12_31) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(inside.all())


def _sentinel(known: Array) -> float | None:
    """A number such as -999 that stands far from all others."""
    for extreme in (float(known.min()), float(known.max())):
        others = known[known != extreme]
        mark = others.size > 0 and re.fullmatch(r"-?9{3,}|-99", f"{extreme:.15g}") is not None
        if mark and float(np.abs(others - extreme).min()) > float(np.ptp(others)):
            return extreme
    return None


def _correlations(columns: Sequence[Array]) -> Array:
    """Absolute correlation of each pair, on some of the rows; a gap counts as the mean."""
    rows = np.linspace(0, columns[0].size - 1, min(SAMPLE, columns[0].size)).astype(np.intp)
    X = np.column_stack([column[rows] for column in columns]).astype(np.float64)
    X /= np.maximum(np.nanmax(np.abs(X), axis=0, initial=0.0, where=~np.isnan(X)), np.finfo(np.float64).tiny)
    known = ~np.isnan(X)
    X = np.where(known, X - X.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1), 0.0)
    X /= np.maximum(np.sqrt((X**2).sum(axis=0)), np.finfo(np.float64).tiny)
    return np.asarray(np.abs(X.T @ X))


def _relation(x: Array, y: Array) -> str | None:
    """How y repeats x exactly: as a verb, or None."""
    known = ~np.isnan(x)
    if not np.array_equal(known, ~np.isnan(y)):
        return None
    x, y = x[known].astype(np.float64), y[known].astype(np.float64)
    if np.array_equal(x, y):
        return "repeats"
    centered = x - x.mean()
    slope = float(centered @ (y - y.mean()) / (centered @ centered))
    rest = np.abs(y - y.mean() - slope * centered)
    if rest.max() <= ROUNDING * np.abs(y).max() + (_unit(y) + abs(slope) * _unit(x)) / 2 * (1 + 1e-6):
        return "is the same in other units, within rounding, as"
    return None


def _unit(values: Array) -> float:
    """The last decimal place that is used, as in 0.01; 0 if there are many."""
    for places in range(7):
        if np.allclose(values, np.round(values, places), rtol=1e-12, atol=1e-12):
            return float(10.0**-places)
    return 0.0


def _codes(values: Array, n_clusters: int) -> Array | None:
    """The values of a column as numbers from 0, if there are few of them."""
    most = max(2, n_clusters)
    if np.unique(values[:SAMPLE]).size > most:
        return None
    distinct, codes = np.unique(values, return_inverse=True)
    return codes if 2 <= distinct.size <= most else None


def _combinations(codes: Sequence[Array]) -> Array:
    """Each combination of values as a number from 0."""
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1]


def _share(codes: Array, labels: Array) -> str:
    """In how many rows the value is the usual one of the cluster."""
    pairs = np.zeros((int(labels.max()) + 1, int(codes.max()) + 1))
    np.add.at(pairs, (labels, codes), 1)
    share = pairs.max(axis=1).sum() / labels.size
    return "every row" if share == 1 else f"{min(99.9, 100 * share):.3g} % of the rows"


def _is_pure(codes: Array, labels: Array) -> bool:
    """Whether every cluster has one value only, and neither value is rare."""
    share = np.bincount(labels, codes) / np.maximum(np.bincount(labels), 1)
    usual = 0.05 < codes.mean() < 0.95
    return bool(usual and (np.maximum(share, 1 - share) >= PURE).all())
