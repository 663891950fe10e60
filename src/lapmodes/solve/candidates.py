"""Candidates for a start: partitions by unlike principles, which fail on unlike data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from .._records import MANY_CLUSTERS, Array, Graph, Landscape
from .communities import community_labels, modularity
from .consensus import SAME
from .linkage import even_labels
from .points import Points
from .prominence import prominent_labels
from .spectral import spectral_labels

DENSITY_SHARES = (0.5, 0.7, 1.0, 1.4)
"""Neighbours of the density estimates, as shares of n_neighbors."""
UNEVENNESS = (0.3, 0.5)
MANY_SHARES, MANY_UNEVENNESS = (0.7, 1.0), (0.3,)
"""The same for many clusters: fewer of a kind, where other kinds are missing."""
COMMUNITIES = "communities, graph "
SEEDS = 3
"""Runs of the Leiden method on each graph, of which the one of highest modularity counts; one above `MANY_POINTS`."""
MANY_POINTS = 20_000
SPECTRAL_POINTS = MANY_POINTS
"""Above this the eigenvectors cost more than all other candidates together."""
MIXTURE_ROWS = 65_536
"""Rows that the mixture sees at once."""
MIXTURE_DIMENSIONS = 16
"""Above this a covariance a cluster asks for more points than clusters have."""


def make_candidates(
    points: Points, landscape: Landscape, K: int, kmeans: Array, rng: np.random.RandomState, quick: bool = False
) -> dict[str, Array]:
    """Partitions into exactly K clusters, by name; those that fail to find K are left out.

    From `MANY_CLUSTERS` on eigenvectors and mixtures cost too much, and the kinds that are left have fewer candidates.
    """
    many = K >= MANY_CLUSTERS
    runs = _community_runs(landscape.graphs, K, rng, 1 if quick or many else SEEDS)
    certain = _certain(landscape, K)
    threads = 1 if many else points.threads  # one after the other where memory is to be saved
    drawn: dict[str, Array] = {}
    by_chance = [] if quick or many else [lambda: drawn.update(_by_chance(points, landscape, K, rng))]
    made = _in_parallel([*runs.values(), *by_chance, *certain.values()], threads)
    found = {"k-means": kmeans} | dict(zip(certain, made[len(runs) + len(by_chance) :], strict=True))
    found |= _best_runs(landscape.graphs, dict(zip(runs, made[: len(runs)], strict=True))) | drawn
    return {name: labels for name, labels in found.items() if np.unique(labels).size == K}


def remake(name: str, landscape: Landscape, K: int, rng: np.random.RandomState) -> Array:
    """The candidate of this name on another landscape; not K-means, the spectral one or the mixture."""
    if name.startswith(COMMUNITIES):
        return community_labels(landscape.graphs[int(name[len(COMMUNITIES) :])].affinity, K, rng.randint(2**31 - 1))
    return _certain(landscape, K)[name]()


def _by_chance(points: Points, landscape: Landscape, K: int, rng: np.random.RandomState) -> dict[str, Array]:
    """The candidates that draw numbers while they are made: one after the other, so that these are always the same."""
    found = {}
    if points.n <= SPECTRAL_POINTS:
        found["spectral"] = spectral_labels(landscape.graphs[0], K, rng)
    if points.d <= MIXTURE_DIMENSIONS:
        found["mixture"] = _mixture(points, K, rng)
    return found


def _certain(landscape: Landscape, K: int) -> dict[str, Callable[[], Array]]:
    """The candidates without chance, ready to be made: prominent modes and even linkages."""
    if landscape.neighbors is None:
        return {}
    makers: dict[str, Callable[[], Array]] = {}
    there = landscape.neighbors.distances.shape[1]
    many = K >= MANY_CLUSTERS
    shares = MANY_SHARES if many else DENSITY_SHARES
    widths = (min(max(1, round(share * landscape.n_neighbors)), there) for share in shares)
    for width in dict.fromkeys(widths):
        makers[f"modes, {width} neighbours"] = partial(prominent_labels, landscape, K, width)
    for tree, kind in zip(landscape.trees, ("distance", "reachability"), strict=True):
        for gini in MANY_UNEVENNESS if many else UNEVENNESS:
            makers[f"linkage, {kind}, Gini {gini}"] = partial(even_labels, tree, K, gini)
    return makers


Run = tuple[int, int]
"""Which graph, and the how manieth run on it."""


def _community_runs(
    graphs: tuple[Graph, ...], K: int, rng: np.random.RandomState, seeds: int
) -> dict[Run, Callable[[], Array]]:
    """A few runs on each graph, one where there are many points."""
    each = seeds if graphs[0].degrees.size <= MANY_POINTS else 1
    return {
        (i, run): partial(community_labels, graph.affinity, K, int(rng.randint(2**31 - 1)))
        for i, graph in enumerate(graphs)
        for run in range(each)
    }


def _best_runs(graphs: tuple[Graph, ...], runs: dict[Run, Array]) -> dict[str, Array]:
    """On each graph the run of highest modularity."""
    best: dict[str, Array] = {}
    for i, graph in enumerate(graphs):
        own = [labels for (of, _), labels in runs.items() if of == i]
        if own:
            best[f"{COMMUNITIES}{i}"] = _best(own, graph)
    return best


def _best(runs: list[Array], graph: Graph) -> Array:
    """The run of highest modularity, the first of equals."""
    if len(runs) == 1:
        return runs[0]
    merits = np.array([modularity(graph.affinity, labels) for labels in runs])
    return runs[int(np.flatnonzero(merits >= merits.max() - SAME)[0])]


def _in_parallel(makers: list[Callable[[], Any]], threads: int) -> list[Any]:
    """All made, as many at once as there are threads; none depends on another."""
    if threads == 1:  # in this thread: what one frees the next uses again
        return [make() for make in makers]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda make: make(), makers))


def sample_rows(n: int, rng: np.random.RandomState, size: int = MANY_POINTS) -> Array:
    """All rows, or a sample where there are more than `MANY_POINTS`."""
    return np.arange(n) if n <= MANY_POINTS else np.sort(rng.choice(n, min(size, n), replace=False))


def _mixture(points: Points, K: int, rng: np.random.RandomState) -> Array:
    """A mixture of Gaussians with full covariances, fitted to a sample where there are many points."""
    from sklearn.mixture import GaussianMixture

    def rows(some: Array) -> Array:
        return np.asarray(points.rows(some).astype(np.float64) / (points.spread or 1.0))

    blocks = np.array_split(np.arange(points.n), -(-points.n // MIXTURE_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a loose fit is one candidate among many
        try:
            model = GaussianMixture(K, random_state=rng).fit(rows(sample_rows(points.n, rng)))
            labels = np.concatenate([model.predict(rows(block)) for block in blocks])
        except ValueError:  # fewer distinct points than clusters
            return np.zeros(points.n, dtype=np.int32)
    return np.asarray(labels, dtype=np.int32)
