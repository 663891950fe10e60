"""Progress of long work: one interface, shown as a bar, handed to a callable or to scikit-learn callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

Step = Callable[..., bool]
"""step(n=1, info="", found=None) advances the running phase; True asks it to stop early. `found` is called by those who
want to see what has been found so far."""
Found = Callable[[], Any]


def no_step(n: int = 1, info: str = "", found: Found | None = None) -> bool:
    """A step that nobody watches."""
    return False


class Progress:
    """Silent progress; subclasses show it."""

    attributes_of: Callable[[Any], dict[str, Any]] | None = None
    """From what was found so far to the attributes of a model that was fitted up to there; None: not yet known."""

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Run a phase of `total` steps (None: not known)."""
        yield no_step


class BarProgress(Progress):
    """A line on the terminal for each phase, redrawn at most ten times a second."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Draw `name` with a bar, the count, and what the phase has to say."""
        began = drawn = time.perf_counter()
        done, last = 0, ""

        def draw(end: str) -> None:
            share = f"{done}" if total is None else f"[{'#' * (20 * done // max(total, 1)):<20}] {done}/{total}"
            line = f"\r{name:<12} {share}  {last}  {time.perf_counter() - began:.1f} s"
            self._stream.write(f"{line:<100}{end}")
            self._stream.flush()

        def step(n: int = 1, info: str = "", found: Found | None = None) -> bool:
            nonlocal done, drawn, last
            done, last = done + n, info
            now = time.perf_counter()
            if now - drawn > 0.1:
                drawn = now
                draw("")
            return False

        try:
            yield step
        finally:
            draw("\n")


class CallableProgress(Progress):
    """Calls `callback(phase, done, total, info)` at each step; a true answer stops the phase."""

    def __init__(self, callback: Callable[[str, int, int | None, str], Any]) -> None:
        self._callback = callback

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Hand each step to the callable."""
        done = 0

        def step(n: int = 1, info: str = "", found: Found | None = None) -> bool:
            nonlocal done
            done += n
            return bool(self._callback(name, done, total, info))

        yield step


class ContextProgress(Progress):
    """Hands phases and steps to a scikit-learn callback context (scikit-learn 1.9 and later)."""

    def __init__(self, estimator: Any, context: Any, X: Any, y: Any) -> None:
        self._context = context
        self._seen = {"estimator": estimator, "X": X, "y": y}

    def begin(self) -> None:
        """The fit begins."""
        self._context.call_on_fit_task_begin(**self._seen)

    def end(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """The fit has ended; `attributes` are those of the fitted model."""
        self._context.call_on_fit_task_end(**self._seen, reconstruction_attributes=attributes)

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Step]:
        """A subtask of the fit, with a subtask for each step."""
        context = self._context.subcontext(task_name=name, max_subtasks=None)
        context.call_on_fit_task_begin(**self._seen)
        last = None

        def step(n: int = 1, info: str = "", found: Found | None = None) -> bool:
            nonlocal last
            last, inner = found, context.subcontext(task_name="step")
            inner.call_on_fit_task_begin(**self._seen)
            return bool(inner.call_on_fit_task_end(**self._seen, reconstruction_attributes=found))

        yield step
        context.call_on_fit_task_end(**self._seen, reconstruction_attributes=last)


class ManyProgress(Progress):
    """Several watchers of the same work; any of them may stop a phase."""

    def __init__(self, watchers: list[Progress]) -> None:
        self._watchers = watchers

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Run the phase under all watchers."""
        with ExitStack() as stack:
            steps = [stack.enter_context(watcher.phase(name, total)) for watcher in self._watchers]

            def step(n: int = 1, info: str = "", found: Found | None = None) -> bool:
                attributes_of = self.attributes_of
                seen = None if found is None or attributes_of is None else lambda: attributes_of(found())
                answers = [each(n, info, seen) for each in steps]
                return any(answers)

            yield step


@contextmanager
def watch(estimator: Any, verbose: Any, X: Any = None, y: Any = None) -> Iterator[Progress]:
    """What watches a fit: bars (True) or a callable, and the callbacks that scikit-learn attached to the estimator."""
    watchers: list[Progress] = []
    if verbose:
        watchers.append(CallableProgress(verbose) if callable(verbose) else BarProgress())
    if not getattr(estimator, "_skl_callbacks", None):
        yield ManyProgress(watchers) if watchers else Progress()
        return
    context = estimator._init_callback_context(max_subtasks=None)
    watcher = ContextProgress(estimator, context, X, y)
    watcher.begin()
    yield ManyProgress([*watchers, watcher])
    watcher.end(lambda: vars(estimator).copy())
