"""Parts: rows that are near each other in space live together, in cells of K-means; the row's number goes along."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from .._progress import Step
from .._records import Array, Points
from .._row_map import RowMap
from .._settings import Settings
from .._validation import Given
from ..solve.objective import kernel_values, nearest_mode, row_blocks
from .cluster import Sized, Tasks, first_of
from .sources import Source, as_rows, find_source, looking_graph

PART_ROWS = 320_000
"""Rows of a part at most, on average, where their number is left to the library."""
PART_BYTES = 2**28
"""What the work on a part may take at once."""


@dataclass(frozen=True)
class Cells(Sized):
    """A partition of space by centres, and the part that each cell belongs to."""

    centers: Array
    part: Array

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return int(self.part.max()) + 1

    def parts_of(self, X: Array) -> Array:
        """The part of each row."""
        if self.n_parts == 1:
            return np.zeros(X.shape[0], dtype=np.int32)
        return self.part[nearest_mode(Points(X), self.centers)]

    def margins(self, X: Array) -> Array:
        """For each row and part a distance that no row of the part's cells is nearer than; 0 for its own part.

        A row of another cell lies beyond the plane half way between both centres.
        """
        order = np.argsort(self.part, kind="stable")
        starts = np.searchsorted(self.part[order], np.arange(self.n_parts))
        between = np.sqrt(np.maximum(-_squared(Points(self.centers), self.centers), np.finfo(np.float32).tiny))
        found = np.empty((X.shape[0], self.n_parts), dtype=X.dtype)
        for rows, some in row_blocks(Points(X), self.centers.shape[0]):
            d2 = -_squared(some, self.centers)
            own = d2.argmin(axis=1)
            nearest = np.take_along_axis(d2, own[:, None], axis=1)
            beyond = (d2 - nearest) / (2 * between[own])
            np.put_along_axis(beyond, own[:, None], 0, axis=1)
            found[rows] = np.minimum.reduceat(beyond[:, order], starts, axis=1)
        return found


def _squared(points: Points, C: Array) -> Array:
    return kernel_values(points, C, 1.0, squared=True)


def usual_parts(n: int, D: int, K: int) -> int:
    """How many parts suit so many rows: a power of two, whatever the cluster looks like."""
    rows = min(PART_ROWS, PART_BYTES // (8 * D + 16 * K + 240))
    return 1 << max(0, int(np.ceil(np.log2(max(n / max(rows, 1), 1)))))


@dataclass(frozen=True)
class Data:
    """The rows, looked at once."""

    source: Source
    sample: Any
    """Future of a random sample."""
    lengths: Array
    """Rows of each block."""
    n_features: int
    dtype: Any
    mass: float
    """Sum of the sample weights."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.lengths.sum())

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.n, self.n_features

    @property
    def firsts(self) -> Array:
        """Number of the first row of each block."""
        return np.concatenate([[0], np.cumsum(self.lengths)])


def look_over(tasks: Tasks, X: Any, weight: Any, settings: Settings, seed: int, most: Any, step: Step) -> Data:
    """Read all rows once: check and count them, and draw a sample."""
    source = find_source(X, tasks)
    weights = None if weight is None else find_weights(weight, source, tasks)
    first = tasks.run(source.graph | {tasks.key("width"): (row_width, source.keys[0])}, [tasks.key("width")])
    width, itemsize = tasks.gather(list(first.values()))[0]
    options = most(width, itemsize), seed, settings.metric == "cosine"
    graph, keys, sample = looking_graph(source, weights, tasks, options)
    futures = tasks.run(graph, [*keys, sample])
    tasks.watch([futures[key] for key in keys], step)
    facts = tasks.gather([futures[key] for key in keys])
    for i, (_, found, _, bad, why, _) in enumerate(facts):
        if found != width:
            raise ValueError(f"All rows must have {width} columns, but those of {source.name(i)} have {found}.")
        if bad >= 0:
            raise ValueError(
                f"Row {bad} of {source.name(i)} has {why}. Drop or repair such rows: workers take no gaps."
            )
    lengths = np.array([each[0] for each in facts], dtype=np.int64)
    if lengths.sum() < max(2, settings.n_clusters):
        raise ValueError(
            f"n_samples={lengths.sum()} should be >= n_clusters={settings.n_clusters}. Ask for fewer clusters."
        )
    dtype = np.dtype(np.float32 if all(each[2] for each in facts) else np.float64)
    return Data(source, futures[sample], lengths, width, dtype, sum(each[5] for each in facts))


