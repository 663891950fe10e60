"""How many clusters: a scan over K, and along a path in (lam, bandwidth), on one graph, without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._estimator import LaplacianKModes
from ._fit import Prepared, solve_path, solve_with_all_clusters
from ._progress import Step, no_step, watch
from ._records import MANY_POINTS, Array, Neighbors, Problem, Solution
from ._rows import adjusted_rand
from ._settings import Settings
from .graph.laplacian import build_graph, normalized_cut
from .graph.neighbors import make_index
from .start import consensus_start
from .start.consensus import Consensus, StartInputs, find_consensus, make_partition, start_inputs
from .start.density_modes import log_density
from .start.spectral import smooth_values

MOST_CLUSTERS = 20
TABLE = np.dtype(
    [
        ("n_clusters", np.int64),
        ("lam", np.float64),
        ("bandwidth", np.float64),
        ("agreement", np.float64),
        ("stability", np.float64),
        ("eigengap", np.float64),
        ("valley", np.float64),
        ("support", np.float64),
        ("cut", np.float64),
        ("objective", np.float64),
        ("gap", np.float64),
        ("smallest", np.int64),
    ]
)
TIES = {"agreement": 0.01, "stability": 0.01}
"""Differences that do not count: of equals the largest number of clusters is taken."""
CRITERIA = ("agreement", "stability", "eigengap", "valley")
"""Where the largest value speaks for a number of clusters."""
DRAWS = 3
SHARE = 0.9
"""Of the points are in each draw that the stability is measured on."""


@dataclass(frozen=True)
class Selection:
    """The result of :func:`select`."""

    n_clusters: int
    """The recommendation: a number of clusters on which unlike methods agree best, and which is stable."""
    lam: float
    """The smoothness of the recommended row of the table."""
    bandwidth: float
    """The bandwidth of that row; the median of them where every point has its own."""
    table: Array
    """One row a number of clusters (and step of the path), of the fields described in :func:`select`."""
    preferred: dict[str, int]
    """The number of clusters that each criterion would take by itself."""
    labels: dict[int, Array]
    """The fitted labels for each number of clusters, at the step of the path that the candidates support most."""

    @property
    def unanimous(self) -> bool:
        """Whether all criteria are within one of the recommendation."""
        return all(abs(K - self.n_clusters) <= 1 for K in self.preferred.values())

    def plot(self, ax: Any = None) -> Any:
        """Draw the criteria over the number of clusters; returns the matplotlib axes."""
        from .plotting.style import get_axes

        ax = get_axes(ax)
        first = np.unique(self.table["n_clusters"], return_index=True)[1]
        for name in self.preferred:
            values = self.table[name][first]
            span = np.nanmax(values) - np.nanmin(values) or 1.0
            ax.plot(self.table["n_clusters"][first], (values - np.nanmin(values)) / span, marker="o", label=name)
        ax.axvline(self.n_clusters, color="0.7", linewidth=1, zorder=0)
        ax.set(xlabel="number of clusters", ylabel="criterion, from its least to its greatest value")
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        says = ", ".join(f"{name} {K}" for name, K in self.preferred.items())
        verdict = "The criteria agree" if self.unanimous else "The criteria disagree: look at the table or the plot"
        return f"{self.n_clusters} clusters recommended. {verdict} ({says})."


def select(
    X: Any,
    n_clusters: Iterable[int] | None = None,
    *,
    path: Iterable[tuple[float, float]] | None = None,
    graph: Any = None,
    neighbors: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Selection:
    """Compare numbers of clusters on one graph, without labels; with `path`, smoothness and bandwidth too.

    For each number the candidates for a start are made, a consensus is chosen and the model is fitted from it.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : iterable of int, optional
        The numbers to compare, each at least 2. Default: 2 to 20, but at most the root of the number of
        distinct samples.
    path : iterable of (lam, bandwidth), optional
        Each number of clusters is followed along this path, every step starting from the one before, and each step is
        a row of the table.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`, all but `init`.

    Returns
    -------
    Selection
        `n_clusters` is the most stable of the numbers whose agreement is within 0.01 of the best, and the largest of
        equally stable ones: coarser partitions into unions of clusters find agreement too. Its table has the fields:

        - 'n_clusters', 'lam', 'bandwidth';
        - 'agreement': upper quartile of the highest adjusted Rand index between two families of candidates (NaN where
          there is one family: a given graph in many dimensions; the stability decides then);
        - 'stability': mean adjusted Rand index of the chosen candidate with itself on random nine tenths of the points;
        - 'eigengap': log ratio of the next to the last eigenvalue of the normalised Laplacian (NaN above 20,000
          points);
        - 'valley': mean over clusters of the drop in log density from the cluster to the highest edge that leaves it
          (NaN on a given graph);
        - 'support': mean adjusted Rand index of the fitted labels with the candidates, which picks the step of a path;
        - 'cut': mean normalised cut of the fitted labels;
        - 'objective' and its certified 'gap';
        - 'smallest': points in the smallest cluster, 0 if one died.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import select
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + 9 * i for i in range(3)])
    >>> found = select(X, range(2, 7), random_state=0)
    >>> found.n_clusters, found.unanimous
    (3, True)
    >>> path = [(lam, 1.0) for lam in (0.1, 1.0, 10.0)]
    >>> select(X, [2, 3], path=path, random_state=0).table.shape
    (6,)
    """
    if "init" in parameters:
        raise ValueError("select makes its own starts: leave 'init' out.")
    wanted = _wanted(n_clusters, np.shape(X)[0])
    estimator = LaplacianKModes(2 if n_clusters is None else wanted[-1], init="consensus", **parameters)
    if estimator.lam == 0 and path is None:
        raise ValueError("select needs a graph: leave 'lam' at 'auto' or above 0.")
    steps = None if path is None else [(float(lam), float(width)) for lam, width in path]
    with watch(estimator, estimator.verbose) as progress:
        given = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
        settings, rows, prepared = estimator._prepare(X, given, progress, steps)
        wanted = _wanted(n_clusters, prepared.problem.points.n)
        with progress.phase("select", len(wanted)) as step:
            found = _compare(prepared, settings, wanted, step)
    return replace(found, labels={K: rows.spread(labels) for K, labels in found.labels.items()})


def _compare(prepared: Prepared, settings: Settings, wanted: list[int], step: Step) -> Selection:
    """Fit each number of clusters, and conclude."""
    inputs = prepared.inputs
    assert inputs is not None
    rng = check_random_state(settings.random_state)
    gaps = eigengaps(inputs, wanted[-1], rng)
    draws = _draws(inputs, wanted[-1], rng)
    parts, labels = [], {}
    for K in wanted:
        found = find_consensus(inputs, K, check_random_state(settings.random_state), sparse=settings.sparse)
        start = consensus_start(prepared.problem, found)
        solutions = solve_with_all_clusters if settings.lam is None and settings.steps is None else solve_path
        path = list(solutions(prepared.problem, start, settings, no_step))
        stability = _stability(draws, found, K, rng)
        rows = [_row(inputs, K, found, point, stability, gaps[K - 1]) for point in path]
        parts.append(np.array(rows, dtype=TABLE))
        labels[K] = path[parts[-1]["support"].argmax()][1].labels
        step(info=f"{K} clusters")
    return _conclusion(np.concatenate(parts), labels)


def _wanted(n_clusters: Iterable[int] | None, n: int) -> list[int]:
    numbers = range(2, max(3, min(MOST_CLUSTERS, int(np.sqrt(n))) + 1)) if n_clusters is None else n_clusters
    wanted = sorted({int(K) for K in numbers})
    if not wanted or wanted[0] < 2:
        raise ValueError(f"'n_clusters' must hold numbers of at least 2. Got {wanted}.")
    return wanted


def _conclusion(table: Array, labels: dict[int, Array]) -> Selection:
    preferred = {name: _preferred(table, name) for name in CRITERIA if not np.isnan(table[name]).all()}
    K = _recommended(table)
    own = table[table["n_clusters"] == K]
    best = own[own["support"].argmax()]
    return Selection(K, float(best["lam"]), float(best["bandwidth"]), table, preferred, labels)


def _recommended(table: Array) -> int:
    """Of the numbers that the families agree on best, the most stable one; of equals the largest."""
    agreement = table["agreement"]
    best = np.isnan(agreement) | (agreement >= np.nanmax(agreement, initial=0.0) - TIES["agreement"])
    return _preferred(table[best], "stability")


def _preferred(table: Array, name: str) -> int:
    """The number that a criterion speaks for; of equals the largest."""
    return int(table["n_clusters"][table[name] >= np.nanmax(table[name]) - TIES.get(name, 0.0)].max())


def _draws(inputs: StartInputs, K: int, rng: np.random.RandomState) -> list[tuple[Array, StartInputs]]:
    """Random rows, and what the candidates see of them."""
    n = inputs.points.n
    size = max(2, round(SHARE * n))
    draws = [np.sort(rng.choice(n, size, replace=False)) for _ in range(DRAWS)]
    return [(rows, _inputs_among(inputs, rows, K)) for rows in draws]


def _inputs_among(inputs: StartInputs, rows: Array, K: int) -> StartInputs:
    """What the candidates see of some rows: neighbours among those already found, or searched again if too few."""
    points, near = inputs.points.take(rows), inputs.neighbors
    graph = build_graph(inputs.graphs[0].affinity[rows][:, rows])
    sizes = None if inputs.sizes is None else inputs.sizes[rows]
    if near is None:
        return replace(start_inputs(points, graph, None, inputs.n_neighbors, K), sizes=sizes)
    place = np.full(inputs.points.n, -1, dtype=np.int32)
    place[rows] = np.arange(rows.size, dtype=np.int32)
    indices = place[near.indices[rows]]
    left = int((indices >= 0).sum(axis=1).min())
    if left < min(inputs.n_neighbors, rows.size - 1):
        near = make_index(points.X, points.threads).query_self(near.indices.shape[1])
    else:
        order = np.argsort(indices < 0, axis=1, kind="stable")[:, :left]  # those that are left, nearest first
        near = Neighbors(indices, near.distances[rows]).chosen(order)
    return replace(start_inputs(points, graph, near, inputs.n_neighbors, K), sizes=sizes)


def _stability(draws: list[tuple[Array, StartInputs]], found: Consensus, K: int, rng: np.random.RandomState) -> float:
    """Mean agreement of the chosen candidate with the one made in the same way from each draw."""
    candidate = found.candidates[found.chosen]
    seeds = rng.randint(2**31 - 1, size=len(draws)).tolist()
    return float(
        np.mean(
            [
                adjusted_rand(found.labels[rows], make_partition(candidate, inputs, K, seed))
                for (rows, inputs), seed in zip(draws, seeds, strict=True)
            ]
        )
    )


def _row(
    inputs: StartInputs,
    K: int,
    found: Consensus,
    point: tuple[Problem, Solution],
    stability: float,
    eigengap: float,
) -> tuple[Any, ...]:
    problem, solution = point
    labels = solution.labels
    return (
        K,
        problem.lam,
        float(np.median(problem.bandwidth)),
        _typical(found),
        stability,
        eigengap,
        valley_depth(inputs, found.labels, K),
        float(np.mean([adjusted_rand(labels, other) for other in found.partitions])),
        normalized_cut(inputs.graphs[0].affinity, labels, K) / K,
        solution.objective,
        solution.gap,
        np.bincount(labels, minlength=K).min(),
    )


def _typical(found: Consensus) -> float:
    """Upper quartile over pairs of families of the highest adjusted Rand index between their candidates.

    Candidates of one family agree on any number of clusters, so they say nothing of it; NaN where there is one family.
    """
    families, family = np.unique([candidate.family for candidate in found.candidates], return_inverse=True)
    between = [found.pairs[family == i][:, family == j].max() for i in range(families.size) for j in range(i)]
    return float(np.quantile(between, 0.75)) if between else np.nan


def eigengaps(inputs: StartInputs, most: int, rng: np.random.RandomState) -> Array:
    """For each K the log of (eigenvalue K + 1) / (eigenvalue K) of the normalised Laplacian; NaN where too large."""
    n = inputs.graphs[0].degrees.size
    if not most + 1 < n <= MANY_POINTS:
        return np.full(most, np.nan)
    values = 1 - smooth_values(inputs.graphs[0], most + 1, rng) + 1e-4
    return np.asarray(np.log(values[1:] / values[:-1]))


def valley_depth(inputs: StartInputs, labels: Array, K: int) -> float:
    """Mean over clusters of log density within (its 0.9 quantile) minus that of the highest edge to another cluster."""
    if inputs.neighbors is None:
        return np.nan
    near, tree = inputs.neighbors.first(inputs.n_neighbors), inputs.trees[0]
    height = log_density(near.distances)
    start = np.concatenate([np.repeat(np.arange(labels.size), near.indices.shape[1]), tree.start])
    end = np.concatenate([near.indices.ravel(), tree.end])
    leaves = labels[start] != labels[end]
    edge = np.minimum(height[start[leaves]], height[end[leaves]])
    highest = np.full(K, -np.inf)
    np.maximum.at(highest, labels[start[leaves]], edge)
    np.maximum.at(highest, labels[end[leaves]], edge)
    inside = np.array([np.quantile(height[labels == k], 0.9) for k in range(K)])
    return float(np.mean(inside - highest))
