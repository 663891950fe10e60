"""NumPy arrays: `.npy`, and `.npz` with dense arrays or a sparse matrix."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._archives import array_header, check_archive
from .._records import Array
from .problems import FileError, first_line, listed
from .table import Reading, Table

SPARSE = {"format", "shape", "data"}
USUAL = ("X", "x", "data", "arr_0", "features", "embeddings")


def read(path: Path, reading: Reading) -> Table:
    """The array; of several in an `.npz` the one named, or the one with a usual name."""
    if path.suffix.lower() == ".npy":
        return as_table(path, _mapped(path))
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as stored:
            if set(stored.files) >= SPARSE:
                return Table(matrix=_sparse(path))
            return as_table(path, stored[_chosen(path, stored.files, reading)])
    except FileError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise FileError(f"{str(path)!r} is not a usable .npz file: {first_line(error)}.") from error


def batches(path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int) -> Iterator[Table]:
    """Rows of an `.npy`, piece by piece; an `.npz` whole."""
    if path.suffix.lower() != ".npy":
        yield read(path, reading)
        return
    array = _mapped(path)
    for start in range(0, len(array), rows):
        yield as_table(path, np.array(array[start : start + rows]))


def as_table(path: Path, array: Array) -> Table:
    """Rows of numbers; an array of more than two dimensions is a stack of pictures or the like."""
    if array.ndim < 2:
        raise FileError(
            f"{str(path)!r} holds an array of shape {array.shape}; rows and columns (two dimensions) are needed."
        )
    if array.dtype.kind not in "fiub":
        raise FileError(f"{str(path)!r} holds {array.dtype.name} values; numbers are needed.")
    if array.size == 0:
        raise FileError(f"{str(path)!r} holds an array of shape {array.shape}, without any value.")
    shape = array.shape[1:] if array.ndim > 2 else None
    if shape is not None and not (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)):
        shape = None
    return Table(matrix=array.reshape(len(array), -1), image_shape=shape)


def _mapped(path: Path) -> Any:
    try:
        with open(path, "rb") as stream:
            array_header(stream)
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        why = "it is cut off" if "mmap length" in str(error) else first_line(error)
        raise FileError(f"{str(path)!r} is not a usable .npy file: {why}.") from error


def _chosen(path: Path, names: Sequence[str], reading: Reading) -> str:
    if reading.array is not None:
        if reading.array in names:
            return reading.array
        raise FileError(f"{str(path)!r} has no array {reading.array!r}; it has {listed(sorted(names))}.")
    if not names:
        raise FileError(f"{str(path)!r} holds no array.")
    if len(names) == 1:
        return names[0]
    for name in USUAL:
        if name in names:
            return name
    raise FileError(f"{str(path)!r} has several arrays: {listed(sorted(names))}. Choose one with --array NAME.")


def _sparse(path: Path) -> Any:
    from scipy.sparse import csr_array, load_npz

    matrix = csr_array(load_npz(path))
    matrix.check_format(full_check=True)
    return matrix
