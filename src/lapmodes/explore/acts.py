"""What a person does to a clustering: small frozen records, and the one place that checks records from outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

MOST_ROWS = 200_000
"""Rows that one act may name."""
LONGEST_NAME = 80
MOST_PARTS = 50
"""Into which a cluster is divided at once."""
NOTCHES = {"lam": 16, "bandwidth": 12, "prior_weight": 16}
"""The knobs, and how many notches each may be turned up or down."""
PER_DOUBLING = {"lam": 2, "bandwidth": 4, "prior_weight": 2}
"""Notches that double a value."""
KNOB_NAMES = {"lam": "smoothness λ", "bandwidth": "width σ", "prior_weight": "weight of the prior"}
COLOR = re.compile(r"#[0-9a-f]{6}")


class BadMessageError(ValueError):
    """A message that is not what it should be; it says why."""


@dataclass(frozen=True)
class Turn:
    """Turn a knob to a notch; 0 is where the first fit was."""

    knob: str
    notch: int


@dataclass(frozen=True)
class Level:
    """Go to the level with so many clusters."""

    n_clusters: int


@dataclass(frozen=True)
class Link:
    """These rows belong together."""

    rows: tuple[int, ...]


@dataclass(frozen=True)
class Label:
    """These rows are of this cluster; -1 takes back what was said of them."""

    rows: tuple[int, ...]
    cluster: int


@dataclass(frozen=True)
class LeaveOut:
    """Leave these rows out of the fit."""

    rows: tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """Divide a cluster by a fit inside it."""

    cluster: int
    parts: int = 2


@dataclass(frozen=True)
class Merge:
    """Join two clusters."""

    one: int
    other: int


@dataclass(frozen=True)
class Name:
    """Give a cluster a name; an empty one takes it away."""

    cluster: int
    name: str


@dataclass(frozen=True)
class Paint:
    """Give a cluster a colour."""

    cluster: int
    color: str


@dataclass(frozen=True)
class Hide:
    """Hide a cluster on the map, or show it again."""

    cluster: int
    hidden: bool


Act = Turn | Level | Link | Label | LeaveOut | Split | Merge | Name | Paint | Hide
KINDS: dict[str, type[Any]] = {
    "turn": Turn,
    "level": Level,
    "link": Link,
    "label": Label,
    "leave_out": LeaveOut,
    "split": Split,
    "merge": Merge,
    "name": Name,
    "paint": Paint,
    "hide": Hide,
}
WITHOUT_FIT = (Name, Paint, Hide)
"""Acts that change no assignment."""


def to_record(act: Act) -> dict[str, Any]:
    """An act as JSON and TOML have it."""
    kind = next(name for name, each in KINDS.items() if type(act) is each)
    values = {field.name: getattr(act, field.name) for field in fields(act)}
    return {"kind": kind} | {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def to_act(record: Any, n_rows: int, n_clusters: int) -> Act:
    """The act of a record from outside, for a clustering of so many rows and clusters."""
    if not isinstance(record, Mapping) or not isinstance(record.get("kind"), str) or record["kind"] not in KINDS:
        raise BadMessageError(f"An act must be a record whose 'kind' is one of {', '.join(KINDS)}.")
    kind = KINDS[record["kind"]]
    known = {field.name for field in fields(kind)}
    given = {name: value for name, value in record.items() if name != "kind"}
    if set(given) != known:
        raise BadMessageError(f"An act of the kind {record['kind']!r} has the values {', '.join(sorted(known))}.")
    checks = _checks(n_rows, n_clusters)
    values = {name: checks[name](name, value) for name, value in given.items()}
    if kind is Turn and abs(values["notch"]) > NOTCHES[values["knob"]]:
        raise BadMessageError(f"'notch' of {values['knob']!r} must be within ±{NOTCHES[values['knob']]}.")
    if kind is not Label and values.get("cluster") == -1:
        raise BadMessageError(f"'cluster' must be from 0 to {n_clusters - 1}.")
    if kind is Merge and values["one"] == values["other"]:
        raise BadMessageError("A cluster cannot be joined with itself: name two clusters.")
    if kind is Link and len(values["rows"]) < 2:
        raise BadMessageError("It takes two rows to belong together.")
    act: Act = kind(**values)
    return act


def _checks(n_rows: int, n_clusters: int) -> dict[str, Callable[[str, Any], Any]]:
    """For each value of an act the function that checks it."""
    cluster = whole_number(0, n_clusters - 1)
    return {
        "knob": one_of(tuple(NOTCHES)),
        "notch": whole_number(-max(NOTCHES.values()), max(NOTCHES.values())),
        "n_clusters": whole_number(2, max(2, n_rows)),
        "rows": lambda name, value: checked_rows(value, n_rows),
        "cluster": whole_number(-1, n_clusters - 1),
        "parts": whole_number(2, MOST_PARTS),
        "one": cluster,
        "other": cluster,
        "name": lambda name, value: checked_name(value),
        "color": checked_color,
        "hidden": checked_flag,
    }


def whole_number(low: int, high: int) -> Callable[[str, Any], int]:
    """A check for an int between two others."""

    def check(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise BadMessageError(f"{name!r} must be a whole number from {low} to {high}. Got {short(value)}.")
        return value

    return check


def one_of(words: tuple[str, ...]) -> Callable[[str, Any], str]:
    """A check for one of several words."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise BadMessageError(f"{name!r} must be one of {', '.join(words)}. Got {short(value)}.")
        return value

    return check


