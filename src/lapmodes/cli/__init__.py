"""The command line, one command a module: ``lapmodes --help``.

Modules of commands import what they need when they run, so that help and completion are instant.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

NEEDS_TYPER = "The lapmodes command needs typer, which is not installed: pip install 'lapmodes[cli]'"
INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns the exit code."""
    before = signal.signal(signal.SIGINT, leave)
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich", "click"}:
            raise
        print(NEEDS_TYPER, file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, before)
    app()
    return 0


def leave(number: int, frame: Any) -> None:
    """End at once on Ctrl-C: while modules are imported there is nothing to clean up, and no place for an exception."""
    os.write(2, b"Interrupted: nothing was written.\n")
    os._exit(INTERRUPTED)
