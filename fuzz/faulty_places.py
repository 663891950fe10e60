"""Disks without space and folders without permission: a small file system in memory where that may be mounted."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = 4096
SPARE = 24 * PAGE
"""What a place needs beside its result: data, folders."""


def full_disk_sizes(target: Path, times: int) -> list[int]:
    """Free space from nothing to a little less than the result needs: `times` steps."""
    files = [target] if target.is_file() else [file for file in target.rglob("*") if file.is_file()]
    needed = sum(file.stat().st_size for file in files)
    return [needed * step // times for step in range(times)]


@contextmanager
def small_disk(folder: Path, free: int) -> Iterator[Path]:
    """A copy of a folder on a disk with so much space left; the folder itself where nothing may be mounted."""
    with _disk(folder, free) as place:
        if place is not None:
            _fill(place.parent, free)
        yield place or folder


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A copy of a folder on a disk that cannot be written to; where nothing may be mounted, without permission."""
    with _disk(folder, SPARE) as place:
        if place is not None:
            subprocess.run(["mount", "-o", "remount,ro", str(place.parent)], check=True)
            yield place
            return
        before = folder.stat().st_mode
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(before)


@contextmanager
def _disk(folder: Path, free: int) -> Iterator[Path | None]:
    """A copy of a folder on a disk of its own; None where nothing may be mounted."""
    used = sum(-(-file.stat().st_size // PAGE) * PAGE + PAGE for file in folder.rglob("*") if not file.is_symlink())
    with tempfile.TemporaryDirectory(prefix="lapmodes-disk-") as disk:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={used + SPARE + free}", "none", disk]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            yield None
            return
        try:
            yield Path(shutil.copytree(folder, Path(disk) / "place"))
        finally:
            subprocess.run(["umount", disk], check=True)


def _fill(disk: Path, free: int) -> None:
    """Take all space but so much."""
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - free
    with open(disk / "filler", "wb") as stream:
        stream.write(bytes(max(0, left)))


def limited_size(size: int) -> None:
    """Let no file of this process grow beyond a size: a full disk for those who may mount none."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
