"""Chains of acts: pure, undone to the very same labels, repeated from the journal and from the recipe."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapmodes.explore.session as session_module
from lapmodes import LaplacianKModes
from lapmodes.explore.acts import (
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
from lapmodes.explore.session import JournalError, Session, recipe_python, recipe_toml, repeated
from lapmodes.explore.states import Base, apply, usable_knobs, usual_levels

ROWS = st.lists(st.integers(0, 79), min_size=1, max_size=6, unique=True).map(lambda rows: tuple(sorted(rows)))
SEEDS = st.tuples(st.integers(0, 11), ROWS, st.integers(0, 99), st.integers(0, 99))
"""What an act is made of; the clusters that it names depend on how many there are by then."""


def act_from(seed, n_clusters):
    """An act that is possible with so many clusters."""
    kind, rows, a, b = seed
    one, other = a % n_clusters, b % n_clusters
    choices = [
        Turn("lam", a % 9 - 4),
        Turn("bandwidth", a % 5 - 2),
        Turn("prior_weight", a % 5 - 2),
        Level(2 + a % 4),
        Label(rows, one),
        Label(rows, -1),
        LeaveOut(rows[:2]),
        Link(rows) if len(rows) > 1 else Name(one, "x"),
        Split(one, 2) if n_clusters < 6 else Hide(one, True),
        Merge(one, other) if one != other and n_clusters > 2 else Paint(one, "#00ff00"),
        Name(one, f"name {b}"),
        Hide(one, b % 2 == 0),
    ]
    return choices[kind]


def do_chain(session, seeds):
    """Do what is possible; what is refused changes nothing."""
    labels = [session.state.labels.copy()]
    for seed in seeds:
        before = session.done
        try:
            session.do(act_from(seed, session.state.n_clusters))
        except ValueError:
            assert session.done == before
            assert np.array_equal(session.state.labels, labels[-1])
        else:
            labels.append(session.state.labels.copy())
    return labels


@settings(max_examples=6)
@given(st.lists(SEEDS, min_size=50, max_size=50))
def test_undo_gives_back_the_very_same_labels(base, seeds):
    session = Session(base)
    labels = do_chain(session, seeds)
    end = session.done
    for expected in reversed(labels[:-1]):
        assert np.array_equal(session.undo().labels, expected)
    assert session.done == 0
    for expected in labels[1:]:
        assert np.array_equal(session.redo().labels, expected)
    assert session.done == end
    again = Session(base)
    for act in session.acts:
        again.do(act)
    assert np.array_equal(again.state.labels, labels[-1])
    assert again.state.names == session.state.names


@settings(max_examples=3)
@given(st.lists(SEEDS, min_size=25, max_size=25))
def test_states_that_were_forgotten_come_back(base, seeds):
    before = session_module.KEPT_BYTES
    session_module.KEPT_BYTES = 0
    try:
        session = Session(base)
        labels = do_chain(session, seeds)
        assert sum(state is not None for state in session._states) <= 3 + len(labels) // 10 + 1
        for expected in reversed(labels[:-1]):
            assert np.array_equal(session.undo().labels, expected)
    finally:
        session_module.KEPT_BYTES = before


@settings(max_examples=3)
@given(st.lists(SEEDS, min_size=10, max_size=10))
def test_the_recipe_gives_the_same_labels(base, groups, seeds):
    session = Session(base)
    do_chain(session, seeds)
    acts = session.acts[: session.done]
    records = tomllib.loads(recipe_toml(acts, "# begin")).get("act", [])
    assert records == [to_record(act) for act in acts]
    fresh = Base(LaplacianKModes(3, random_state=0, n_jobs=1).fit(groups), groups, levels=base.levels)
    assert np.array_equal(repeated(records, fresh).state.labels, session.state.labels)


def test_the_recipe_in_python_says_what_was_done(base):
    acts = [Turn("lam", 1), Label((1, 2), 0)]
    printed = []
    script = recipe_python(acts, "")
    exec(script, {"session": Session(base), "print": printed.append})  # a script that this library wrote
    session = Session(base)
    for act in acts:
        session.do(act)
    assert printed == [session.state.labels.tolist()]


def test_an_act_leaves_the_state_before_as_it_was(base):
    first = base.first_state()
    kept = first.labels.copy(), first.model.objective_, first.notches.copy()
    apply(base, first, Turn("lam", 4))
    apply(base, first, LeaveOut((0, 1)))
    apply(base, first, Label((2,), 1))
    assert np.array_equal(first.labels, kept[0])
    assert (first.model.objective_, first.notches, first.known, first.left_out) == (*kept[1:], None, None)


def test_a_knob_follows_the_path_notch_by_notch(base):
    at_once = apply(base, base.first_state(), Turn("bandwidth", 3))
    by_steps = base.first_state()
    for notch in (1, 2, 3):
        by_steps = apply(base, by_steps, Turn("bandwidth", notch))
    assert np.array_equal(at_once.labels, by_steps.labels)
    assert at_once.model.objective_ == by_steps.model.objective_
    assert np.isclose(at_once.model.bandwidth_, base.model.bandwidth_ * 2**0.75)


def test_a_level_keeps_what_was_said(base):
    session = Session(base)
    session.do(Name(1, "mine"))
    session.do(LeaveOut((0, 1)))
    session.do(Turn("lam", 2))
    session.do(Label((5, 45), int(session.state.labels[70])))
    finer = session.do(Level(4))
    assert finer.n_clusters == 4
    assert (finer.labels[:2] == -1).all()
    assert np.isclose(finer.model.lam_, 2 * base.model.lam_)
    assert finer.labels[5] == finer.labels[45]
    assert "mine" in finer.names
    largest = np.bincount(finer.labels[base.model.labels_ == 1][finer.labels[base.model.labels_ == 1] >= 0]).argmax()
    assert finer.names[largest] == "mine"


def test_rows_left_out_can_be_told_nothing(base):
    session = Session(base)
    session.do(LeaveOut((0,)))
    before = session.state.labels.copy()
    session.do(Label((0,), (int(before[1]) + 1) % 3))
    assert np.array_equal(session.state.labels, before)
    session.do(Link((0, 79)))
    assert np.array_equal(session.state.labels, before)


def test_names_follow_merges_and_splits(base):
    session = Session(base)
    for k, name in enumerate("abc"):
        session.do(Name(k, name))
    sizes = np.bincount(session.state.labels)
    merged = session.do(Merge(0, 2))
    kept = "ac"[int(sizes[2] > sizes[0])]
    assert sorted(merged.names) == sorted([kept, "b"])
    split = session.do(Split(0, 3))
    assert split.names == (*merged.names, "", "")


def test_the_journal_gives_back_everything(tmp_path, base):
    file = tmp_path / "deep" / "journal.jsonl"
    session = Session(base, file)
    for act in (Turn("lam", 1), Name(0, "a “name”"), Split(1, 2), Label((3,), 0)):
        session.do(act)
    session.undo()
    session.undo()
    session.redo()
    again = Session(base, file)
    assert again.resume() == 7
    assert np.array_equal(again.state.labels, session.state.labels)
    assert (again.acts, again.done, again.state.names) == (session.acts, session.done, session.state.names)
    again.redo()
    assert len(file.read_text().splitlines()) == 8


def test_a_line_that_was_cut_off_is_the_only_one_lost(tmp_path, base):
    file = tmp_path / "journal.jsonl"
    session = Session(base, file)
    session.do(Turn("lam", 1))
    kept = session.state.labels.copy()
    session.do(Split(0, 2))
    file.write_bytes(file.read_bytes()[:-9])
    again = Session(base, file)
    assert again.resume() == 1
    assert np.array_equal(again.state.labels, kept)
    again.do(Name(0, "after"))
    third = Session(base, file)
    assert third.resume() == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"journal": 1, "base": "another", "do": {"kind": "level", "n_clusters": 2}}\n', "another fit"),
        ("nonsense\n", "damaged"),
        ('{"journal": 1}\n', "damaged"),
        ("[1]\n", "damaged"),
    ],
)
def test_another_journal_is_refused(tmp_path, base, text, said):
    file = tmp_path / "journal.jsonl"
    file.write_text(text)
    with pytest.raises(JournalError, match=said):
        Session(base, file).resume()


def test_an_act_of_a_journal_is_checked_like_any_other(tmp_path, base):
    file = tmp_path / "journal.jsonl"
    line = {"journal": 1, "base": base.fingerprint(), "do": {"kind": "merge", "one": 0, "other": 99}}
    file.write_text(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match="other"):
        Session(base, file).resume()


def test_nothing_to_undo_or_redo_is_said(base):
    with pytest.raises(ValueError, match="undo"):
        Session(base).undo()
    with pytest.raises(ValueError, match="redo"):
        Session(base).redo()


def test_work_that_is_stopped_changes_nothing(base):
    class EnoughError(Exception):
        pass

    def hook(phase, done, total, info):
        raise EnoughError

    session = Session(base)
    for act in (Turn("lam", 2), Split(0, 2), Label((0,), 1)):
        with pytest.raises(EnoughError):
            session.do(act, hook)
    assert session.acts == []
    assert session.state.model is base.model


def test_a_level_that_is_not_there_is_said(base):
    with pytest.raises(ValueError, match="no level of 9"):
        Session(base).do(Level(9))


def test_knobs_say_why_they_cannot_be_turned(groups):
    from lapmodes import KModes

    plain = usable_knobs(KModes(3, bandwidth=2.0, random_state=0).fit(groups))
    assert plain["bandwidth"] == "" and "graph" in plain["lam"] and "prior" in plain["prior_weight"]
    assert usual_levels(KModes(3, bandwidth=2.0, random_state=0).fit(groups), 80) == ()


def test_every_act_can_be_said_in_words(base):
    said = [in_words(act_from((kind, (1, 2), 1, 2), 3), ("a", "", "c")) for kind in range(12)]
    assert len(set(said)) == 12
    assert all(to_act(to_record(act_from((kind, (1, 2), 1, 2), 3)), 80, 3) for kind in range(12))
