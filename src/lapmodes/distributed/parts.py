"""Parts: rows that are near each other in space live together, in cells of K-means; the row's number goes along."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from threadpoolctl import threadpool_limits

from .._records import Array, Points
from .._row_map import RowMap
from .._validation import Given
from ..graph.neighbors import make_index
from ..solve.objective import kernel_values, nearest_mode, row_blocks

CELLS_A_PART = 12
"""Cells that are packed into one part, on average: enough to make parts even and to follow clusters."""
MOST_CELLS = 4096
PART_ROWS = 320_000
"""Rows of a part at most, on average, where their number is left to the library."""
PART_BYTES = 2**28
"""What the work on a part may take at once."""
UNEVEN = 1.2
"""A part may have so many times the usual number of rows."""
CELL_SAMPLE = 20_000
"""Rows of the sample on which cells are found and their borders looked at."""
BORDER_NEIGHBORS = 5


class Sized:
    """A record whose size Dask sees: the sum of its arrays."""

    def __sizeof__(self) -> int:
        return sum(size_of(getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]


def size_of(value: Any) -> int:
    """Bytes of arrays, sparse matrices and records of them."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(size_of(getattr(value, field.name)) for field in fields(value))
    return sys.getsizeof(value)


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
    rows = min(PART_ROWS, PART_BYTES // (12 * D + 24 * K + 240))
    return 1 << max(0, int(np.ceil(np.log2(max(n / max(rows, 1), 1)))))


def make_cells(sample: Array, n_parts: int, seed: int) -> Cells:
    """K-means on a sample, and its cells packed into parts that are even and have few neighbours elsewhere."""
    from sklearn.cluster import KMeans

    n_cells = min(n_parts * CELLS_A_PART, MOST_CELLS, sample.shape[0]) if n_parts > 1 else 1
    some = np.random.default_rng(seed).permutation(sample.shape[0])[: max(CELL_SAMPLE, 8 * n_cells)]
    X = np.ascontiguousarray(sample[np.sort(some)])
    if n_cells == 1:
        return Cells(np.ascontiguousarray(X[:1]), np.zeros(1, dtype=np.int32))
    with threadpool_limits(1):
        found = KMeans(n_cells, init="random", n_init=1, max_iter=5, random_state=seed, tol=0).fit(X)
    centers = np.ascontiguousarray(found.cluster_centers_, dtype=X.dtype)
    cell = nearest_mode(Points(X), centers)
    used, cell = np.unique(cell, return_inverse=True)  # each cell that is left holds a row of the data
    near = make_index(X, 1).query_self(BORDER_NEIGHBORS).indices
    links = np.zeros((used.size, used.size))
    np.add.at(links, (np.repeat(cell, near.shape[1]), cell[near].ravel()), 1.0)
    part = pack_cells(links + links.T, np.bincount(cell).astype(np.float64), n_parts)
    return Cells(np.ascontiguousarray(centers[used]), part)


def pack_cells(links: Array, size: Array, n_parts: int) -> Array:
    """The part of each cell: those with most links for their size are joined while the parts stay even.

    What cannot be joined any more is packed with the smallest.
    """
    n = size.size
    limit, size = UNEVEN * size.sum() / n_parts, size.copy()
    links = links.copy()
    np.fill_diagonal(links, 0)
    part, alive = np.arange(n), np.ones(n, dtype=bool)
    score = _scores(links, size, limit)
    for _ in range(n - min(n_parts, n)):
        one, two = np.unravel_index(int(score.argmax()), score.shape)
        if score[one, two] <= 0:
            left = np.flatnonzero(alive)
            one, two = left[np.argsort(size[left], kind="stable")[:2]]
        links[one] += links[two]
        links[:, one] += links[:, two]
        links[one, one] = 0
        size[one] += size[two]
        part[part == two], alive[two] = one, False
        links[two], links[:, two] = 0, 0
        row = np.where(alive, _scores(links[one], size, limit, size[one]), -1.0)
        row[one] = -1.0
        score[one], score[:, one], score[two], score[:, two] = row, row, -1.0, -1.0
    return np.unique(part, return_inverse=True)[1].astype(np.int32)


def _scores(links: Array, size: Array, limit: float, own: Any = None) -> Array:
    """Links for the size of the smaller one of two; -1 where both together are too large."""
    own = size[:, None] if own is None else own
    found = np.where(own + size > limit, -1.0, links / np.maximum(np.minimum(own, size), 1.0))
    if found.ndim == 2:
        np.fill_diagonal(found, -1.0)
    return found


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
    weight = None if weights[0] is None else np.concatenate(weights)  # type: ignore[arg-type]
    start = None
    if there[0].start is not None:
        from scipy.sparse import vstack

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
