"""Gaussian mean-shift, and the search for the bandwidth that gives a wanted number of modes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..._records import Array
from ..._settings import effective_threads, is_number
from ..._warnings import DegenerateWarning, warn
from ...graph.affinity import LOCAL_NEIGHBOR, mean_scale
from ...graph.neighbors import make_index
from .base import Baseline

CHUNK_ENTRIES = 2**20
"""Kernel values held at once."""
COINCIDE = 0.01
"""Moving points that come closer than this many bandwidths go on as one. This saves most steps, and only a point
this near to the border between two clusters may end in the other one."""
SAME_MODE = 0.1
"""End points linked by steps of at most this many bandwidths are one mode."""
MERGE_EVERY = 4
HALVINGS = 60
RESOLUTION = 1e-4
"""The search for a bandwidth ends when its bracket is this narrow, relative to the bandwidth."""


class GaussianMeanShift(Baseline):
    """Gaussian mean-shift: every point climbs the kernel density estimate to a mode.

    Points that reach the same mode are a cluster. Finds clusters of any shape and how many there are, in low
    dimension; in high dimension most modes are lone outliers. Time grows with the square of n_samples, memory
    does not.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Search the bandwidth that gives exactly this number of modes. Where the search meets none, the nearest
        number above is returned, with a warning. None: no search.
    bandwidth : float or None, default=None
        Width of the kernel. None, without `n_clusters`: the mean distance to the 7th neighbour.
    tol : float, default=1e-5
        A point stops when it moves by less than `tol` bandwidths.
    max_iter : int, default=5000
        Most steps of each point.
    random_state : ignored
        All baselines have it; the result of this one is not random.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Mode that each point reached.
    cluster_centers_ : ndarray of shape (n_modes, n_features)
        The modes.
    n_modes_ : int
        Number of modes; `n_clusters` if the search succeeded.
    bandwidth_ : float
        The bandwidth used.
    n_iter_ : int
        Number of steps at that bandwidth.

    Examples
    --------
    >>> from lapmodes.baselines import GaussianMeanShift
    >>> model = GaussianMeanShift(2).fit([[0.0], [0.1], [0.2], [5.0], [5.2]])
    >>> model.n_modes_, sorted(model.cluster_centers_.ravel().round(1).tolist())
    (2, [0.1, 5.1])
    """

    _takes_sparse = False

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        bandwidth: float | None = None,
        tol: float = 1e-5,
        max_iter: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth = bandwidth
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check(self) -> None:
        K, width = self.n_clusters, self.bandwidth
        self._require(K is None or is_number(K, Integral, 1), "n_clusters", "None or an int of at least 1")
        valid = width is None or (is_number(width, low=0) and width > 0)
        self._require(valid, "bandwidth", "None or a finite float above 0")
        if self.n_clusters is not None and width is not None:
            raise ValueError(
                "GaussianMeanShift takes 'n_clusters' or 'bandwidth', not both: one determines the other. "
                f"Got n_clusters={self.n_clusters} and bandwidth={width}."
            )
        self._require_counts("max_iter")
        self._require_reals("tol")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        # Kernel values come from inner products: double precision and centred data keep them exact.
        mean = X.mean(axis=0, dtype=np.float64)
        centred = X - mean
        if self.n_clusters is None:
            found = find_modes(centred, self.bandwidth or usual_bandwidth(X), self.tol, self.max_iter)
        else:
            found = search_modes(centred, self.n_clusters, self.tol, self.max_iter)
        self.labels_ = found.labels.astype(np.int32)
        self.cluster_centers_ = (found.positions + mean).astype(X.dtype)
        self.n_modes_ = found.n_modes
        self.bandwidth_ = found.sigma
        self.n_iter_ = found.n_iter
        self._warn_unless(found.converged, self.max_iter)
        warn_of_other_number(found, self.n_clusters)


@dataclass(frozen=True)
class Modes:
    """The modes at one bandwidth and the mode that each point reached."""

    positions: Array
    labels: Array
    sigma: float
    n_iter: int
    converged: bool

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return int(self.positions.shape[0])


def usual_bandwidth(X: Array) -> float:
    """The paper's rule: mean distance to the 7th neighbour."""
    reach = min(LOCAL_NEIGHBOR, X.shape[0] - 1)
    return mean_scale(make_index(X, effective_threads(None)).query_self(reach))


