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


FLOATS = frozenset(
    [
        "assignments_",
        "assignments__data",
        "votes",
        "votes_data",
        "cluster_centers_",
        "bandwidth_",
        "X",
        "X_data",
        "graph_data",
        "sample_weight",
        "degrees",
        "masses",
        "affinity_scale",
        "anchor_places",
        "anchor_mass",
        "anchor_half_data",
    ]
)
WHOLE = frozenset(
    [
        "exemplars_",
        "kept",
        "assignments__indices",
        "assignments__indptr",
        "assignments__shape",
        "votes_indices",
        "votes_indptr",
        "votes_shape",
        "X_indices",
        "X_indptr",
        "X_shape",
        "graph_indices",
        "graph_indptr",
        "graph_shape",
        "anchor_nearest",
        "anchor_half_indices",
        "anchor_half_indptr",
        "anchor_half_shape",
    ]
)
PER_POINT = ("sample_weight", "degrees", "affinity_scale")
"""Arrays with one entry for each row of X."""


def check_arrays(data: dict[str, Any]) -> None:
    """Refuse a model's arrays that are not the numbers they should be, before anything computes with them."""
    for name, array in data.items():
        if name in FLOATS and (array.dtype not in (np.float32, np.float64) or np.isnan(array).any()):
            raise ValueError(f"{name!r} must hold numbers")
        if name in WHOLE and array.dtype.kind not in "iu":
            raise ValueError(f"{name!r} must hold whole numbers")
    n_points, n_samples = (
        int(data[name].shape[0] if name in data else data[f"{name}_shape"][0]) for name in ("X", "assignments_")
    )
    for name in PER_POINT:
        if name in data and data[name].shape != (n_points,):
            raise ValueError(f"{name!r} must have one number a point")
    if "masses" in data and data["masses"].shape != data["assignments_"].shape[1:]:
        raise ValueError("'masses' must have one number a cluster")
    if data["bandwidth_"].shape not in ((), (n_samples,)) or data["unlit"].shape != (n_samples,):
        raise ValueError("an array must have one number a sample")
    for name in ("kept", "exemplars_"):
        if name in data and data[name].size and not 0 <= data[name].min() <= data[name].max() < n_samples:
            raise ValueError(f"{name!r} must name samples")
    if "sample_weight" in data and (data["sample_weight"] < 0).any():
        raise ValueError("weights must not be negative")
    if "anchor_places" in data:
        _check_anchors(data, n_points)


def _check_anchors(data: dict[str, Any], n_points: int) -> None:
    """The anchors' places, masses and links fit together."""
    places = data["anchor_places"]
    fits = places.ndim == 2 and places.shape[1] == data["cluster_centers_"].shape[1]
    fits = fits and data["anchor_mass"].shape == (len(places),) and data["anchor_nearest"].shape == ()
    fits = fits and 1 <= int(data["anchor_nearest"]) <= len(places)
    if not fits or tuple(data["anchor_half_shape"]) != (n_points, len(places)):
        raise ValueError("the anchors do not fit together")
