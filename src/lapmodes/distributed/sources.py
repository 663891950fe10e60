"""Where rows come from: dask arrays and frames, Parquet, Zarr and NPY files, always loaded by tasks, block by block."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .._validation import unit_rows
from .cluster import Sized, Tasks

BLOCK_BYTES = 2**25
"""Bytes of a block of a file, as loaded."""
MERGED = 8
"""Samples that one task brings together."""


@dataclass(frozen=True)
class Source:
    """Rows in blocks, each loaded by a task: a graph and the key of each block."""

    graph: dict[Any, Any]
    keys: list[Any]
    names: tuple[str, ...] | None = None
    """Names of the columns, where they have any."""
    where: tuple[str, ...] | None = None
    """What each block is called in messages; by default its number."""
    lengths: tuple[int, ...] | None = None
    """Rows of each block, where they are known before the first look."""
    places: tuple[tuple[str, int, int], ...] = ()
    """The file of each block, and its first and last + 1 row or row group there."""

    def name(self, block: int) -> str:
        """What a block is called in messages."""
        return f"chunk {block}" if self.where is None else self.where[block]


def find_source(X: Any, tasks: Tasks) -> Source:
    """The blocks of whatever was given as data."""
    import dask.array as da

    if isinstance(X, (str, os.PathLike)):
        return file_source(os.fspath(X), tasks)
    if hasattr(X, "to_dask_array") and hasattr(X, "dtypes"):
        return _frame_source(X)
    if isinstance(X, da.Array):
        return _array_source(X)
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        values = X.to_numpy()
        found = _array_source(da.from_array(_numbers(values), chunks=_chunks_for(values)))
        return Source(found.graph, found.keys, _names(X.columns), None, found.lengths)
    if issparse(X):
        raise TypeError("Sparse rows do not go with lapmodes.distributed. Give dense rows, or use lapmodes itself.")
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be of two dimensions. Got {values.ndim} instead. Reshape it to (rows, columns).")
    return _array_source(da.from_array(_numbers(values), chunks=_chunks_for(values)))


def _numbers(values: Array) -> Array:
    if values.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers. Got an array of {values.dtype}. Leave out columns of other types.")
    return values


def _chunks_for(values: Array) -> tuple[int, int]:
    row = max(1, values.dtype.itemsize * values.shape[1])
    return max(1, min(values.shape[0], BLOCK_BYTES // row)), values.shape[1]


def _names(columns: Any) -> tuple[str, ...] | None:
    return tuple(columns) if all(isinstance(name, str) for name in columns) else None


def _array_source(X: Any) -> Source:
    """The blocks of a dask array, the columns of each in one piece; numbers of rows may be unknown."""
    import dask

    if X.ndim != 2:
        raise ValueError(f"X must be of two dimensions. Got {X.ndim} instead. Reshape it to (rows, columns).")
    if X.dtype is not None and X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers. Got an array of {X.dtype}. Leave out columns of other types.")
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    (X,) = dask.optimize(X)
    lengths = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
    if X.numblocks[0] == 0 or (lengths is not None and sum(lengths) == 0):
        raise ValueError("X has no rows.")
    return Source(dict(X.__dask_graph__()), [key[0] for key in X.__dask_keys__()], None, None, lengths)


def _frame_source(X: Any) -> Source:
    """The partitions of a dask data frame; all columns must hold numbers."""
    words = [str(name) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "fiub"]
    if words:
        shown = ", ".join(map(repr, words[:5])) + (" …" if len(words) > 5 else "")
        raise ValueError(
            f"All columns of X must hold numbers. Got others in {shown}. Leave them out, for example with "
            "X.select_dtypes('number')."
        )
    found = _array_source(X.to_dask_array())
    return Source(found.graph, found.keys, _names(X.columns))


def file_source(path: str, tasks: Tasks, columns: Sequence[str] | None = None, *, every_column: bool = False) -> Source:
    """Parquet files (a path, a folder or a glob), a Zarr array or a NPY file; all must hold numbers unless said so."""
    files = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not files or not all(os.path.exists(file) for file in files):
        raise FileNotFoundError(f"There is no file {path!r}. Give a path or a pattern that exists on all workers.")
    if len(files) == 1 and files[0].endswith(".npy"):
        return _npy_source(files[0], tasks)
    if len(files) == 1 and (files[0].rstrip("/").endswith(".zarr") or _is_zarr(files[0])):
        return _zarr_source(files[0], tasks)
    pieces = [
        piece
        for file in files
        for piece in (sorted(glob.glob(os.path.join(file, "**", "*.parquet"), recursive=True)) or [file])
        if os.path.isdir(file)
    ] or files
    return _parquet_source(pieces, tasks, columns, every_column)


def _is_zarr(path: str) -> bool:
    return any((Path(path) / name).exists() for name in ("zarr.json", ".zarray"))


def _npy_source(path: str, tasks: Tasks) -> Source:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2:
        raise ValueError(f"{path!r} must hold an array of two dimensions. It holds one of {array.ndim}.")
    _numbers(array)
    bounds = [*range(0, array.shape[0], _chunks_for(array)[0]), array.shape[0]]
    return _sliced(path, bounds, read_npy, tasks)


def _zarr_source(path: str, tasks: Tasks) -> Source:
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"Reading {path!r} needs zarr. Install it: pip install zarr.") from error
    array = zarr.open_array(path, mode="r")
    if array.ndim != 2:
        raise ValueError(f"{path!r} must hold an array of two dimensions. It holds one of {array.ndim}.")
    stored = array.chunks[0]
    rows = stored * max(1, BLOCK_BYTES // max(1, array.dtype.itemsize * array.shape[1] * stored))
    bounds = [*range(0, array.shape[0], rows), array.shape[0]]
    return _sliced(path, bounds, read_zarr, tasks)


def _sliced(path: str, bounds: list[int], reader: Any, tasks: Tasks) -> Source:
    """A file whose rows are read from one bound to the next."""
    if bounds[-1] == 0:
        raise ValueError(f"{path!r} has no rows.")
    place = os.path.abspath(path)
    graph = {tasks.key("load", i): (reader, place, a, b) for i, (a, b) in enumerate(pairwise(bounds))}
    lengths = tuple(b - a for a, b in pairwise(bounds))
    where = tuple(f"rows {a} to {b - 1} of {path!r}" for a, b in pairwise(bounds))
    return Source(graph, list(graph), None, where, lengths, tuple((place, a, b) for a, b in pairwise(bounds)))


def read_npy(path: str, first: int, stop: int) -> Array:
    """Some rows of a NPY file."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[first:stop])


