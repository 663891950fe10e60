"""Arrays from files that nobody vouches for: no objects, honest sizes, no more than fits into memory."""

from __future__ import annotations

import os
import zipfile
from math import prod
from typing import IO, Any

import numpy as np

FALLBACK = 8 * 2**30
"""Bytes assumed where the system does not tell."""
HARMLESS, MOST_TIMES = 2**28, 100
"""What a file unpacks to may be so many bytes, or as many times its size; no ordinary table is packed tighter."""
MOST_MEMBERS = 10_000
"""Arrays in one archive."""


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


def check_fits(size: int, file: str | os.PathLike[str] | None = None) -> None:
    """Refuse what unpacks to more than the memory there is, or to far more than a file of its size ever does."""
    limit = available_memory()
    if size > limit:
        raise ValueError(f"it unpacks to {size / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB of free memory")
    if file is not None and size > max(HARMLESS, MOST_TIMES * os.path.getsize(file)):
        raise ValueError(
            f"it unpacks to {size / 2**20:,.0f} MiB, more than {MOST_TIMES} times its size: a damaged or malicious "
            "file. If you trust it, unpack it or save it without packing"
        )


def array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], Any]:
    """Shape and type that an array declares; ValueError if it is none, or holds Python objects."""
    try:
        version = np.lib.format.read_magic(stream)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = readers[version](stream)
        size = prod(shape) * dtype.itemsize
    except Exception as error:  # NumPy lets through whatever a broken header makes Python's parser raise
        raise ValueError("the header of its array is damaged") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which could run code; only numbers and text are read")
    if min(shape, default=0) < 0 or size < 0:
        raise ValueError("the header of its array is damaged")
    return shape, dtype


def check_array_file(file: str | os.PathLike[str]) -> None:
    """Refuse an `.npy` that holds objects, or less than it declares."""
    with open(file, "rb") as stream:
        shape, dtype = array_header(stream)
        if prod(shape) * dtype.itemsize > os.path.getsize(file) - stream.tell():
            raise ValueError("it is cut off")


def check_archive(file: str | os.PathLike[str]) -> None:
    """Refuse an `.npz` that lies about its sizes, holds objects, or would take far more memory than its size."""
    total = 0
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise ValueError(f"it holds {len(members):,} arrays")
        for member in members:
            with archive.open(member) as stream:
                shape, dtype = array_header(stream)
            declared = prod(shape) * dtype.itemsize
            if declared > member.file_size:
                raise ValueError(f"its array {member.filename!r} is cut off")
            total += member.file_size
    check_fits(total, file)


FLOATS = ("C", "bandwidth", "sample_weight", "affinity_scale", "anchor_places", "anchor_mass")
FLOAT_MATRICES = ("X", "graph", "Z", "prior", "anchor_half")
"""Arrays, or CSR matrices in four parts."""
WHOLE = ("sample_of", "row_of", "known", "anchor_nearest")
A_ROW = ("unreached", "sample_weight", "known", "affinity_scale", "sample_of")
"""Arrays with one entry for each row of the fit."""


def check_arrays(data: dict[str, Any], n_samples: int) -> None:
    """Refuse a model's arrays that are not the numbers they should be, before anything computes with them."""
    floats = {*FLOATS, *FLOAT_MATRICES, *(f"{name}_data" for name in FLOAT_MATRICES)}
    whole = {*WHOLE, *(f"{name}_{part}" for name in FLOAT_MATRICES for part in ("indices", "indptr", "shape"))}
    for name, array in data.items():
        if name in floats and (array.dtype not in (np.float32, np.float64) or np.isnan(array).any()):
            raise ValueError(f"{name!r} must hold numbers")
        if name in whole and array.dtype.kind not in "iu":
            raise ValueError(f"{name!r} must hold whole numbers")
    (n, d), K = _shape(data, "X"), data["C"].shape[0]
    if data["C"].shape != (K, d) or _shape(data, "graph") != (n, n) or _shape(data, "Z") != (n, K):
        raise ValueError("the arrays do not fit together")
    if {"prior", "prior_data"} & data.keys() and _shape(data, "prior") != (n, K):
        raise ValueError("the prior does not fit")
    for name in A_ROW:
        if name in data and data[name].shape != (n,):
            raise ValueError(f"{name!r} must have one number a row")
    if data["bandwidth"].shape not in ((), (n,)):
        raise ValueError("'bandwidth' must be one number, or one a row")
    if "sample_weight" in data and (data["sample_weight"] < 0).any():
        raise ValueError("weights must not be negative")
    _check_row_map(data, n, n_samples)
    if "anchor_places" in data:
        _check_anchors(data, n)


def _shape(data: dict[str, Any], name: str) -> tuple[int, ...]:
    """The shape of an array, or of a CSR matrix in parts."""
    return data[name].shape if name in data else tuple(map(int, data[f"{name}_shape"]))


def _check_row_map(data: dict[str, Any], n: int, n_samples: int) -> None:
    """Rows and samples name each other."""
    if ("sample_of" in data) != ("row_of" in data) or ("row_of" not in data and n_samples != n):
        raise ValueError("rows and samples do not fit together")
    if "row_of" in data and data["row_of"].shape != (n_samples,):
        raise ValueError("'row_of' must have one number a sample")
    for name, limit in (("sample_of", n_samples), ("row_of", n)):
        if name in data and not (data[name].size and 0 <= data[name].min() <= data[name].max() < limit):
            raise ValueError(f"{name!r} is out of range")


def _check_anchors(data: dict[str, Any], n_points: int) -> None:
    """The anchors' places, masses and links fit together."""
    places = data["anchor_places"]
    fits = places.ndim == 2 and places.shape[1] == data["C"].shape[1]
    fits = fits and data["anchor_mass"].shape == (len(places),) and data["anchor_nearest"].shape == ()
    fits = fits and 1 <= int(data["anchor_nearest"]) <= len(places)
    if not fits or tuple(data["anchor_half_shape"]) != (n_points, len(places)):
        raise ValueError("the anchors do not fit together")
