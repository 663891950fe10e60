"""The frozen records that travel through the library, in the order in which they arise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from . import _native
from ._rows import largest_columns, row_arrays, scaled_rows

Array = NDArray[Any]

MANY_POINTS = 20_000
"""Above this, work that grows faster than the search for neighbours is done on samples or on coarser graphs."""
MANY_CLUSTERS = 256
"""From here on, work that grows with the square of the number of clusters is left out."""
SAME = 1e-9
"""Where the best of several is taken, differences up to this are none, and the first one counts: rounding must not
choose."""
CHUNK_ENTRIES = 2**16
ORDINARY = {np.dtype(np.float32): 30, np.dtype(np.float64): 100}
"""Numbers between 2 to minus this and 2 to this are worked on as they are."""
REACH = {np.dtype(np.float32): 55, np.dtype(np.float64): 500}
"""The squares of numbers up to 2 to this can be summed, and those of numbers down to 2 to minus this are not lost."""
MOST_EXPONENT = {np.dtype(np.float32): 120, np.dtype(np.float64): 1000}
"""Of two, in the largest number of the user: then distances can be said in the units of the user."""


@dataclass(frozen=True)
class Units:
    """The power of two by which huge or tiny points are divided before the work, as their squares are no numbers.

    Ordinary points are left alone. A power of two changes no digit of a result, only its exponent.
    """

    exponent: int = 0

    @staticmethod
    def of(X: Any) -> Units:
        """Those in which the largest of these numbers is near 1; none if it is ordinary."""
        values = X.data if issparse(X) else X
        largest = float(max(values.max(initial=0), -values.min(initial=0)))
        exponent = int(np.frexp(largest)[1])
        return Units() if largest == 0 or abs(exponent) <= ORDINARY[X.dtype] else Units(exponent)

    @property
    def around(self) -> float:
        """About the largest of the user's numbers."""
        return float(np.ldexp(0.5, self.exponent))

    def inside(self, values: Any, power: int = 1) -> Any:
        """A user's lengths (to this power) in the units of the work."""
        return self._times(values, -power * self.exponent)

    def outside(self, values: Any, power: int = 1) -> Any:
        """Lengths of the work (to this power) in the user's units."""
        return values if self.exponent == 0 else self._times(values, power * self.exponent)

    def _times(self, values: Any, exponent: int) -> Any:
        if issparse(values):
            scaled = values.copy()
            scaled.data = np.ldexp(values.data, exponent)
            return scaled
        return np.ldexp(values, exponent)


