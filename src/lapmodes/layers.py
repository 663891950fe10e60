"""Several levels at once: one graph, a solution for each of several numbers of clusters, and how they hang together.

The candidates of the start are made for every level. The level on which they agree most is the reference, which is
solved first, by itself. Finer levels keep the votes for parts of the next coarser level's clusters, and
coarser levels join clusters of the next finer one as their own votes say, so that the levels make a tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._estimator import LaplacianKModes
from ._fit import Fitted, Prepared, solve_path, solve_with_all_clusters
from ._predict import Trained
from ._progress import Progress, Step, watch
from ._records import SAME, Array, Points, Start
from ._rows import (
    as_rows,
    common_points,
    keep_within,
    largest_columns,
    one_hot,
    parents_of,
    replaced_rows,
)
from ._settings import Settings, is_number
from ._validation import parameter_error
from ._warnings import InputWarning, warn
from .path import fitted_copy
from .selection import Selection, select
from .start.consensus import Consensus, find_consensus
from .start.density_modes import log_density
from .start.k_means import dense_modes

MOST_LEVELS = 5
"""Levels that 'auto' takes at most."""
APART = 1.5
"""And how many times more clusters each of them has, at least, than the one before."""
STABLE = 0.75
"""Stability from which on another level is suggested: as much of a stable cluster comes back (Hennig 2007)."""
SHOWN = 40
"""Clusters that a printed tree has at most."""
TABLE = np.dtype([(name, np.int64) for name in ("n_clusters", "cluster", "id", "parent", "size", "exemplar")])


@dataclass(frozen=True, repr=False)
class Layers:
    """The result of :func:`lapmodes.fit_layers`: levels of clusters, the coarsest first.

    ``layers[10]`` is the model of the level with 10 clusters.
    """

    models: tuple[LaplacianKModes, ...]
    """A fitted model for each level; its `gap_` is certified."""
    labels: Array
    """The cluster of each sample on each level, (n_samples, n_levels)."""
    parents: tuple[Array, ...]
    """For each level but the coarsest, and each of its clusters: the cluster of the next coarser level that holds most
    of its samples."""
    ids: tuple[Array, ...]
    """For each level the id of each cluster: the number of its sample where the data are densest. It does not depend on
    how clusters are numbered, hardly on the random state, and a cluster that loses a part keeps it."""
    consistency: Array
    """For each level but the coarsest the share of samples that lie in the parent of their cluster."""
    agreement: Array
    """For each level how far the candidates of the start agree, from 0 to 1."""
    nested: bool
    """Whether every cluster was made to lie in its parent with all its samples."""

    @property
    def n_clusters(self) -> tuple[int, ...]:
        """The number of clusters of each level."""
        return tuple(model.n_clusters_ for model in self.models)

    @property
    def reference(self) -> int:
        """The number of clusters on which the candidates agree most: finer levels divide these, coarser join them."""
        return self.n_clusters[most_agreed(self.agreement)]

    @property
    def table(self) -> Array:
        """A row for each cluster: 'n_clusters' of its level, 'cluster', 'id', 'parent' (-1: none), 'size', 'exemplar'.

        From the top of the tree down, each cluster followed by its parts, the largest first.
        """
        sizes = [np.bincount(own, minlength=K) for own, K in zip(self.labels.T, self.n_clusters, strict=True)]
        rows: list[tuple[Any, ...]] = []

        def add(level: int, clusters: Array, parent: int) -> None:
            for k in clusters[np.argsort(-sizes[level][clusters], kind="stable")].tolist():
                K, model = self.n_clusters[level], self.models[level]
                rows.append((K, k, self.ids[level][k], parent, sizes[level][k], model.exemplars_[k]))
                if level < len(self.parents):
                    add(level + 1, np.flatnonzero(self.parents[level] == k), k)

        add(0, np.arange(self.n_clusters[0]), -1)
        return np.array(rows, dtype=TABLE)

    def sample_ids(self, n_clusters: int) -> Array:
        """The id of each sample's cluster on the level with this number of clusters."""
        level = self._level(n_clusters)
        return np.asarray(self.ids[level][self.labels[:, level]])

    def same_ids(self, other: Layers) -> Array:
        """For each level the share of samples that have the same id in other layers of the same samples."""
        if self.labels.shape != other.labels.shape or self.n_clusters != other.n_clusters:
            raise ValueError("'other' must be layers of the same samples with the same numbers of clusters.")
        return np.array([np.mean(self.sample_ids(K) == other.sample_ids(K)) for K in self.n_clusters])

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree, each cluster as wide as it has samples; returns the matplotlib axes."""
        from .plotting.clusters import plot_layers

        return plot_layers(self, ax)

    def __getitem__(self, n_clusters: int) -> LaplacianKModes:
        return self.models[self._level(n_clusters)]

    def _level(self, n_clusters: int) -> int:
        if n_clusters not in self.n_clusters:
            raise KeyError(f"There is no level of {n_clusters} clusters, only {list(self.n_clusters)}.")
        return self.n_clusters.index(n_clusters)

    def __repr__(self) -> str:
        return f"Layers of {list(self.n_clusters)} clusters of {len(self.labels):,} samples"

    def __str__(self) -> str:
        table, levels = self.table, self.n_clusters
        lines = [f"{len(self.labels):,} samples on {len(levels)} levels, the coarsest first:"]
        for K, certain in zip(levels, self.agreement, strict=True):
            sizes = table["size"][table["n_clusters"] == K]
            most = ", the reference" if self.reference == K else ""
            lines.append(f"- {K} clusters of {sizes.min():,} to {sizes.max():,} (agreement {certain:.2f}{most})")
        if self.consistency.size:
            least = float(np.floor(1e4 * self.consistency.min()) / 1e4)
            share = "All" if least == 1 else f"At least {least:.2%} of the"
            lines.append(f"{share} samples lie in the parent of their cluster.")
        for row in table[:SHOWN]:
            indent = "  " * levels.index(row["n_clusters"])
            lines.append(f"{indent}cluster {row['cluster']}, around sample {row['id']}: {row['size']:,} samples")
        more = [f"and {len(table) - SHOWN} more clusters; the attribute 'table' has them all"]
        return "\n".join(lines + (more if len(table) > SHOWN else []))


def fit_layers(
    X: Any,
    n_clusters: Iterable[int] | str = "auto",
    *,
    nested: bool = False,
    graph: Any = None,
    neighbors: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Layers:
    """Cluster on several levels at once, from few clusters to many, so that they make a tree.

    The neighbours are searched for and the graph is built once. The level on which the candidates of the start agree
    most is solved by itself, much as a fit would; finer levels divide its clusters and coarser levels join them.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : iterable of int or 'auto', default='auto'
        The number of clusters of each level, each at least 2. 'auto' asks :func:`lapmodes.select`: the number that the
        data speak for most, and up to four others at which the stability has a peak.
    nested : bool, default=False
        Whether every cluster must lie in its parent with all its points. By default a few points at the borders need
        not: each level is solved for itself, and `consistency` says how many are. Otherwise such points are held in a
        cluster that fits the neighbouring level, like samples with partial labels, and the level is solved again.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`, all but `init` and `n_init`.

    Returns
    -------
    Layers
        With a fitted model, labels, parents and ids for each level.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import fit_layers
    >>> rng = np.random.default_rng(0)
    >>> places = [(0, 0), (0, 8), (30, 0), (30, 8), (30, 16)]
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + place for place in places])
    >>> layers = fit_layers(X, [2, 5], random_state=0)
    >>> print(layers)
    250 samples on 2 levels, the coarsest first:
    - 2 clusters of 100 to 150 (agreement 1.00, the reference)
    - 5 clusters of 49 to 51 (agreement 0.97)
    All samples lie in the parent of their cluster.
    cluster 1, around sample 163: 150 samples
      cluster 2, around sample 128: 51 samples
      cluster 4, around sample 223: 50 samples
      cluster 3, around sample 163: 49 samples
    cluster 0, around sample 87: 100 samples
      cluster 0, around sample 16: 50 samples
      cluster 1, around sample 87: 50 samples
    """
    for name in ("init", "n_init"):
        if name in parameters:
            raise ValueError(f"fit_layers makes its own starts: leave {name!r} out.")
    data = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
    levels = _checked_levels(n_clusters)
    if not levels:
        selection = select(X, **data, **parameters)
        levels = suggest_levels(selection)
        if selection.verdict == "none":
            warn(f"X has no clear clusters: levels of {levels} cut through a heap. See lapmodes.select.", InputWarning)
    estimator = LaplacianKModes(levels[-1], init="consensus", **parameters)
    if estimator.lam == 0:
        raise ValueError("fit_layers needs a graph: leave 'lam' at 'auto' or above 0.")
    if nested and estimator.sparse_assignments:
        raise ValueError("nested=True holds rows, which 'sparse_assignments' does not allow: leave one of them out.")
    with watch(estimator, estimator.verbose) as progress:
        settings, rows, prepared = estimator._prepare(X, data, progress)
        found = find_levels(prepared, settings, levels, progress)
        agreement = np.array([each.agreement.max() for each in found])
        reference = most_agreed(agreement)
        with progress.phase("alternate") as step:
            fitted = solve_levels(prepared, settings, found, reference, step)
            fitted = nest(fitted, settings, reference, step) if nested else fitted
    rule = settings.n_neighbors, settings.metric, settings.laplacian
    models = [
        fitted_copy(estimator, Trained(each, rows, *rule), n_clusters=K) for K, each in zip(levels, fitted, strict=True)
    ]
    for model in models[1:]:
        model.graph_ = models[0].graph_
    return describe(models, agreement, rows.spread(densities(prepared, settings.n_neighbors)), nested)


def _checked_levels(n_clusters: Any) -> list[int]:
    """The numbers asked for, in rising order; none for 'auto'."""
    if isinstance(n_clusters, str) and n_clusters == "auto":
        return []
    listed = list(n_clusters) if isinstance(n_clusters, Iterable) and not isinstance(n_clusters, str) else []
    if not listed or not all(is_number(K, Integral, 2) for K in listed):
        expected = "'auto' or a list of ints of at least 2, such as [3, 8, 20]"
        raise parameter_error("fit_layers", "n_clusters", expected, n_clusters)
    return sorted({int(K) for K in listed})


def suggest_levels(selection: Selection) -> list[int]:
    """The most stable number, and others at which the stability has a peak, each well apart from the rest."""
    numbers, first = np.unique(selection.table["n_clusters"], return_index=True)
    stability = selection.table["stability"][first]
    edged = np.concatenate([[-np.inf], stability, [-np.inf]])
    peaks = np.flatnonzero((stability >= edged[:-2]) & (stability >= edged[2:]))
    levels = [selection.best]
    peaks = peaks[stability[peaks] >= STABLE]
    for K in numbers[peaks[np.argsort(-stability[peaks], kind="stable")]].tolist():
        if len(levels) < MOST_LEVELS and all(max(K, other) >= APART * min(K, other) for other in levels):
            levels.append(K)
    return sorted(levels)


# What the levels start from.


def find_levels(prepared: Prepared, settings: Settings, levels: list[int], progress: Progress) -> list[Consensus]:
    """The candidates and their votes for each level, several levels at once.

    Communities are looked for on one graph, not on three as in a fit: they are what takes time.
    """
    assert prepared.inputs is not None
    inputs = replace(prepared.inputs, points=Points(prepared.problem.points.X), graphs=prepared.inputs.graphs[:1])
    rng = check_random_state(settings.random_state)
    found = []
    with progress.phase("start", len(levels)) as step, ThreadPoolExecutor(settings.threads) as pool:
        # Each level has the randomness of a fit by itself.
        for each in pool.map(lambda K: find_consensus(inputs, K, deepcopy(rng), sparse=settings.sparse), levels):
            found.append(each)
            step(1, f"{each.votes.shape[1]} clusters to start from")
    return found


def most_agreed(agreement: Array) -> int:
    """The level on which candidates agree most; of equals the finest."""
    return int(np.flatnonzero(agreement >= agreement.max() - SAME)[-1])


# Solving.


def solve_levels(
    prepared: Prepared, settings: Settings, found: list[Consensus], reference: int, step: Step
) -> list[Fitted]:
    """A solution for each level, from the reference outwards, each so that it fits the one before.

    Finer levels keep the votes for the parts of each point's coarser cluster. Coarser levels join the clusters of the
    finer one that have most votes in common; what they start from, and their prior, are its assignments, joined.
    """
    W, levels = prepared.problem.graph.affinity, [each.votes.shape[1] for each in found]
    solved = {reference: _solve(prepared, settings, found[reference].votes, step)}
    for level in range(reference + 1, len(found)):
        votes, coarser = found[level].votes, solved[level - 1].solution.labels
        parents = parents_of(common_points(largest_columns(votes), coarser, levels[level], levels[level - 1]))
        solved[level] = _solve(prepared, settings, keep_within(votes, parents, coarser, W), step)
    for level in range(reference - 1, -1, -1):
        votes, finer = found[level].votes, solved[level + 1].solution.Z
        parents = parents_of(finer.T @ votes)
        joined = finer @ one_hot(parents, votes.shape[1], finer.dtype, sparse=True)
        solved[level] = _solve(prepared, settings, joined, step)
    return [solved[level] for level in range(len(found))]


def _solve(prepared: Prepared, settings: Settings, votes: Any, step: Step) -> Fitted:
    """The solution from these votes."""
    problem = prepared.problem
    votes = as_rows(votes, problem.points.X.dtype, sparse=settings.sparse)
    start = Start(dense_modes(problem.points, problem.graph, votes), votes, votes)
    solutions = solve_with_all_clusters if settings.lam is None else solve_path
    at, solution = list(solutions(problem, start, settings, step))[-1]
    return prepared.fitted(at, solution)


def nest(fitted: list[Fitted], settings: Settings, reference: int, step: Step) -> list[Fitted]:
    """Every cluster in its parent with all its points: from the reference outwards, points that are not are held."""
    solved = list(fitted)
    for level in range(reference + 1, len(fitted)):
        coarser = solved[level - 1].solution.labels
        parents = _parents_between(solved[level], solved[level - 1])
        while (wrong := parents[solved[level].solution.labels] != coarser).any():
            own = solved[level]
            within = keep_within(own.solution.Z, parents, coarser, own.problem.graph.affinity)
            solved[level] = _hold(own, wrong, largest_columns(within), settings, step)
    for level in range(reference - 1, -1, -1):
        wanted = _parents_between(solved[level + 1], solved[level])[solved[level + 1].solution.labels]
        while (wrong := wanted != solved[level].solution.labels).any():
            solved[level] = _hold(solved[level], wrong, wanted, settings, step)
    return solved


def _parents_between(finer: Fitted, coarser: Fitted) -> Array:
    sizes = finer.solution.C.shape[0], coarser.solution.C.shape[0]
    return parents_of(common_points(finer.solution.labels, coarser.solution.labels, *sizes))


def _hold(fitted: Fitted, rows: Array, clusters: Array, settings: Settings, step: Step) -> Fitted:
    """Solved again from where it was, with some rows, and those held before, in the clusters that are given for all."""
    problem, solution = fitted.problem, fitted.solution
    known = np.where(rows, clusters, -1 if problem.known is None else problem.known).astype(np.int32)
    Z = replaced_rows(solution.Z, rows, one_hot(clusters[rows], solution.Z.shape[1], solution.Z.dtype))
    at, again = list(solve_path(replace(problem, known=known), Start(solution.C, Z, problem.prior), settings, step))[-1]
    return replace(fitted, problem=at, solution=again)


# What is made of the solutions.


def describe(models: list[LaplacianKModes], agreement: Array, density: Array, nested: bool) -> Layers:
    """The levels with their parents and ids, by the density at each sample."""
    labels, sizes = np.column_stack([model.labels_ for model in models]), [model.n_clusters_ for model in models]
    common = [common_points(labels[:, i + 1], labels[:, i], sizes[i + 1], sizes[i]) for i in range(len(models) - 1)]
    parents = tuple(each.argmax(axis=1) for each in common)
    consistency = np.array([each.max(axis=1).sum() / len(labels) for each in common])
    ids = tuple(densest(own, density, K) for own, K in zip(labels.T, sizes, strict=True))
    return Layers(tuple(models), labels, parents, ids, consistency, agreement, nested)


def densest(labels: Array, density: Array, K: int) -> Array:
    """For each cluster its sample of highest density, the first among equals; -1 for an empty cluster."""
    order = np.argsort(-density, kind="stable")
    found, first = np.unique(labels[order], return_index=True)
    ids = np.full(K, -1)
    ids[found] = order[first]
    return ids


def densities(prepared: Prepared, n_neighbors: int) -> Array:
    """How dense it is at each row: by the distances of its neighbours, or by its degree where a graph was given."""
    assert prepared.inputs is not None
    near = prepared.inputs.neighbors
    return prepared.problem.graph.degrees if near is None else log_density(near.first(n_neighbors).distances)
