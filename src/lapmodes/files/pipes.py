"""Delimited text through pipes: `-` is standard input, or standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .problems import FileError

PIPE = Path("-")
STDIN = Path("stdin.csv")
"""What data from a pipe is called."""


def named(path: Path) -> Path:
    """The path, or a name for what comes through a pipe."""
    return STDIN if path == PIPE else path


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """The path itself; standard input as a file for as long as it is needed, since it is read more than once."""
    if path != PIPE:
        yield path
        return
    if sys.stdin.isatty():
        raise FileError("DATA is -, but nothing is piped in. Use for example: lapmodes fit - < data.csv")
    with TemporaryDirectory(prefix="lapmodes-") as folder:
        file = Path(folder) / STDIN
        with open(file, "wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield file


@contextmanager
def delivered(path: Path) -> Iterator[Path]:
    """The path itself; for standard output a file that is sent there when it is whole."""
    if path != PIPE:
        yield path
        return
    with TemporaryDirectory(prefix="lapmodes-") as folder:
        file = Path(folder) / "stdout.csv"
        yield file
        with open(file, "rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()