@dataclass(frozen=True)
class Points:
    """The rows of X as the native kernels take them, and how many threads may work on them."""

    X: Any
    """A C-contiguous array or a CSR matrix, of float32 or float64."""
    threads: int = 1
    units: Units = Units()
    """Those of X, beside the user's."""

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.X.shape[0])

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """(X,), or (indptr, indices, values, squared norms, dimension) of sparse rows."""
        if not issparse(self.X):
            return (self.X,)
        squared_norms = np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=self.X.dtype).ravel()
        return (*row_arrays(self.X), squared_norms, int(self.X.shape[1]))

    @cached_property
    def spread(self) -> float:
        """Root of the mean squared distance to the mean: the scale of the data."""
        X = self.X
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if issparse(X):
            total = float(np.square(X.data, dtype=np.float64).sum()) / self.n - float(mean @ mean)
        else:
            rows = max(1, CHUNK_ENTRIES // X.shape[1])
            parts = ((X[i : i + rows] - mean).ravel() for i in range(0, self.n, rows))
            total = sum(float(np.square(part).sum()) for part in parts) / self.n
        return float(np.sqrt(max(total, 0.0)))

    def take(self, selection: Any) -> Points:
        """Some of the points."""
        return replace(self, X=self.X[selection])

    def rows(self, selection: Array) -> Array:
        """Some rows as a dense array."""
        chosen = self.X[selection]
        return np.ascontiguousarray(chosen.toarray() if issparse(chosen) else chosen)


@dataclass(frozen=True)
class Neighbors:
    """The nearest neighbours of each row, nearest first; a point is never its own neighbour."""

    indices: Array
    distances: Array
    recall: float = 1.0
    """Share of true neighbours found in a random sample; 1 where the search is exact."""

    def first(self, k: int) -> Neighbors:
        """The k nearest only."""
        if k >= self.indices.shape[1]:
            return self
        return Neighbors(self.indices[:, :k], self.distances[:, :k], self.recall)

    def chosen(self, places: Array) -> Neighbors:
        """For each row the neighbours at these places of its list, (N, m)."""
        pick = np.take_along_axis
        return Neighbors(pick(self.indices, places, axis=1), pick(self.distances, places, axis=1), self.recall)

    def edges(self) -> tuple[Array, Array, Array]:
        """(start, end, length) of each edge once, where both ends list it from the one with the lower number."""
        first = np.empty(self.indices.shape, dtype=bool)
        indices = np.ascontiguousarray(self.indices, dtype=np.int32)
        _native.first_listed_edges(indices, first)
        start = np.repeat(np.arange(len(indices), dtype=np.int32), first.sum(axis=1))
        return start, indices[first], self.distances[first]


@dataclass(frozen=True)
class Tree:
    """The N - 1 edges of a spanning tree, shortest first."""

    start: Array
    end: Array
    length: Array


@dataclass(frozen=True)
class Graph:
    """A symmetric affinity W and its Laplacian L = diag(diagonal) - weights."""

    affinity: Any
    """CSR matrix W (N, N), no self-loops."""
    weights: Any
    """What L has off its diagonal: W, or D^-1/2 W D^-1/2 for the normalised Laplacian."""
    diagonal: Array
    """Diagonal of L: the degrees, or 1 (0 for isolated points) for the normalised Laplacian."""
    degrees: Array
    """Row sums of W."""
    component: Array
    """Connected component of each point, numbered from 0; an isolated point is one."""

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
        return replace(self, weights=self.weights.astype(dtype), diagonal=self.diagonal.astype(dtype))


@dataclass(frozen=True)
class StartInputs:
    """What the candidates of a consensus see: neighbours, spanning trees and weightings of the graph."""

    points: Points
    graphs: tuple[Graph, ...]
    neighbors: Neighbors | None = None
    trees: tuple[Tree, ...] = ()
    """Of the distances, and of the distances that are at least those at which a point has a few neighbours."""
    n_neighbors: int = 10
    sizes: Array | None = None
    """What each point counts, as whole numbers; None: one."""


@dataclass(frozen=True)
class Start:
    """Where the alternation begins."""

    C: Array
    """Modes (K, D)."""
    Z: Any
    """Assignments (N, K), an array or a CSR matrix."""
    prior: Any = None
    """What is known of each point's cluster, rows on the simplex; only a consensus knows anything."""


@dataclass(frozen=True)
class Problem:
    """What is minimised, eq. (5) of the paper with a prior: lam tr(Z'LZ) - tr((B + alpha P)'Z)."""

    points: Points
    graph: Graph
    lam: float
    bandwidth: Any
    """sigma: one for all points, or an array with one for each; infinity is the K-means limit."""
    sample_weight: Array | None = None
    prior: Any = None
    """P (N, K), rows on the simplex, an array or a CSR matrix."""
    prior_weight: float = 0.0
    """alpha; where the bandwidth is infinite, in units of the mean squared distance to the mean."""
    known: Array | None = None
    """Cluster of each point whose row is held, -1 elsewhere."""

    @property
    def in_kmeans_limit(self) -> bool:
        """Whether the bandwidth is infinite, so that B holds squared distances."""
        return bool(np.isinf(self.bandwidth).all())

    @cached_property
    def pull(self) -> Any:
        """What the prior adds to B: alpha P, each row times its sample weight."""
        unit = self.points.spread**2 if self.in_kmeans_limit else 1.0
        pull = self.prior * self.prior.dtype.type(self.prior_weight * unit)
        return pull if self.sample_weight is None else scaled_rows(pull, self.sample_weight)


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
    certified: bool
    """Whether the gap is as small as was asked for."""


@dataclass(frozen=True)
class Modes:
    """Result of a C-step."""

    C: Array
    n_iter: int
    moved: float
    """Largest distance that a mode moved."""


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
class Status:
    """How a fit ended, and a sentence that says what was wrong and what to do, if anything was."""

    name: str = "converged"
    """'converged', 'stopped', 'not converged', 'not certified', 'empty clusters' or 'unreached points'."""
    message: str = ""

    @property
    def is_degenerate(self) -> bool:
        """Whether the result is valid but not what was asked for."""
        return self.name in ("empty clusters", "unreached points")


@dataclass(frozen=True)
class Solution:
    """A fixed point of the alternation at one (lam, bandwidth)."""

    C: Array
    Z: Any
    """An array, or a CSR matrix where assignments are kept sparse."""
    objective: float
    gap: float
    history: Array
    """One row an iteration, of dtype HISTORY."""
    unreached: Array
    """Mask of the points in parts of the graph that no mode's kernel reaches."""
    status: Status = field(default_factory=Status)

    @cached_property
    def labels(self) -> Array:
        """Cluster of largest assignment for each point."""
        return largest_columns(self.Z).astype(np.int32)
