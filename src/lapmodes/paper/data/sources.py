"""Where the real data come from: a folder of your own, a cache, or a public address, in this order."""

from __future__ import annotations

import gzip
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

from ..._persistence import atomic_write
from ..._progress import BarProgress
from ..._records import Array

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
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            files = [_fetch(source, Path(folder)) for source in dataset.sources]
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


def _from_keras(files: list[Path]) -> tuple[Array, Array]:
    """Training and test images of Keras's archive, in this order."""
    with np.load(files[0], allow_pickle=False) as stored:
        X = np.concatenate([stored["x_train"], stored["x_test"]])
        return X.reshape(len(X), -1), np.concatenate([stored["y_train"], stored["y_test"]])


def _from_idx(files: list[Path]) -> tuple[Array, Array]:
    """Images, labels, images, labels in the format of MNIST's home page: a header, then bytes."""
    images, labels, more_images, more_labels = (gzip.decompress(file.read_bytes()) for file in files)
    X = np.concatenate([np.frombuffer(each, np.uint8, offset=16) for each in (images, more_images)])
    return X.reshape(-1, 28 * 28), np.concatenate([np.frombuffer(y, np.uint8, offset=8) for y in (labels, more_labels)])


def _from_libsvm(files: list[Path]) -> tuple[Array, Array]:
    """Sparse text with pixels from -1 to 1 and labels from 1 to 10."""
    from sklearn.datasets import load_svmlight_files

    X, y, more_X, more_y = load_svmlight_files([str(file) for file in files], n_features=16 * 16)
    pixels = np.concatenate([X.toarray(), more_X.toarray()])
    return ((pixels + 1) / 2).astype(np.float32), np.concatenate([y, more_y]).astype(np.uint8) - 1


def _from_matlab(files: list[Path]) -> tuple[Array, Array]:
    """Pixels from 0 to 1, each image column by column, and labels from 1."""
    from scipy.io import loadmat

    stored = loadmat(files[0])
    return stored["X"].astype(np.float32), stored["Y"].ravel().astype(np.int16) - 1


FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
SKFEATURE = "https://raw.githubusercontent.com/jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/"

MNIST = Dataset(
    "MNIST",
    "mnist70k.npz",
    (
        Source(
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
            "sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
        ),
    ),
    _from_keras,
    "Creative Commons BY-SA 3.0, Y. LeCun and C. Cortes.",
)
FASHION_MNIST = Dataset(
    "Fashion-MNIST",
    "fashion_mnist.npz",
    tuple(
        Source(f"{FASHION}data/fashion/{name}-ubyte.gz", f"sha256:{checksum}")
        for name, checksum in (
            ("train-images-idx3", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            ("train-labels-idx1", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            ("t10k-images-idx3", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            ("t10k-labels-idx1", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        )
    ),
    _from_idx,
    "MIT, Zalando SE.",
)
USPS = Dataset(
    "USPS",
    "usps.npz",
    (
        Source(f"{LIBSVM}usps.bz2", "md5:ec16c51db3855ca6c91edd34d0e9b197"),
        Source(f"{LIBSVM}usps.t.bz2", "md5:8ea070ee2aca1ac39742fdd1ef5ed118"),
    ),
    _from_libsvm,
    "none stated; collected by the US Postal Service (J. J. Hull 1994), for research.",
)
COIL20 = Dataset(
    "COIL-20",
    "coil20_32.npz",
    (
        Source(
            f"{SKFEATURE}skfeature/data/COIL20.mat",
            "sha256:4595ebdda07f47b0eb014fcfaddc22b452f9aed9c1d9261a0d5bc336c1ee1344",
        ),
    ),
    _from_matlab,
    "for research only, Columbia University (S. A. Nene, S. K. Nayar and H. Murase 1996).",
)
