"""The command line, one command a module: ``lapmodes --help``.

Modules of commands import what they need when they run, so that help and completion are instant.
"""

from __future__ import annotations

import sys

NEEDS_TYPER = "The lapmodes command needs typer, which is not installed: pip install 'lapmodes[cli]'"


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich", "click"}:
            raise
        print(NEEDS_TYPER, file=sys.stderr)
        return 1
    app()
    return 0
