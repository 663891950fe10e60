"""Where rows come from and results go: outputs that appear whole or not at all, and pipes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from .base import FileError
from .streams import is_packed

MARK = "summary.json"
"""A folder with this file was written by lapmodes and may be replaced by it."""
PIPE = Path("-")
"""Standard input or standard output, which carry delimited text."""
STDIN = Path("stdin.csv")
"""What data from a pipe is called."""


def check_parent(target: Path) -> None:
    """Refuse a place in a folder that cannot be written to before any work is done."""
    folder = target.absolute().parent
    if not folder.is_dir():
        raise FileError(f"There is no folder {str(folder)!r} for the output. Make it, or choose another with -o.")
    if not _writable(folder):
        raise FileError(f"The folder {str(folder)!r} cannot be written to. Choose another place with -o.")


def check_target(target: Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if target.is_symlink():
        raise FileError(f"The output {str(target)!r} is a symbolic link. Name the place itself with -o.")
    check_parent(target)


def check_file_target(target: Path, *, overwrite: bool) -> None:
    """An output file: not a folder, and not there unless it may be replaced."""
    check_target(target)
    if target.is_dir():
        raise FileError(f"The output {str(target)!r} is a folder. Name a file with -o.")
    if target.exists() and not overwrite:
        raise FileError(f"The output {str(target)!r} exists. Name another with -o, or use --overwrite.")


def check_folder_target(target: Path, *, overwrite: bool) -> None:
    """An output folder: new, empty, or an earlier result."""
    check_target(target)
    if not target.exists():
        return
    if not target.is_dir():
        raise FileError(f"The output {str(target)!r} is a file; a folder is needed. Name another with -o.")
    if any(target.iterdir()) and not (target / MARK).exists():
        raise FileError(f"The folder {str(target)!r} holds other files. Name another output with -o.")
    if (target / MARK).exists() and not overwrite:
        raise FileError(
            f"The output {str(target)!r} holds an earlier result. Name another with -o, or use --overwrite."
        )


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A path beside the target to write to; it takes the target's place when all went well."""
    clear_stale(target)
    partial = _partial(target)
    try:
        yield partial
        _sync(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A folder beside the target to fill; it takes the target's place when all went well."""
    clear_stale(target)
    partial = _partial(target)
    old = partial.with_name(partial.name.replace(".partial", ".old"))
    partial.mkdir()
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                _sync(file)
        try:
            os.replace(partial, target)  # an empty folder gives way, so that a place that is taken is never free
        except OSError:
            os.replace(target, old)
            try:
                os.replace(partial, target)
            except BaseException:
                os.replace(old, target)
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def check_place(target: Path, *, named: bool, overwrite: bool) -> bool:
    """Refuse a folder that cannot be written before any work is done; whether results are kept apart from others."""
    apart = not named and not overwrite
    if apart:
        check_parent(target)
    else:
        check_folder_target(target, overwrite=overwrite)
    return apart


@contextmanager
def output_folder(target: Path, *, apart: bool) -> Iterator[tuple[Path, Path]]:
    """A folder to fill, and its place: the target, or with `apart` the first of x, x-2, x-3, … that is free."""
    place = _reserved(target) if apart else target
    try:
        with whole_folder(place) as folder:
            yield folder, place
    except BaseException:
        if apart:
            with suppress(OSError):
                place.rmdir()
        raise


def _reserved(target: Path) -> Path:
    """The first free place, now taken by an empty folder: no other run can have it."""
    for place in numbered(target, target.suffix):
        clear_stale(place)
        with suppress(FileExistsError):
            place.mkdir()
            return place
    raise AssertionError  # there is always one more number


def numbered(target: Path, ending: str) -> Iterator[Path]:
    """The names x.end, x-2.end, x-3.end and so on."""
    yield target
    stem = target.name.removesuffix(ending)
    yield from (target.with_name(f"{stem}-{number}{ending}") for number in count(2))


def clear_stale(target: Path) -> None:
    """Remove what killed runs left beside the target; an earlier result that was moved aside is put back."""
    for left in target.absolute().parent.glob(f".{target.name}.*-*.partial"):
        if _alive(left):
            continue
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        with suppress(OSError):  # the place that it had taken, if it is still empty
            target.rmdir()
    for left in target.absolute().parent.glob(f".{target.name}.*-*.old"):
        if not _alive(left) and not target.exists():
            os.replace(left, target)
        elif not _alive(left):
            shutil.rmtree(left, ignore_errors=True)


def file_name(path: Path) -> Path:
    """The path, or a name for what comes through a pipe."""
    return STDIN if path == PIPE else path


def stem(path: Path) -> str:
    """What results are named after: the name of the data without its endings, that of its packing too."""
    name = file_name(path).absolute()
    return Path(name.stem).stem if is_packed(name) else name.stem


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


@dataclass
class Delivery:
    """A file on its way."""

    file: Path
    """Where it is written."""
    place: Path
    """Where it is to be, and where it is in the end."""


@contextmanager
def delivered(path: Path, *, apart: str | None = None) -> Iterator[Delivery]:
    """A file to write; with `apart`, the ending of its name, it gets the first of x, x-2, x-3, … that is free then.

    For standard output it is sent there when it is whole.
    """
    if path != PIPE and apart is None:
        yield Delivery(path, path)
    elif path != PIPE:
        clear_stale(path)
        folder = _partial(path)
        folder.mkdir()
        try:
            delivery = Delivery(folder / path.name, path)
            yield delivery
            delivery.place = _moved(delivery.file, path, apart or "")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        with TemporaryDirectory(prefix="lapmodes-") as temporary:
            file = Path(temporary) / "stdout.csv"
            yield Delivery(file, PIPE)
            with open(file, "rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _moved(file: Path, target: Path, ending: str) -> Path:
    """Where a file is now: at the first free place, never in place of another file."""
    for place in numbered(target, ending):
        try:
            os.link(file, place)  # unlike a renaming, this fails if the place is taken
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            if place.exists():
                continue
            os.replace(file, place)
        return place
    raise AssertionError  # there is always one more number


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _partial(target: Path) -> Path:
    return target.absolute().with_name(f".{target.name}.{os.getpid()}-{uuid4().hex[:8]}.partial")


def _alive(left: Path) -> bool:
    """Whether the process that made a partial output still runs."""
    pid = left.name.rsplit(".", 2)[1].partition("-")[0]
    if not pid.isdigit():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync(file: Path) -> None:
    with open(file, "rb") as stream:
        os.fsync(stream.fileno())
