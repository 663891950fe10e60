"""How a command ends when something is wrong: an exit code and one sentence, never a traceback."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer

UNEXPECTED, INPUT, OUTPUT, INTERRUPTED, TERMINATED = 1, 3, 4, 130, 143
TRACEBACK = "LAPMODES_TRACEBACK"
"""Set this variable to see where an error came from."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are told in one sentence."""

    @wraps(command)
    def told(*args: Any, **kwargs: Any) -> None:
        try:
            with terminated_like_interrupted():
                command(*args, **kwargs)
        except BrokenPipeError:
            raise  # whoever read the output has had enough of it
        except Exception as error:
            if os.environ.get(TRACEBACK) or type(error).__module__.startswith("typer"):
                raise
            code, sentence = verdict(error)
            typer.echo(f"Error: {sentence}", err=True)
            raise typer.Exit(code) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted: nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return told


def verdict(error: Exception) -> tuple[int, str]:
    """Exit code and sentence for an error."""
    sentence = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError):
        place = f" {str(error.filename)!r}" if error.filename else ""
        return OUTPUT, f"{error.strerror or sentence}{':' if place else ''}{place}."
    if isinstance(error, MemoryError):
        return INPUT, "There is not enough memory for this. Use fewer rows or columns."
    if isinstance(error, (ValueError, ImportError)):
        return INPUT, sentence
    return UNEXPECTED, f"{type(error).__name__}: {sentence} (unexpected; {TRACEBACK}=1 shows where)"


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
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
