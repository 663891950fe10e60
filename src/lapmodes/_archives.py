"""Arrays from files that nobody vouches for: no objects, honest sizes, no more than fits into memory."""

from __future__ import annotations

import os
import zipfile
from math import prod
from typing import IO, Any

import numpy as np

FALLBACK = 8 * 2**30
"""Bytes assumed where the system does not tell."""


def available_memory() -> int:
    """Bytes of memory that can be had now."""
    try:
        with open("/proc/meminfo") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (OSError, ValueError, AttributeError):
        return FALLBACK


def check_fits(size: int) -> None:
    """Refuse what unpacks to more than the memory there is."""
    limit = available_memory()
    if size > limit:
        raise ValueError(f"it unpacks to {size / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB of free memory")


def array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], Any]:
    """Shape and type that an array declares; ValueError if it is none, or holds Python objects."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its format version {version} is not known")
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which could run code; only numbers and text are read")
    return shape, dtype


def check_archive(file: str | os.PathLike[str]) -> None:
    """Refuse an `.npz` that lies about its sizes, holds objects, or would not fit into memory."""
    total = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                shape, dtype = array_header(stream)
            declared = prod(shape) * dtype.itemsize
            if declared > member.file_size:
                raise ValueError(f"its array {member.filename!r} is cut off")
            total += member.file_size
    check_fits(total)