def row_width(X: Any) -> tuple[int, int]:
    """(Columns, bytes of a number) of a block."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be of two dimensions. Got blocks of {X.ndim}. Reshape it to (rows, columns).")
    return X.shape[1], 4 if X.dtype in (np.float32, np.float16) else 8


def find_weights(weight: Any, source: Source, tasks: Tasks) -> Source:
    """Sample weights in the blocks of the rows."""
    import dask.array as da

    if not isinstance(weight, da.Array):
        weight = np.asarray(weight, dtype=np.float64)
        if source.lengths is None:
            raise ValueError("'sample_weight' must be a dask array where the chunk sizes of X are not known.")
        if weight.shape != (sum(source.lengths),):
            raise ValueError(
                f"'sample_weight' must have shape ({sum(source.lengths)},), one entry a row. Got {weight.shape}."
            )
        weight = da.from_array(weight, chunks=(source.lengths,))
    elif source.lengths is not None and not np.isnan(weight.chunks[0]).any():
        weight = weight.rechunk((source.lengths,))
    if weight.numblocks[0] != len(source.keys):
        raise ValueError(
            f"'sample_weight' must have the chunks of X. It has {weight.numblocks[0]}, X has {len(source.keys)}."
        )
    return Source(dict(weight.__dask_graph__()), list(weight.__dask_keys__()))


@dataclass(frozen=True)
class Piece(Sized):
    """Rows of one block that belong to one part."""

    X: Array
    numbers: Array
    """The rows' numbers in the data."""
    weight: Array | None
    start: Any
    """Their given first assignments; None where none were given."""


@dataclass(frozen=True)
class Part(Sized):
    """The rows that live together: equal ones are one row, in an order that suits the cache."""

    X: Array
    weight: Array | None
    numbers: Array
    """The samples' numbers in the data, ascending."""
    rows: RowMap
    """Which sample each row is, and which row answers for each sample."""
    start: Any = None
    """Given first assignments of the rows."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def row_numbers(self) -> Array:
        """The number in the data of each row."""
        return np.asarray(self.rows.take(self.numbers))

    def points(self) -> Points:
        """The rows as the solver takes them."""
        return Points(self.X)


def split_block(X: Array, weight: Array | None, start: Any, first: int, cells: Cells) -> dict[int, Piece]:
    """The rows of a block by their part."""
    part = cells.parts_of(X)
    order = np.argsort(part, kind="stable")
    cuts = np.searchsorted(part[order], np.arange(cells.n_parts + 1))
    found = {}
    for p in np.unique(part).tolist():
        rows = order[cuts[p] : cuts[p + 1]]
        found[p] = Piece(
            X[rows],
            (first + rows).astype(np.int64),
            None if weight is None else weight[rows],
            None if start is None else csr_array(start[rows]),
        )
    return found


def join_pieces(pieces: list[Piece | None], merge: bool) -> Part:
    """One part from its pieces, in the order of the blocks."""
    there = [piece for piece in pieces if piece is not None]
    X = np.ascontiguousarray(np.concatenate([piece.X for piece in there]))
    numbers = np.concatenate([piece.numbers for piece in there])
    weights = [piece.weight for piece in there]
    weight: Any = None if weights[0] is None else np.concatenate(weights)  # type: ignore[arg-type]
    start = None
    if there[0].start is not None:
        start = csr_array(vstack([piece.start for piece in there], format="csr"))
    given = Given(sample_weight=weight)
    with threadpool_limits(1):
        rows = RowMap.of(X, given, 1, merge=merge)
    points = rows.take(X)
    given = rows.take_given(given, X.dtype)
    start = None if start is None else csr_array(rows.take(start))
    return Part(np.ascontiguousarray(points), given.sample_weight, numbers, rows, start)


@dataclass(frozen=True)
class PartFacts:
    """What the driver knows of a part."""

    n_rows: int
    n_samples: int
    mass: float
    """Sum of the rows' weights."""
    weighted: bool
    sums: Array
    """Of the rows' coordinates, for the spread of all points."""
    squares: float


def facts_of(part: Part) -> PartFacts:
    """A look at a part."""
    X = part.X
    squares = sum(float(np.square(X[i : i + 65536], dtype=np.float64).sum()) for i in range(0, part.n, 65536))
    mass = float(part.n if part.weight is None else part.weight.sum(dtype=np.float64))
    weighted = part.weight is not None
    return PartFacts(part.n, part.numbers.size, mass, weighted, X.sum(axis=0, dtype=np.float64), squares)


def spread_of(facts: list[PartFacts]) -> float:
    """Root of the mean squared distance to the mean of all points."""
    n = sum(each.n_rows for each in facts)
    mean = np.sum([each.sums for each in facts], axis=0) / n
    return float(np.sqrt(max(sum(each.squares for each in facts) / n - float(mean @ mean), 0.0)))


def scaled_weight(weight: Any, factor: float, dtype: Any) -> Array:
    """Weights of mean 1."""
    return (np.asarray(weight, dtype=np.float64) * factor).astype(dtype)