def checked_rows(value: Any, n_rows: int) -> tuple[int, ...]:
    """Numbers of rows, each once and in order."""
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ROWS:
        raise BadMessageError(f"'rows' must be a list of 1 to {MOST_ROWS:,} numbers of rows.")
    if not all(type(row) is int and 0 <= row < n_rows for row in value):
        raise BadMessageError(f"'rows' must be whole numbers from 0 to {n_rows - 1}.")
    return tuple(sorted(set(value)))


def checked_name(value: Any) -> str:
    """A name on one line, without signs that cannot be seen."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise BadMessageError(f"'name' must be a text of at most {LONGEST_NAME} signs.")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value).split())


def checked_color(name: str, value: Any) -> str:
    """A colour in six hexadecimal digits."""
    if not isinstance(value, str) or not COLOR.fullmatch(value):
        raise BadMessageError(f"{name!r} must look like #0b5c8a. Got {short(value)}.")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise BadMessageError(f"{name!r} must be true or false. Got {short(value)}.")
    return value


def short(value: Any) -> str:
    """The beginning of what came."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def in_words(act: Act, names: tuple[str, ...] = ()) -> str:
    """An act as a person reads it; `names` are those of the clusters before it."""

    def called(k: int) -> str:
        return f"“{names[k]}”" if k < len(names) and names[k] else f"cluster {k}"

    match act:
        case Turn(knob, notch):
            return f"{KNOB_NAMES[knob]} × {2 ** (notch / PER_DOUBLING[knob]):.3g}"
        case Level(n_clusters):
            return f"{n_clusters} clusters"
        case Link(rows):
            return f"{len(rows):,} rows belong together"
        case Label(rows, -1):
            return f"{_rows(rows)} may be of any cluster again"
        case Label(rows, cluster):
            return f"{_rows(rows)} {'is' if len(rows) == 1 else 'are'} {called(cluster)}"
        case LeaveOut(rows):
            return f"{_rows(rows)} left out"
        case Split(cluster, parts):
            return f"{called(cluster)} divided into {parts}"
        case Merge(one, other):
            return f"{called(one)} joined with {called(other)}"
        case Name(cluster, name):
            return f"cluster {cluster} is called “{name}”" if name else f"cluster {cluster} has no name"
        case Paint(cluster, color):
            return f"{called(cluster)} in {color}"
        case Hide(cluster, hidden):
            return f"{called(cluster)} {'hidden' if hidden else 'shown'}"


def _rows(rows: tuple[int, ...]) -> str:
    return f"row {rows[0] + 1:,}" if len(rows) == 1 else f"{len(rows):,} rows"