def read_zarr(path: str, first: int, stop: int) -> Array:
    """Some rows of a Zarr array."""
    import zarr

    return np.asarray(zarr.open_array(path, mode="r")[first:stop])


def _parquet_source(files: list[str], tasks: Tasks, columns: Sequence[str] | None, every_column: bool) -> Source:
    """Row groups of Parquet files, several small ones together."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError('Reading Parquet needs pyarrow. Install the extra: pip install "lapmodes[cli]".') from error
    places, lengths, wanted = [], [], list(columns) if columns is not None else None
    for file in map(os.path.abspath, files):
        try:
            meta, schema = pq.read_metadata(file), pq.read_schema(file)
        except Exception as error:
            raise ValueError(f"{file!r} is not a Parquet file: {error}") from error
        if wanted is None:
            wanted = list(schema.names) if every_column else number_columns(schema, file)
        lost = [name for name in wanted if name not in schema.names]
        if lost:
            raise ValueError(f"{file!r} has no column {lost[0]!r}, which other files have. All must have the same.")
        counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        for a, b in _grouped(counts, max(1, BLOCK_BYTES // (8 * max(1, len(wanted))))):
            places.append((file, a, b))
            lengths.append(sum(counts[a:b]))
    if not lengths:
        raise ValueError(f"{files[0]!r} has no rows.")
    assert wanted is not None
    graph = {tasks.key("load", i): (read_parquet, *place, list(wanted)) for i, place in enumerate(places)}
    where = tuple(f"row groups {a} to {b - 1} of {file!r}" for file, a, b in places)
    return Source(graph, list(graph), tuple(wanted), where, tuple(lengths), tuple(places))


def number_columns(schema: Any, file: str) -> list[str]:
    """The columns of a Parquet file, which must hold numbers or lists of numbers."""
    words = [column.name for column in schema if not _holds_numbers(column.type)]
    if words:
        shown = ", ".join(map(repr, words[:5])) + (" …" if len(words) > 5 else "")
        raise ValueError(f"All columns of {file!r} must hold numbers. Got others in {shown}. Leave them out.")
    return list(schema.names)


def _holds_numbers(kind: Any) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return any(is_kind(kind) for is_kind in (types.is_floating, types.is_integer, types.is_boolean))


def _grouped(counts: list[int], most: int) -> list[tuple[int, int]]:
    """Runs of row groups of at most so many rows, or of one group; empty groups are left out."""
    runs, begin, rows = [], 0, 0
    for i, count in enumerate(counts):
        if rows and rows + count > most:
            runs.append((begin, i))
            begin, rows = i, 0
        rows += count
    return [*runs, (begin, len(counts))] if rows else runs


def read_parquet(file: str, first: int, stop: int, columns: list[str]) -> Array:
    """Some row groups of a Parquet file as an array; float32 stays float32 where all columns are."""
    import pyarrow.parquet as pq

    groups = list(range(first, stop))
    table = pq.ParquetFile(file).read_row_groups(groups, columns=columns, use_threads=False)
    return np.concatenate([_numbers_of(table.column(name), name, file) for name in columns], axis=1)


def _numbers_of(column: Any, name: str, file: str) -> Array:
    """A column of numbers, or of lists that are equally long, with NaN in gaps."""
    from pyarrow import types

    kind, n, column = column.type, len(column), column.combine_chunks()
    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        flat = column.flatten().to_numpy(zero_copy_only=False)
        if n and (flat.size % n or column.null_count or len(set(column.value_lengths().to_pylist())) != 1):
            raise ValueError(f"The lists in column {name!r} of {file!r} are not equally long. Make them so.")
        values = flat.reshape(n, -1)
    else:
        values = column.to_numpy(zero_copy_only=False)[:, None]
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


# The first look: every row is read once, checked and counted, and a random sample is taken.


@dataclass(frozen=True)
class Look(Sized):
    """What a look at a block found."""

    n_rows: int
    n_features: int
    single: bool
    """Whether the block is in single precision."""
    bad_row: int
    """The first row with NaN, infinity or no direction; -1: none."""
    bad: str
    draw: Array
    """A random number for each row of the sample."""
    block: Array
    row: Array
    """Where the sample's rows come from."""
    X: Array
    weight: Array | None = None
    mass: float = 0.0


