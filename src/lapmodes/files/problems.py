"""What can be wrong with a file, as one sentence for the person who named it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class FileError(ValueError):
    """A file cannot be used; the message says which, why, and what to do."""


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise FileError(
            f"{purpose} needs {module.partition('.')[0]}, which is not installed: pip install 'lapmodes[{extra}]'"
        ) from error


def existing_file(path: Path) -> Path:
    """The path, if there is a file with something in it."""
    if not path.exists():
        raise FileError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder. Name a file, or a folder of pictures of one size.")
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not an ordinary file.")
    if not os.access(path, os.R_OK):
        raise FileError(f"{str(path)!r} cannot be read: there is no permission.")
    if path.stat().st_size == 0:
        raise FileError(f"{str(path)!r} is empty.")
    return path


def counted(n: int, thing: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{n:,} {thing}{'s'[: n != 1]}"


def listed(names: Sequence[Any], most: int = 5) -> str:
    """The first few of many, in words."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def first_line(error: BaseException) -> str:
    """What an error says, without the details that follow, and without a full stop."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(". ")[:200]
