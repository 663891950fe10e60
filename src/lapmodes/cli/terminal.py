"""How a command talks on the terminal: lines, bars, and one sentence with an exit code where something is wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer

from . import INTERRUPTED

UNEXPECTED, INPUT, OUTPUT, TERMINATED = 1, 3, 4, 143
"""Exit codes."""
TRACEBACK = "LAPMODES_TRACEBACK"
"""Set this variable to see where an error came from."""
PHASES = {
    "neighbours": "Finding neighbours",
    "start": "Finding a start",
    "alternate": "Clustering",
    "select": "Choosing k",
    "map": "Drawing the map",
}
"""The phases of a fit, as their bars are labelled."""
INFO_WIDTH = 24
"""Signs of a phase's own words that fit beside its bar on 80 columns."""


def with_error_messages(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are one sentence and an exit code, never a traceback."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        interruption = Interruption()
        try:
            with termination_like_interruption(), interruption.noticed():
                command(*args, **kwargs)
        except BrokenPipeError:
            raise  # whoever read the output has had enough of it
        except Exception as error:
            if interruption.came:  # while a module was imported, which made another error of it
                typer.echo("Interrupted: nothing was written.", err=True)
                raise typer.Exit(INTERRUPTED) from None
            if os.environ.get(TRACEBACK) or type(error).__module__.startswith("typer"):
                raise
            code, sentence = exit_code_and_sentence(error)
            typer.echo(f"Error: {sentence}", err=True)
            raise typer.Exit(code) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted: nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def exit_code_and_sentence(error: Exception) -> tuple[int, str]:
    """How the command ends with this error, and what it says."""
    sentence = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError):
        place = f" {str(error.filename)!r}" if error.filename else ""
        return OUTPUT, f"{error.strerror or sentence}{':' if place else ''}{place}."
    if isinstance(error, MemoryError):
        return INPUT, "There is not enough memory for this. Use fewer rows or columns."
    if isinstance(error, (ValueError, ImportError)):
        return INPUT, sentence
    return UNEXPECTED, f"{type(error).__name__}: {sentence} (unexpected; {TRACEBACK}=1 shows where)"


class Interruption:
    """Whether Ctrl-C was pressed."""

    came = False

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Notice it, beside what it does anyway."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return

        def interrupt(number: int, frame: Any) -> None:
            self.came = True
            before(number, frame)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def termination_like_interruption() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) clean up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def printer(*, quiet: bool) -> Callable[[str], None]:
    """A function that prints a line for the person at the terminal, beside the output; it does nothing if quiet."""
    return lambda line: None if quiet else typer.echo(line, err=True)


class Bars:
    """A progress bar for each phase of the work; silent without a `progress` of rich."""

    def __init__(self, progress: Any = None) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, phase: str, done: int, total: int | None, info: str) -> bool:
        """What the estimators call at each step; never stops them."""
        if self._progress is not None:
            task = self._task(PHASES.get(phase, phase), total)
            self._progress.update(task, completed=done, total=total, info=info[:INFO_WIDTH])
        return False

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A phase of the command itself; yields a function that advances it by so many steps."""
        if self._progress is None:
            yield lambda steps: None
            return
        task = self._task(name, total)
        yield lambda steps: self._progress.update(task, advance=steps)
        finished = self._progress.tasks[self._progress.task_ids.index(task)]
        self._progress.update(task, total=finished.completed or 1, completed=finished.completed or 1)

    def _task(self, name: str, total: int | None) -> Any:
        """The bar of this name; a new phase ends those before it."""
        if name not in self._tasks:
            for task in self._tasks.values():
                self._progress.stop_task(task)
            self._tasks[name] = self._progress.add_task(name, total=total, info="")
        return self._tasks[name]


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Bars]:
    """Bars on the terminal while the work goes on."""
    if quiet or not sys.stderr.isatty():
        yield Bars()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[info]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bars(progress)