def as_rows(X: Any, dtype: Any, cosine: bool) -> Array:
    """A block as the fit works on it."""
    rows = np.ascontiguousarray(getattr(X, "to_numpy", lambda: X)(), dtype=dtype)
    return np.ascontiguousarray(unit_rows(rows), dtype=dtype) if cosine else rows


def look_at(X: Any, weight: Any, number: int, size: int, seed: int, cosine: bool) -> Look:
    """Check a block and draw from it: `size` rows with the smallest random numbers."""
    X = np.asarray(X)
    if X.ndim != 2:
        X = X.reshape(X.shape[0], -1)
    bad, why = -1, ""
    if X.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if wrong.size:
            row = X[wrong[0]]
            column = int(np.flatnonzero(~np.isfinite(row))[0])
            bad, why = int(wrong[0]), f"{'NaN' if np.isnan(row[column]) else 'infinity'} in column {column}"
    if cosine and bad < 0:
        zero = np.flatnonzero(~X.any(axis=1))
        if zero.size:
            bad, why = int(zero[0]), "only zeros, which have no direction for metric='cosine'"
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64).reshape(-1)
        if weight.shape[0] != X.shape[0]:
            raise ValueError(
                f"'sample_weight' must have one entry a row. Its chunk {number} has {weight.shape[0]} for {X.shape[0]} "
                "rows. Rechunk it like X."
            )
        wrong = np.flatnonzero(~np.isfinite(weight) | (weight <= 0))
        if wrong.size and bad < 0:
            bad, why = int(wrong[0]), f"a 'sample_weight' of {weight[wrong[0]]}; it must be finite and above 0"
    draw = np.random.default_rng([seed, number]).random(X.shape[0])
    rows = np.argsort(draw, kind="stable")[:size]
    single = X.dtype in (np.float32, np.float16)
    drawn = as_rows(X[rows], np.float32 if single else np.float64, cosine and bad < 0)
    mass = float(X.shape[0] if weight is None else weight.sum())
    block = np.full(rows.size, number, dtype=np.int32)
    return Look(
        X.shape[0], X.shape[1], single, bad, why, draw[rows], block, rows, drawn,
        None if weight is None else weight[rows], mass=mass,
    )  # fmt: skip


def without_sample(look: Look) -> tuple[int, int, bool, int, str, float]:
    """The facts of a look that the driver needs of each block."""
    return look.n_rows, look.n_features, look.single, look.bad_row, look.bad, look.mass


def merge_looks(looks: list[Look], size: int) -> Look:
    """The sample of several blocks."""
    draw = np.concatenate([look.draw for look in looks])
    order = np.argsort(draw, kind="stable")[:size]
    single = all(look.single for look in looks)
    dtype = np.float32 if single else np.float64
    X = np.concatenate([look.X.astype(dtype, copy=False) for look in looks])[order]
    weights = [look.weight for look in looks]
    weight: Any = None if weights[0] is None else np.concatenate(weights)[order]  # type: ignore[arg-type]
    block, row = (np.concatenate([getattr(look, name) for look in looks])[order] for name in ("block", "row"))
    first = looks[0]
    return Look(0, first.n_features, single, -1, "", draw[order], block, row, np.ascontiguousarray(X), weight)


def looking_graph(source: Source, weights: Source | None, tasks: Tasks, options: tuple[int, int, bool]) -> Any:
    """Tasks that look at all blocks and bring the samples together: (graph, keys of facts, key of the sample)."""
    size, seed, cosine = options
    graph = dict(source.graph) | ({} if weights is None else dict(weights.graph))
    level, facts = [], []
    for i, key in enumerate(source.keys):
        weight = None if weights is None else weights.keys[i]
        look = tasks.key("look", 0, i)
        graph[look] = (look_at, key, weight, i, size, seed, cosine)
        graph[tasks.key("facts", i)] = (without_sample, look)
        level.append(look)
        facts.append(tasks.key("facts", i))
    depth = 0
    while len(level) > 1 or depth == 0:
        depth += 1
        groups = [level[i : i + MERGED] for i in range(0, len(level), MERGED)]
        level = []
        for i, group in enumerate(groups):
            graph[tasks.key("look", depth, i)] = (merge_looks, group, size)
            level.append(tasks.key("look", depth, i))
    return graph, facts, level[0]


def sample_digest(look: Look) -> str:
    """A short name for the data: its sample's rows and where they are from."""
    return blake2b(look.X.tobytes() + look.row.tobytes() + look.block.tobytes(), digest_size=16).hexdigest()
