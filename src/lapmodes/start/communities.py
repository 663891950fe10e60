"""Exactly K communities of a graph: the Leiden method with its resolution searched for K."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from .. import _native
from .._records import MANY_CLUSTERS, MANY_POINTS, SAME, Array
from .._rows import row_arrays
from ..graph.laplacian import modularity, weights_between

RUNS = 5
"""Runs of the Leiden method from other seeds, of which the one of highest modularity counts; one for many points."""
ROUNDS = 2
SEARCHES = (20, 5)
"""Resolutions that are tried at most: by the first run, and by each of the others, which begin where that one ended."""
NARROW = 0.01
"""Where the logs of two resolutions with too few and too many communities are this near, none between them is tried."""
COARSE_MEMBERS = 500
"""Where there are many points, and more than this a cluster, the resolution is searched for on a graph of small
communities."""
FINE = 8
"""Resolution of these, a cluster: some ten to a hundred of them make one."""
SCAN = (-4.0, 8.0, 0.75)
"""Logs of the resolutions at which a scan over many numbers of communities looks: first, last, step."""
BETWEEN = 3
"""Resolutions that it tries between these for a number that has not come up."""


def community_labels(W: Any, K: int, seed: int) -> Array:
    """K communities of high modularity: the best of a few runs where there are not many points and clusters."""
    if W.shape[0] > MANY_POINTS or K >= MANY_CLUSTERS:
        return _one_run(W, K, seed)
    first, *others = np.random.RandomState(seed).randint(2**31 - 1, size=RUNS).tolist()
    labels, resolution = _search(W, K, first)
    runs = [labels, *(_search(W, K, each, resolution)[0] for each in others)]
    found = np.array([modularity(W, labels) for labels in runs])
    return runs[int(np.flatnonzero(found >= found.max() - SAME)[0])]


def community_levels(W: Any, wanted: list[int], seed: int) -> dict[int, Array]:
    """Communities for each of several numbers, from one scan over resolutions."""
    found: dict[float, tuple[int, Array]] = {}
    for point in np.arange(*SCAN).tolist():
        found[point] = _leiden(W, float(np.exp(point)), ROUNDS, seed)
        if found[point][0] > max(wanted):
            break
    return {K: _search(W, K, seed, found=found)[0] for K in wanted}


def _one_run(W: Any, K: int, seed: int) -> Array:
    """K communities; where there are many points, those of small communities first stay together.

    At the end each point may move again.
    """
    if W.shape[0] <= max(MANY_POINTS, COARSE_MEMBERS * K):
        return _search(W, K, seed)[0]
    count, small = _leiden(W, float(FINE * K), 1, seed)
    if count <= K:
        return _search(W, K, seed)[0]
    among, resolution = _search(_merged(W, small, count), K, seed)
    labels = among[small]
    count, moved = _leiden(W, resolution, 1, seed, labels)
    return moved if count == K else labels


def _leiden(W: Any, resolution: float, rounds: int, seed: int, labels: Array | None = None) -> tuple[int, Array]:
    """How many communities, and which; beginning with `labels` or with each point alone."""
    labels = np.arange(W.shape[0], dtype=np.int32) if labels is None else labels.copy()
    indptr, indices, weights = row_arrays(W)
    return _native.leiden(indptr, indices, weights, resolution, rounds, seed, labels), labels


def _search(
    W: Any, K: int, seed: int, near: float | None = None, found: dict[float, tuple[int, Array]] | None = None
) -> tuple[Array, float]:
    """K communities and the resolution that gives them, searched for from 1 or `near` another one.

    Where no resolution gives K, the next larger number of communities is merged. What was `found` at which log of the
    resolution, in a scan or a search for another number, is not computed again.
    """
    found = {} if found is None else found
    point, stride = (0.0, 1.0) if near is None else (float(np.log(near)), 0.1)
    # The logs of resolution and count; one community at resolution zero, say 1e-4.
    floor = (np.log(1e-4), 0.0) if near is None else (-np.inf, 0.0)
    tries = BETWEEN if found else SEARCHES[near is not None]
    for search in range(tries + 1):
        right = [each for each, (count, _) in found.items() if count == K]
        low = max(((each, np.log(count)) for each, (count, _) in found.items() if count < K), default=floor)
        high = min(((each, np.log(count)) for each, (count, _) in found.items() if count > K), default=(np.inf, np.inf))
        if right:
            return found[right[0]][1], float(np.exp(right[0]))
        if search == tries or high[0] - low[0] < NARROW:
            break
        point = _between(low, high, np.log(K), max(search - 1, 0), stride) if found else point
        found[point] = _leiden(W, float(np.exp(point)), ROUNDS, seed)
    if near is not None and np.isinf(high[0]):  # no finer one is near
        return _search(W, K, seed)
    finest = found[high[0]][1] if np.isfinite(high[0]) else np.arange(W.shape[0], dtype=np.int32)
    return merge_communities(W, finest, K), float(np.exp(point))


def _merged(W: Any, labels: Array, count: int) -> Any:
    """The graph between communities; weights inside stay as loops."""
    rows = np.repeat(labels, np.diff(W.indptr))
    return coo_array((W.data, (rows, labels[W.indices])), shape=(count, count)).tocsr()


def _between(low: tuple[float, float], high: tuple[float, float], wanted: float, search: int, stride: float) -> float:
    """Where to look next: outward while unbounded, then on the line through both ends, or half way in turn."""
    outward = stride * (1 + 0.5 * search)
    if np.isinf(high[0]):
        return low[0] + outward
    if np.isinf(low[0]):
        return high[0] - outward
    share = (wanted - low[1]) / (high[1] - low[1]) if search % 2 == 0 else 0.5
    return low[0] + float(np.clip(share, 0.1, 0.9)) * (high[0] - low[0])


def merge_communities(W: Any, labels: Array, K: int) -> Array:
    """Merge the two communities that modularity wants together most until K are left."""
    A = weights_between(W, labels)
    total = max(float(A.sum()), np.finfo(float).tiny)
    owner = np.arange(A.shape[0])
    alive = list(range(A.shape[0]))
    while len(alive) > K:
        part = A[np.ix_(alive, alive)] / total
        mass = part.sum(axis=1)
        gain = part - np.outer(mass, mass)
        np.fill_diagonal(gain, -np.inf)
        i, j = sorted(alive[x] for x in np.unravel_index(gain.argmax(), gain.shape))
        A[i] += A[j]
        A[:, i] += A[:, j]
        owner[owner == j] = i
        alive.remove(j)
    return np.unique(owner, return_inverse=True)[1].astype(np.int32)[labels]
