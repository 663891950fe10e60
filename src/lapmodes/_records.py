"""The frozen records that travel through the library, in the order in which they arise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._rows import largest_columns, row_arrays

Array = NDArray[Any]

MANY_CLUSTERS = 256
"""From here on assignments are kept sparse, and starts look at less."""


@dataclass(frozen=True)
class Hints:
    """What the user knows of the clusters."""

    known: Array | None = None
    """Cluster of each point, -1 where unknown."""
    must_link: Array | None = None
    """Pairs of points that belong together, (M, 2)."""

    def among(self, kept: Array, n: int) -> Hints:
        """The hints on some of the n points."""
        place = np.full(n, -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        known = None if self.known is None else self.known[kept]
        pairs = None if self.must_link is None else place[self.must_link]
        return Hints(known, None if pairs is None else pairs[(pairs >= 0).all(axis=1)])


@dataclass(frozen=True)
class Neighbors:
    """The nearest neighbours of each row, nearest first; a point is never its own neighbour."""

    indices: Array
    distances: Array
    recall: float = 1.0
    """Share of true neighbours found in a random sample; 1 where the search is exact."""

    def without_first(self) -> Neighbors:
        """Without the nearest of each row: for rows that found themselves."""
        return Neighbors(self.indices[:, 1:], self.distances[:, 1:], self.recall)

    def edges(self) -> tuple[Array, Array, Array]:
        """(start, end, length) of each edge once, where both ends list it from the one with the lower number."""
        fresh = np.empty(self.indices.shape, dtype=bool)
        indices = np.ascontiguousarray(self.indices, dtype=np.int32)
        _native.fresh_edges(indices, fresh)
        start = np.repeat(np.arange(len(indices), dtype=np.int32), fresh.sum(axis=1))
        return start, indices[fresh], self.distances[fresh]

    def first(self, k: int) -> Neighbors:
        """The k nearest only."""
        if k >= self.indices.shape[1]:
            return self
        return Neighbors(self.indices[:, :k], self.distances[:, :k], self.recall)


@dataclass(frozen=True)
class Tree:
    """The N - 1 edges of a spanning tree, shortest first."""

    start: Array
    end: Array
    length: Array


@dataclass(frozen=True)
class Graph:
    """A symmetric affinity W and its Laplacian L = diag(diagonal) - W."""

    affinity: Any
    """CSR matrix W (N, N), no self-loops."""
    weights: Any
    """What L has off its diagonal: W, or D^-1/2 W D^-1/2 for the normalised Laplacian."""
    diagonal: Array
    """Diagonal of L: the degrees, or 1 (0 for isolated points) for the normalised Laplacian."""
    degrees: Array
    """Row sums of W."""
    component: Array
    """Connected component of each point, numbered from 0."""
    evenness: float = 0.0
    """c >= 0 in tr(Z'(L + c d d')Z), d the diagonal: the masses Z'd of the clusters are kept even."""

    @property
    def n_components(self) -> int:
        """Number of connected components (an isolated point is one)."""
        return int(self.component.max()) + 1

    @property
    def laplacian(self) -> Any:
        """L as a sparse matrix."""
        from scipy.sparse import diags_array

        return (diags_array(self.diagonal) - self.weights).tocsr()

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """(indptr, indices, weights, diagonal) as the native kernels take them."""
        indptr, indices, weights = row_arrays(self.weights)
        return indptr, indices, weights, self.diagonal

    def astype(self, dtype: Any) -> Graph:
        """The same graph in another precision."""
        if self.weights.dtype == dtype:
            return self
        return replace(self, weights=self.weights.astype(dtype), diagonal=self.diagonal.astype(dtype))


@dataclass(frozen=True)
class Landscape:
    """What the candidates for a start see: neighbours, spanning trees and several weightings of the graph."""

    graphs: tuple[Graph, ...]
    """Weightings in double precision; the first one also judges the candidates."""
    neighbors: Neighbors | None = None
    trees: tuple[Tree, ...] = ()
    """Of the distances, and of the distances that are at least those at which a point has a few neighbours."""
    n_neighbors: int = 10


@dataclass(frozen=True)
class Start:
    """Where the alternation begins: modes C (K, D) and assignments Z (N, K), an array or a CSR matrix."""

    C: Array
    Z: Any


@dataclass(frozen=True)
class Certificate:
    """Energy of an assignment and a proven bound on its distance to the optimum."""

    energy: float
    gap: float


@dataclass(frozen=True)
class Assignments:
    """Result of a Z-step."""

    Z: Any
    energy: float
    gap: float
    """E(Z) - min E is at most this."""
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Modes:
    """Result of a C-step."""

    C: Array
    n_iter: int
    moved: float
    """Largest distance that a mode moved."""
    empty: tuple[int, ...]
    """Clusters without any mass, whose modes were left where they were."""


HISTORY = np.dtype(
    [
        ("objective", np.float64),
        ("gap", np.float64),
        ("moved", np.float64),
        ("mode_steps", np.int64),
        ("assignment_steps", np.int64),
        ("mode_seconds", np.float64),
        ("assignment_seconds", np.float64),
    ]
)


@dataclass(frozen=True)
class Solution:
    """A fixed point of the alternation at one (lam, bandwidth)."""

    C: Array
    Z: Any
    """An array, or a CSR matrix where assignments are kept sparse."""
    objective: float
    gap: float
    n_iter: int
    converged: bool
    """Whether the modes came to rest."""
    stopped: bool
    """Whether a callback asked to end the work early."""
    certified: bool
    """Whether the last assignment step reached its gap."""
    history: Array
    """One row an iteration, of dtype HISTORY."""
    unlit: Array
    """Mask of the points in parts of the graph that no mode's kernel reaches; they follow their nearest lit point."""
    votes: Any = None
    """What the anchor pulls the assignments to: the start; None without an anchor."""

    @property
    def empty(self) -> list[int]:
        """Clusters that ended without any point."""
        counts = np.bincount(self.labels, minlength=self.Z.shape[1])
        return [int(k) for k in np.flatnonzero(counts == 0)]

    @property
    def labels(self) -> Array:
        """Cluster of largest assignment for each point."""
        return largest_columns(self.Z).astype(np.int32)


@dataclass(frozen=True)
class PathPoint:
    """One step of a homotopy."""

    lam: float
    bandwidth: Any
    solution: Solution