def make_parts(
    tasks: Tasks, data: Data, cells: Cells, weight: Any, start: Any, settings: Settings, merge: bool, step: Step
) -> tuple[list[Any], list[PartFacts]]:
    """Move each row to its part, once."""
    weights = None if weight is None else find_weights(weight, data.source, tasks)
    graph = dict(data.source.graph) | ({} if weights is None else dict(weights.graph))
    cosine = settings.metric == "cosine"
    starts = start_blocks(start, data, graph)
    for i, key in enumerate(data.source.keys):
        graph[tasks.key("rows", i)] = (as_rows, key, data.dtype, cosine)
        scaled = None
        if weights is not None:
            scaled = tasks.key("scaled", i)
            graph[scaled] = (scaled_weight, weights.keys[i], data.n / data.mass, data.dtype)
        graph[tasks.key("split", i)] = (
            split_block,
            tasks.key("rows", i),
            scaled,
            starts[i],
            int(data.firsts[i]),
            cells,
        )
        for p in range(cells.n_parts):
            graph[tasks.key("piece", i, p)] = (first_of, tasks.key("split", i), p)
    blocks = range(len(data.source.keys))
    for p in range(cells.n_parts):
        graph[tasks.key("part", p)] = (join_pieces, [tasks.key("piece", i, p) for i in blocks], merge)
    parts = list(tasks.run(graph, [tasks.key("part", p) for p in range(cells.n_parts)]).values())
    tasks.watch(parts, step)
    facts = tasks.gather(tasks.each("part-facts", facts_of, [(part,) for part in parts]))
    return parts, facts


def start_blocks(start: Any, data: Data, graph: dict[Any, Any]) -> list[Any]:
    """Given first assignments for each block: keys or sparse rows."""
    import dask.array as da

    if start is None:
        return [None] * len(data.lengths)
    if isinstance(start, da.Array):
        start = start.rechunk((tuple(data.lengths.tolist()), -1))
        graph |= dict(start.__dask_graph__())
        return [key[0] for key in start.__dask_keys__()]
    rows = csr_array(start)
    return [rows[a:b] for a, b in zip(data.firsts[:-1], data.firsts[1:], strict=True)]


# Back: what the parts know of their samples, in the order of the data.


def cut(part: Part, values: Any, bounds: Array) -> dict[int, tuple[Array, Any]]:
    """The values of a part's samples by the block that they come from, with their places in it."""
    at = np.searchsorted(part.numbers, bounds)
    blocks = np.flatnonzero(np.diff(at)).tolist()
    return {b: (part.numbers[at[b] : at[b + 1]] - bounds[b], values[at[b] : at[b + 1]]) for b in blocks}


def assemble(pieces: list[Any], n: int, K: int, dtype: Any, sparse: bool) -> Any:
    """One block in the order of its rows; K = 0: a number for each row."""
    there = [piece for piece in pieces if piece is not None]
    if K == 0:
        values = np.empty(n, dtype=dtype)
        for places, some in there:
            values[places] = some
        return values
    order = np.argsort(np.concatenate([places for places, _ in there]), kind="stable")
    rows = csr_array(vstack([some for _, some in there], format="csr")[order], dtype=dtype)
    return rows if sparse else rows.toarray()


def in_order(
    tasks: Tasks, parts: list[Any], values: list[Any], firsts: Array, *, K: int = 0, dtype: Any, sparse: bool = False
) -> Any:
    """A lazy array of what each part has of its samples; `values` are (function, arguments) for each part."""
    number = tasks.number()
    graph: dict[Any, Any] = {}
    blocks = range(len(firsts) - 1)
    for p, part in enumerate(parts):
        graph[tasks.key("value", number, p)] = values[p]
        graph[tasks.key("cut", number, p)] = (cut, part, tasks.key("value", number, p), firsts)
        for b in blocks:
            graph[tasks.key("cut-of", number, p, b)] = (first_of, tasks.key("cut", number, p), b)
    name = tasks.key("ordered", number)[0] + f"-{number}"
    for b in blocks:
        pieces = [tasks.key("cut-of", number, p, b) for p in range(len(parts))]
        key = (name, b) if K == 0 else (name, b, 0)
        graph[key] = (assemble, pieces, int(firsts[b + 1] - firsts[b]), K, dtype, sparse)
    return lazy_array(graph, name, tuple(int(b - a) for a, b in pairwise(firsts)), K, dtype, sparse)


def lazy_array(graph: dict[Any, Any], name: str, lengths: tuple[Any, ...], K: int, dtype: Any, sparse: bool) -> Any:
    """A dask array of blocks of rows."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    chunks = (lengths,) if K == 0 else (lengths, (K,))
    meta = csr_array((0, 0), dtype=dtype) if sparse else np.empty((0,) * len(chunks), dtype=dtype)
    return da.Array(HighLevelGraph.from_collections(name, graph), name, chunks, dtype=dtype, meta=meta)
