"""Where data files come from: a folder of your own, a cache, or a public address, in this order."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np

from .._persistence import atomic_write
from .._progress import BarProgress
from .._records import Array

CHUNK = 2**16
KILO = 1024
TIMEOUT = 30
"""Seconds without a byte after which a download is given up."""


class DataNotFoundError(OSError):
    """A data file is neither on this machine nor could it be downloaded."""


@dataclass(frozen=True)
class Source:
    """A public file and the checksum of its content, as 'algorithm:hexadecimal'; None is not checked."""

    url: str
    checksum: str | None


@dataclass(frozen=True)
class Dataset:
    """A set of labelled points: the file that holds it here, and what to make that file from."""

    name: str
    file: str
    """Name of an `.npz` with the arrays X and y."""
    sources: tuple[Source, ...]
    convert: Callable[[list[Path]], tuple[Array, Array]]
    """From the downloaded sources to X and y."""
    licence: str


def load_arrays(dataset: Dataset) -> tuple[Array, Array]:
    """X and y as stored, downloaded and cached where they are not there yet."""
    file = find(dataset.file) or download(dataset)
    try:
        with np.load(file, allow_pickle=False) as stored:
            return stored["X"], stored["y"]
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} must be an .npz file with the arrays X and y. Remove or replace it.") from error


def find(file: str) -> Path | None:
    """The file in the folder LAPMODES_DATA or in the cache."""
    folders = [Path(os.environ["LAPMODES_DATA"])] if os.environ.get("LAPMODES_DATA") else []
    paths = (folder / file for folder in [*folders, cache_folder()])
    return next((path for path in paths if path.is_file()), None)


def cache_folder() -> Path:
    """LAPMODES_CACHE, or the place for caches on this platform."""
    if chosen := os.environ.get("LAPMODES_CACHE"):
        return Path(chosen)
    places = {"win32": os.environ.get("LOCALAPPDATA", "~"), "darwin": "~/Library/Caches"}
    place = places.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(place).expanduser() / "lapmodes"


def download(dataset: Dataset) -> Path:
    """Fetch the sources, check them, and keep what they convert to; nothing is left of a failed attempt."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    print(f"Downloading {dataset.name} to {cache}. Licence: {dataset.licence}", file=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(dir=cache) as room:
            files = [_fetch(source, Path(room)) for source in dataset.sources]
            X, y = dataset.convert(files)
            with atomic_write(cache / dataset.file) as stream:
                np.savez_compressed(stream, X=X, y=y)
    except (OSError, HTTPException) as error:
        raise DataNotFoundError(
            f"{dataset.name} is not on this machine and could not be downloaded: {error}. Try again, or put "
            f"{dataset.file}, with the arrays X and y, into the folder that the environment variable LAPMODES_DATA "
            f"names, or into {cache}."
        ) from error
    return cache / dataset.file


def _fetch(source: Source, folder: Path) -> Path:
    """One file, whole and as expected."""
    target = folder / source.url.rsplit("/", 1)[-1]
    algorithm, _, expected = (source.checksum or "sha256:").partition(":")
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with urlopen(Request(source.url, headers={"User-Agent": "lapmodes"}), timeout=TIMEOUT) as answer:
        size = answer.headers.get("Content-Length")
        _copy(answer, target, digest, None if size is None else int(size))
    if expected and digest.hexdigest() != expected:
        raise OSError(f"{source.url} has the {algorithm} checksum {digest.hexdigest()} instead of {expected}")
    return target


def _copy(answer: Any, target: Path, digest: Any, size: int | None) -> None:
    """Write an answer to a file as it comes in, with a bar that counts kilobytes."""
    done = 0
    total = None if size is None else -(-size // KILO)
    with target.open("wb") as stream, BarProgress().phase(target.name, total) as step:
        while block := answer.read(CHUNK):
            stream.write(block)
            digest.update(block)
            step(-(-(done + len(block)) // KILO) - -(-done // KILO), "kB")
            done += len(block)
    if size is not None and done != size:
        raise OSError(f"{target.name} broke off after {done} of {size} bytes")
