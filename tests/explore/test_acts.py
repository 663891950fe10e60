"""Acts from outside: what is right goes through unchanged, and whatever else is refused in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.explore.acts import (
    KINDS,
    LONGEST_NAME,
    MOST_ROWS,
    BadMessageError,
    Hide,
    Label,
    LeaveOut,
    Level,
    Link,
    Merge,
    Name,
    Paint,
    Split,
    Turn,
    in_words,
    to_act,
    to_record,
)
from lapmodes.explore.worker import LARGEST_MESSAGE, read_message

ACTS = [
    Turn("lam", -3),
    Level(4),
    Link((1, 2, 9)),
    Label((0,), 2),
    Label((0, 5), -1),
    LeaveOut((3, 4)),
    Split(1, 3),
    Merge(2, 0),
    Name(0, "small <b>wines</b>"),
    Paint(1, "#0b5c8a"),
    Hide(2, True),
]


def test_every_kind_is_tried():
    assert {type(act) for act in ACTS} == set(KINDS.values())


@pytest.mark.parametrize("act", ACTS, ids=in_words)
def test_a_record_gives_back_its_act(act):
    assert to_act(json.loads(json.dumps(to_record(act))), 10, 3) == act


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (None, "record"),
        ({"kind": "format"}, "one of"),
        ({"kind": "level"}, "n_clusters"),
        ({"kind": "level", "n_clusters": 3, "more": 1}, "n_clusters"),
        ({"kind": "level", "n_clusters": 3.0}, "whole number"),
        ({"kind": "level", "n_clusters": True}, "whole number"),
        ({"kind": "turn", "knob": "K", "notch": 0}, "knob"),
        ({"kind": "turn", "knob": "bandwidth", "notch": 14}, "notch"),
        ({"kind": "label", "rows": [10], "cluster": 0}, "0 to 9"),
        ({"kind": "label", "rows": [-1], "cluster": 0}, "0 to 9"),
        ({"kind": "label", "rows": [], "cluster": 0}, "rows"),
        ({"kind": "label", "rows": [1.0], "cluster": 0}, "rows"),
        ({"kind": "label", "rows": [1], "cluster": 3}, "cluster"),
        ({"kind": "leave_out", "rows": list(range(MOST_ROWS + 1))}, "rows"),
        ({"kind": "link", "rows": [4, 4]}, "two rows"),
        ({"kind": "split", "cluster": -1, "parts": 2}, "cluster"),
        ({"kind": "merge", "one": 1, "other": 1}, "itself"),
        ({"kind": "name", "cluster": 0, "name": "x" * (LONGEST_NAME + 1)}, "signs"),
        ({"kind": "name", "cluster": 0, "name": 3}, "signs"),
        ({"kind": "paint", "cluster": 0, "color": "red; background: url(x)"}, "#"),
        ({"kind": "hide", "cluster": 0, "hidden": 1}, "true or false"),
    ],
)
def test_what_is_wrong_is_said(record, said):
    with pytest.raises(BadMessageError, match=said):
        to_act(record, 10, 3)


def test_rows_are_sorted_and_named_once():
    assert to_act({"kind": "leave_out", "rows": [7, 2, 7]}, 10, 3).rows == (2, 7)


def test_a_name_stays_on_one_line():
    assert to_act({"kind": "name", "cluster": 0, "name": " a\n\tb\x00\u2028c "}, 10, 3).name == "a b c"


def kind_or_sentence(text):
    """The kind of a message, or the sentence that refuses it."""
    try:
        return read_message(text, 10, 3)["kind"]
    except BadMessageError as error:
        return str(error)


@given(st.text())
def test_text_is_no_message(text):
    assert kind_or_sentence(text).endswith(".")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
NEARLY = st.fixed_dictionaries(
    {"kind": st.sampled_from(["do", "undo", "redo", "stop", "map", "save", "sync"])},
    optional={
        "at": JSON,
        "what": JSON,
        "key": JSON,
        "act": st.fixed_dictionaries(
            {"kind": st.sampled_from(list(KINDS))},
            optional=dict.fromkeys(("rows", "cluster", "knob", "notch", "name", "one", "other", "parts"), JSON),
        )
        | JSON,
    },
)


@given(JSON | NEARLY)
def test_json_is_a_message_or_is_refused(message):
    found = kind_or_sentence(json.dumps(message))
    assert found.endswith(".") or found == message["kind"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"kind": "sync", "pad": "' + "x" * LARGEST_MESSAGE + '"}', "{}", "nan"]
)
def test_deep_long_and_empty_messages_are_refused(text):
    with pytest.raises(BadMessageError):
        read_message(text, 10, 3)
