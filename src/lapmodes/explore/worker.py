"""The live exploration: one thread that fits, one that computes ahead, and all pages that watch."""

from __future__ import annotations

import json
import queue
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._records import Array
from ..report.payload import ranks
from .acts import Act, BadMessageError, in_words, one_of, to_act, whole_number
from .describe import change_between, cluster_details, colouring, snapshot
from .maps import DRAWN, Sheet, View, load_places, neighbours_view, save_places
from .session import Session, lock
from .states import State
from .study import Shares, Study

Message = dict[str, Any]
"""What goes to and comes from a page as JSON; the shares of all rows go as bytes."""
LARGEST_MESSAGE = 2 * 2**20
"""Bytes of a message from a page."""
KEPT_VERSIONS = 3
"""Earlier states that pages may still ask for."""
KEPT_SHEETS = 3
EVERY = 0.1
"""Seconds between two messages about the same work."""
AHEAD_AFTER = 1.5
"""Seconds after the start from which on levels are computed ahead."""
KINDS = ("do", "undo", "redo", "stop", "map", "save", "sync")


class StoppedError(Exception):
    """The work was stopped by a person."""


def read_message(text: str | bytes, n_rows: int, n_clusters: int) -> Message:
    """The one place where messages of a page are checked: {'kind', 'at'} and what belongs to the kind."""
    if len(text) > LARGEST_MESSAGE:
        raise BadMessageError(f"A message may have {LARGEST_MESSAGE:,} signs at most.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMessageError("A message must be JSON.") from error
    if not isinstance(found, dict):
        raise BadMessageError("A message must be a JSON object.")
    kind = one_of(KINDS)("kind", found.get("kind"))
    allowed = {"kind", "at", *{"do": {"act"}, "map": {"key"}, "stop": {"what"}}.get(kind, set())}
    if set(found) - allowed:
        raise BadMessageError(f"A message of the kind {kind!r} has {', '.join(sorted(allowed))}.")
    if kind in ("do", "undo", "redo"):
        whole_number(0, 2**53)("at", found.get("at"))
    if kind == "do":
        found["act"] = to_act(found.get("act"), n_rows, n_clusters)
    if kind == "map":
        one_of(("neighbours",))("key", found.get("key"))
    if kind == "stop":
        one_of(("fit", "map"))("what", found.get("what"))
    return found


@dataclass(frozen=True)
class Job:
    """A message, and whom to answer where it is refused."""

    message: Message
    reply: Callable[[Message], None]


class Explorer:
    """A study in exploration. Messages come in at `submit`; what happens goes to all who subscribed."""

    def __init__(self, study: Study, *, ahead: bool = True) -> None:
        journal = None if study.workspace is None else study.workspace / "journal.jsonl"
        self.study = study
        self.session = Session(study.base, journal)
        self.version = 0
        self.change: Message | None = None
        self.busy: str | None = None
        self._ahead = ahead and bool(study.base.levels) and study.n <= DRAWN
        self._states: dict[int, State] = {}
        self._cache: dict[Any, Any] = {}
        self._views: dict[str, View] = {}
        self._watchers: set[Callable[[Message | bytes], None]] = set()
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._tasks: queue.Queue[str | None] = queue.Queue()
        self._stop = {"fit": threading.Event(), "map": threading.Event()}
        self._closing = threading.Event()
        self._lock = threading.RLock()
        self._held: Any = None
        self._threads = [
            threading.Thread(target=work, name=f"lapmodes-{name}", daemon=True)
            for name, work in (("fit", self._work), ("ahead", self._compute_ahead))
        ]

    # ---- life

    def start(self) -> None:
        """Do again what the journal holds, place the rows, and begin to work."""
        if self.study.workspace is not None:
            self._held = lock(self.study.workspace)
        self.study.first_view  # noqa: B018 - it takes its time the first time
        self.resumed = self.session.resume()
        self._states[self.version] = self.session.state
        self._kept_places()
        for thread in self._threads:
            thread.start()
        if self._ahead:
            self._tasks.put("levels")

    def close(self) -> None:
        """End all work soon."""
        self._closing.set()
        self._jobs.put(None)
        self._tasks.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=10)
        if self._held is not None:
            self._held.close()

    def subscribe(self, watcher: Callable[[Message | bytes], None]) -> Callable[[], None]:
        """Be told of everything; returns the function that ends it."""
        with self._lock:
            self._watchers.add(watcher)
        return lambda: self._watchers.discard(watcher)

    def _tell(self, message: Message | bytes) -> None:
        with self._lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher(message)

    # ---- messages

    def submit(self, text: str | bytes, reply: Callable[[Message], None]) -> None:
        """Take a message of a page; `reply` is told if it is refused."""
        try:
            state = self.state
            message = read_message(text, state.model.labels_.size, state.n_clusters)
        except BadMessageError as error:
            return reply({"kind": "refused", "why": str(error)})
        if message["kind"] == "stop":
            self._stop[message["what"]].set()
        elif message["kind"] == "map":
            self._stop["map"].clear()
            self._tasks.put(message["key"])
        elif message["kind"] == "sync":
            reply(self.snapshot())
        else:
            self._jobs.put(Job(message, reply))
        return None

    @property
    def state(self) -> State:
        """The state in effect."""
        with self._lock:
            return self._states[self.version]

    def snapshot(self) -> Message:
        """The state in words and numbers, for a page."""
        with self._lock:
            found = snapshot(self.study, self.session, self.version, self.change)
            return {"kind": "state", "busy": self.busy, "neighbours_ready": "neighbours" in self._views} | found

    def state_at(self, version: int) -> State | None:
        """A state that pages may ask for."""
        with self._lock:
            return self._states.get(version)

    # ---- the thread that fits

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            kind = job.message["kind"]
            if self._closing.is_set():
                return
            if kind != "save" and job.message["at"] != self.version:
                job.reply({"kind": "refused", "why": MOVED_ON, "stale": True})
                job.reply(self.snapshot())
                continue
            self._stop["fit"].clear()
            try:
                self._save() if kind == "save" else self._step(kind, job.message.get("act"))
            except StoppedError:
                self._tell({"kind": "stopped"})
            except Exception as error:
                job.reply({"kind": "refused", "why": " ".join(str(error).split()) or type(error).__name__})
            finally:
                self.busy = None
            if self.study.n <= DRAWN:
                self._tell(self.pushed_shares())
            self._tell(self.snapshot())

    def _step(self, kind: str, act: Act | None) -> None:
        before = self.session.state
        words = in_words(act, before.names) if act is not None else kind.capitalize()
        self.busy = words
        self._tell({"kind": "busy", "what": words})
        began = time.perf_counter()
        hook = self._hook("fit")
        if act is not None:
            check_in_range(act, before.n_clusters)
            after = self.session.do(act, hook)
        else:
            after = self.session.undo(hook) if kind == "undo" else self.session.redo(hook)
        change = None
        if after.model is not before.model:  # a name or a colour moves no row
            change = change_between(before, after, words)
            change |= {"seconds": round(time.perf_counter() - began, 3), "before": self.version}
        with self._lock:
            self.version += 1
            self.change = change or self.change
            self._states[self.version] = after
            shown = {self.version, *([] if self.change is None else [self.change["before"]])}
            for old in [each for each in self._states if each not in shown][: -KEPT_VERSIONS or None]:
                del self._states[old]
            self._cache = {key: value for key, value in self._cache.items() if key[1] in (None, *self._states)}

    def _save(self) -> None:
        if self.study.save is None:
            raise ValueError("There is no folder to save to: start with lapmodes explore, or name a folder.")
        self.busy = "Saving"
        self._tell({"kind": "busy", "what": "Saving"})
        folder, files = self.study.save(self.session.state, self.session.acts[: self.session.done])
        self._tell({"kind": "saved", "folder": str(folder), "files": files})

    def _hook(self, what: str) -> Callable[[str, int, int | None, str], bool]:
        last = [0.0]

        def hook(phase: str, done: int, total: int | None, info: str) -> bool:
            if self._stop[what].is_set() or self._closing.is_set():
                raise StoppedError
            now = time.perf_counter()
            if now - last[0] > EVERY:
                last[0] = now
                message = {"kind": "progress", "what": what, "phase": phase, "done": done, "total": total}
                self._tell(message | {"info": info})
            return False

        return hook

    # ---- the thread that computes ahead

    def _compute_ahead(self) -> None:
        if self._closing.wait(AHEAD_AFTER):
            return
        while (task := self._tasks.get()) is not None and not self._closing.is_set():
            try:
                if task == "levels":
                    self.session.base.layers(self._hook_of_closing(), n_jobs=1)
                    self._tell({"kind": "levels"})
                else:
                    self._place_neighbours()
            except StoppedError:
                self._tell({"kind": "map", "key": task, "stopped": True})
            except Exception as error:
                self._tell({"kind": "refused", "why": f"{task.capitalize()}: {' '.join(str(error).split())}"})

    def _hook_of_closing(self) -> Callable[[str, int, int | None, str], bool]:
        def hook(phase: str, done: int, total: int | None, info: str) -> bool:
            if self._closing.is_set():
                raise StoppedError
            return False

        return hook

    def _place_neighbours(self) -> None:
        if "neighbours" not in self._views:
            if not self.study.has_neighbours:
                raise ValueError("the rows have no graph of neighbours to be placed by.")
            base, points = self.study.base.model, self.study.content.points
            start = self.study.first_view.positions
            view = neighbours_view(base, points, start, self._hook("map"))
            if (file := self._places_file()) is not None:
                save_places(file, view, self.study.base.fingerprint())
            self._views["neighbours"] = view
        self._tell({"kind": "map", "key": "neighbours", "ready": True})

    def _places_file(self) -> Path | None:
        return None if self.study.workspace is None else self.study.workspace / "map.npz"

    def _kept_places(self) -> None:
        file = self._places_file()
        if file is not None and file.exists():
            view = load_places(file, self.study.n, self.study.base.fingerprint())
            if view is not None:
                self._views["neighbours"] = view

    # ---- what pages ask for

    def view(self, key: str) -> View | None:
        """A map by its key; None if there is none yet."""
        with self._lock:
            if key in self._views:
                return self._views[key]
        first = self.study.first_view
        if key in ("first", first.key):
            return first
        if not key.startswith("columns:"):
            return None
        i, j = (int(part) for part in key.removeprefix("columns:").split(","))
        d = len(self.study.content.features)
        if not (0 <= i < d and 0 <= j < d):
            return None
        view = self.study.columns(i, j)
        with self._lock:
            others = [each for each in self._views if each.startswith("columns:")]
            for each in others[:-1]:
                del self._views[each]
            self._views[key] = view
        return view

    def cached(self, name: str, version: int | None, make: Callable[[], Any]) -> Any:
        """What was made once for a version (None: for all)."""
        key = name, version
        with self._lock:
            if key in self._cache:
                return self._cache[key]
        made = make()
        with self._lock:
            self._cache[key] = made
        return made

    def shares(self, version: int, state: State) -> bytes:
        """Each row's two largest clusters, packed."""
        return self.cached("shares", version, lambda: Shares.of(state).packed())

    def pushed_shares(self) -> bytes:
        """The shares of the state in effect behind its version, so that pages need not ask for them."""
        return struct.pack("<d", self.version) + self.shares(self.version, self.state)

    def densities(self) -> Array:
        """How crowded it is at each row, among all rows, from 0 to 255."""
        return self.cached("density", None, lambda: ranks(self.study.log_density))

    def details(self, version: int, state: State) -> list[dict[str, Any]]:
        """Everything about the clusters."""
        return self.cached("details", version, lambda: cluster_details(self.study, state))

    def sheet(self, version: int, state: State, view: View, choice: str, *, dark: bool) -> Sheet:
        """The rows of a map, counted with their colours."""

        def make() -> Sheet:
            density = self.densities() if choice == "density" else None
            codes, palette = colouring(self.study, state, choice, dark=dark, density=density)
            return Sheet(view.plane, codes, palette)

        with self._lock:
            sheets = [key for key in self._cache if str(key[0]).startswith("sheet ")]
            for key in sheets[: -KEPT_SHEETS + 1]:
                del self._cache[key]
        return self.cached(f"sheet {view.key} {choice} {dark}", version, make)


MOVED_ON = "Another page has changed the clustering meanwhile. This one shows the new state now; nothing was done."


def check_in_range(act: Act, n_clusters: int) -> None:
    """Clusters that an act names must still be there when its turn comes."""
    named = [getattr(act, name, 0) for name in ("cluster", "one", "other")]
    if max(named) >= n_clusters:
        raise BadMessageError(f"There is no cluster {max(named)}: there are {n_clusters}.")
