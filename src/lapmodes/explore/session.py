"""The heart of the explorer, without any web: acts one after the other, undo and redo, and a journal of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .acts import Act, BadMessageError, to_act, to_record
from .states import Base, Hook, State, apply

KEPT_BYTES = 2 * 2**30
"""Memory for earlier states; beyond it those in the middle are forgotten, and computed again when they are needed."""
FORMAT = 1
"""Of the journal."""


class JournalError(ValueError):
    """A journal that belongs to something else, or is damaged."""


class Session:
    """States one after the other: do, undo, redo; each act goes into the journal when it is done."""

    def __init__(self, base: Base, journal: Path | None = None) -> None:
        self.base = base
        self.acts: list[Act] = []
        """All acts, those that were undone last."""
        self.done = 0
        """How many of them are in effect."""
        self._states: list[State | None] = [base.first_state()]
        self._journal = journal

    @property
    def state(self) -> State:
        """The state in effect."""
        return self.state_at(self.done)

    def state_at(self, place: int, hook: Hook | None = None) -> State:
        """The state after so many acts; one that was forgotten is computed again."""
        start = max(at for at in range(place + 1) if self._states[at] is not None)
        state = self._states[start]
        assert state is not None
        for at in range(start, place):
            state = apply(self.base, state, self.acts[at], hook)
        self._states[place] = state
        return state

    def do(self, act: Act, hook: Hook | None = None) -> State:
        """Apply an act to the state in effect; what was undone before is gone."""
        following = apply(self.base, self.state, act, hook)
        del self.acts[self.done :], self._states[self.done + 1 :]
        self.acts.append(act)
        self._states.append(following)
        self.done += 1
        self._forget()
        self._write({"do": to_record(act)})
        return following

    def undo(self, hook: Hook | None = None) -> State:
        """The state before the last act."""
        if self.done == 0:
            raise ValueError("There is nothing to undo.")
        state = self.state_at(self.done - 1, hook)
        self.done -= 1
        self._write({"undo": True})
        return state

    def redo(self, hook: Hook | None = None) -> State:
        """The state before the last undo."""
        if self.done == len(self.acts):
            raise ValueError("There is nothing to redo.")
        state = self.state_at(self.done + 1, hook)
        self.done += 1
        self._write({"redo": True})
        return state

    def _forget(self) -> None:
        """Drop states in the middle where memory runs out; the first, the last two and each tenth stay."""
        kept = [at for at, state in enumerate(self._states) if state is not None]
        total = sum(state.nbytes for state in self._states if state is not None)
        for at in kept[1:-2]:
            state = self._states[at]
            if total <= KEPT_BYTES:
                return
            if state is not None and at % 10:
                self._states[at] = None
                total -= state.nbytes

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line to the journal, so that it is on the disk."""
        if self._journal is None:
            return
        if not self._journal.exists():
            self._journal.parent.mkdir(parents=True, exist_ok=True)
            line = {"journal": FORMAT, "base": self.base.fingerprint()} | line
        with open(self._journal, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def resume(self, hook: Hook | None = None) -> int:
        """Do again what the journal holds, and say how many lines that were; a line cut off at the end is dropped."""
        journal, self._journal = self._journal, None
        try:
            lines = [] if journal is None or not journal.exists() else read_journal(journal, self.base.fingerprint())
            for line in lines:
                if "do" in line:
                    self.do(to_act(line["do"], self.state.model.labels_.size, self.state.n_clusters), hook)
                elif "undo" in line:
                    self.undo(hook)
                else:
                    self.redo(hook)
        finally:
            self._journal = journal
        return len(lines)


def read_journal(file: Path, fingerprint: str) -> list[dict[str, Any]]:
    """The lines of a journal; what a killed server did not finish writing is cut off the file."""
    whole = file.read_bytes()
    ended = whole[: whole.rfind(b"\n") + 1]
    if len(ended) < len(whole):
        with open(file, "r+b") as stream:
            stream.truncate(len(ended))
    try:
        lines = [json.loads(line) for line in ended.decode("utf-8").splitlines()]
        first = lines[0] if lines else {"journal": FORMAT, "base": fingerprint}
        if not all(isinstance(line, dict) and {"do", "undo", "redo"} & line.keys() for line in lines):
            raise ValueError("a line is no act")
        if (first["journal"], first["base"]) != (FORMAT, fingerprint):
            raise JournalError(f"{str(file)!r} is the journal of another fit. Move it away, or begin with --fresh.")
    except JournalError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{str(file)!r} is damaged. Move it away, or begin with --fresh.") from error
    return lines


def lock(folder: Path) -> Any:
    """Keep a folder's journal for this process as long as the result lives; another one that has it is an error."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return None
    folder.mkdir(parents=True, exist_ok=True)
    stream = open(folder / "lock", "w")  # noqa: SIM115 - open as long as the explorer
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        stream.close()
        raise JournalError(f"{str(folder)!r} is being explored by another process. End that one first.") from error
    return stream


# What was done, for others to repeat.


def recipe_toml(acts: Sequence[Act], beginning: str) -> str:
    """The acts as TOML, after how it began."""
    lines = [beginning.rstrip()]
    for act in acts:
        lines += ["", "[[act]]", *(f"{name} = {json.dumps(value)}" for name, value in to_record(act).items())]
    return "\n".join(lines) + "\n"


def repeated(records: Any, base: Base, hook: Hook | None = None) -> Session:
    """A session in which the acts of a recipe were done again."""
    if not isinstance(records, list):
        raise BadMessageError("'act' must be a list of acts, each with a 'kind'.")
    session = Session(base)
    for number, record in enumerate(records, 1):
        try:
            session.do(to_act(record, session.state.model.labels_.size, session.state.n_clusters), hook)
        except ValueError as error:
            raise BadMessageError(f"Act {number} of the recipe: {error}") from error
    return session


def recipe_python(acts: Sequence[Act], beginning: str) -> str:
    """The acts as a Python script, after the lines that make a session."""
    kinds = sorted({type(act).__name__ for act in acts})
    imports = f"from lapmodes.explore.acts import {', '.join(kinds)}\n" if kinds else ""
    lines = [f"session.do({act!r})" for act in acts]
    return "\n".join([imports + beginning.rstrip(), *lines, "print(session.state.labels.tolist())"]) + "\n"