def search_modes(X: Array, K: int, tol: float, max_iter: int) -> Modes:
    """Bisect the logarithm of the bandwidth for exactly K modes, else the least number above K that was met.

    Wide kernels give one mode, narrow ones as many as there are distinct points; between them the number falls
    with the bandwidth, though not strictly.
    """
    K = min(K, np.unique(X, axis=0).shape[0])
    high = find_modes(X, float(np.sqrt(np.square(X).sum(axis=1).mean())) or 1.0, tol, max_iter)
    while high.n_modes > K:
        high = find_modes(X, 2 * high.sigma, tol, max_iter)
    low = high
    for _ in range(HALVINGS):
        if low.n_modes >= K:
            break
        high, low = low, find_modes(X, low.sigma / 2, tol, max_iter)
    best, bracket = low, [low.sigma, high.sigma]
    while best.n_modes > K and bracket[1] > (1 + RESOLUTION) * bracket[0]:
        middle = find_modes(X, float(np.sqrt(bracket[0] * bracket[1])), tol, max_iter)
        bracket[middle.n_modes < K] = middle.sigma
        if K <= middle.n_modes < best.n_modes:
            best = middle
    return best


def warn_of_other_number(found: Modes, n_clusters: int | None) -> None:
    """Say so when the search did not end at the number asked for."""
    if n_clusters is None or found.n_modes == n_clusters:
        return
    why = (
        "the number jumps past it, and the nearest number above that the search met"
        if found.n_modes > n_clusters
        else "X has too few distinct points, and the largest number"
    )
    warn(
        f"No bandwidth with exactly {n_clusters} modes was found: {why} is {found.n_modes}, at bandwidth "
        f"{found.sigma:.6g}.",
        DegenerateWarning,
    )


def find_modes(X: Array, sigma: float, tol: float, max_iter: int) -> Modes:
    """Climb from every row of X to a mode of the kde; end points near each other are one mode."""
    Y, owner, active = X.copy(), np.arange(X.shape[0]), np.ones(X.shape[0], dtype=bool)
    # A shorter step is a rounding error, whatever the bandwidth.
    shortest = max(tol * sigma, 8 * np.finfo(X.dtype).eps * float(np.abs(X).max()))
    n_iter = 0
    while active.any() and n_iter < max_iter:
        n_iter += 1
        target = shifted(X, Y[active], sigma)
        step = np.linalg.norm(target - Y[active], axis=1)
        Y[active] = target
        active[active] = step > shortest
        if n_iter % MERGE_EVERY == 0:
            kept, place = np.unique(representatives(Y, COINCIDE * sigma), return_inverse=True)
            owner, Y, active = place[owner], Y[kept], active[kept]
    same = linked(Y, SAME_MODE * sigma)
    first = np.unique(same, return_index=True)[1]
    return Modes(Y[first], same[owner], sigma, n_iter, not active.any())


def shifted(X: Array, Y: Array, sigma: float) -> Array:
    """One mean-shift step of each row of Y: the mean of X weighted by the kernel around it."""
    out = np.empty_like(Y)
    half = 0.5 * np.einsum("nd,nd->n", X, X)
    for rows in chunks(Y.shape[0], X.shape[0]):
        # -|y - x|^2 / 2 sigma^2 without the term that is the same for all x.
        kernel = Y[rows] @ X.T
        kernel -= half
        kernel /= sigma * sigma
        kernel -= kernel.max(axis=1, keepdims=True)
        np.exp(kernel, out=kernel)
        out[rows] = (kernel @ X) / kernel.sum(axis=1, keepdims=True)
    return out


def representatives(Y: Array, radius: float) -> Array:
    """For each row, the row at most `radius` away that stands for it: itself, or a row that stands for itself."""
    own = np.arange(Y.shape[0])
    first = np.concatenate([close.argmax(axis=1) for _, close in close_rows(Y, radius)])
    return np.where(first[first] == first, first, own)


def linked(Y: Array, radius: float) -> Array:
    """Connected component of each row, where rows at most `radius` apart are linked; numbered from 0."""
    n = Y.shape[0]
    component = np.arange(n)
    for rows, close in close_rows(Y, radius):
        i, j = np.nonzero(close)
        edges = csr_array((np.ones(i.size, dtype=bool), (component[i + rows.start], component[j])), shape=(n, n))
        component = connected_components(edges, directed=False)[1][component]
    return np.unique(component, return_inverse=True)[1]


def close_rows(Y: Array, radius: float) -> Iterator[tuple[slice, Array]]:
    """Chunk by chunk, which rows of Y are at most `radius` apart; a row is always close to itself."""
    half = 0.5 * np.einsum("nd,nd->n", Y, Y)
    for rows in chunks(Y.shape[0], Y.shape[0]):
        close = half[rows, None] + half - Y[rows] @ Y.T <= 0.5 * radius * radius
        close[np.arange(close.shape[0]), np.arange(rows.start, rows.stop)] = True
        yield rows, close


def chunks(n: int, width: int) -> Iterator[slice]:
    """Row ranges that keep (rows, width) arrays small."""
    size = max(1, CHUNK_ENTRIES // width)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
