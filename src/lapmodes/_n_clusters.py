"""How many clusters: a comparison of numbers of clusters on one graph, without labels, and what to conclude from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._fit import Prepared, prepare, solve_path, solve_with_all_clusters
from ._progress import Progress, Step, no_step
from ._records import MANY_POINTS, Array, Neighbors, Problem, Solution
from ._rows import adjusted_rand
from ._settings import Settings
from ._validation import Given
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
        ("spread", np.float64),
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
DRAWS = 8
SHARE = 0.9
"""Of the points are in each draw that the stability is measured on."""
CLEAR = 1.2
"""Agreement and valley that the best number of clusters must have together, or there are no clear clusters."""
CERTAIN = 0.99
"""Or its agreement and its stability must be this high each: in many dimensions valleys are shallow."""
ONE_COLUMN = 0.2
"""What a valley counts on a line, where the density of a few neighbours is that much noisier."""
COMPARED_ROWS = 3000
"""Rows on which the numbers of clusters are compared where a fit leaves them to the data."""


@dataclass(frozen=True)
class Selection:
    """The result of :func:`lapmodes.select`."""

    n_clusters: int
    """The recommendation: a number of clusters on which unlike methods agree best, and which is stable; 1 where there
    are no clear clusters."""
    lam: float
    """The smoothness of the row of the table that is best."""
    bandwidth: float
    """The bandwidth of that row; the median of them where every point has its own."""
    table: Array
    """One row a number of clusters (and step of the path), of the fields described in :func:`lapmodes.select`."""
    preferred: dict[str, int]
    """The number of clusters that each criterion would take by itself."""
    labels: dict[int, Array]
    """The fitted labels for each number of clusters, at the step of the path that the candidates support most."""
    also: int | None = None
    """Another number that is worth a look: what most of the criteria that disagree would take; the smallest that any
    would take where there are no clear clusters."""

    @property
    def unanimous(self) -> bool:
        """Whether all criteria are within one of the recommendation."""
        return all(abs(K - self.n_clusters) <= 1 for K in self.preferred.values())

    @property
    def verdict(self) -> str:
        """'clear', 'disputed' (criteria disagree by more than one) or 'none' (no clear clusters)."""
        if self.n_clusters == 1:
            return "none"
        return "clear" if self.unanimous else "disputed"

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
        if self.verdict == "none":
            return (
                f"No clear clusters: methods disagree, or no gaps part the clusters ({says}). Also look at {self.also}."
            )
        if self.verdict == "clear":
            return f"{self.n_clusters} clusters recommended. The criteria agree ({says})."
        return f"{self.n_clusters} clusters recommended, but the criteria disagree ({says}). Also look at {self.also}."


def choose_n_clusters(X: Any, given: Given, settings: Settings, progress: Progress) -> int:
    """The number of clusters that the data speak for, compared on some of the rows where there are many."""
    n = X.shape[0]
    rows = np.arange(n)
    if n > COMPARED_ROWS:
        rows = np.sort(np.random.RandomState(0).choice(n, COMPARED_ROWS, replace=False))
    W, weight = given.graph, given.sample_weight
    some = Given(None if W is None else W[rows][:, rows], None, None if weight is None else weight[rows])
    prepared = prepare(X[rows], some, settings, progress)
    wanted = numbers_to_compare(None, rows.size)
    with progress.phase("select", len(wanted)) as step:
        return compare_numbers(prepared, settings, wanted, step).n_clusters


def compare_numbers(prepared: Prepared, settings: Settings, wanted: list[int], step: Step) -> Selection:
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
        stability, spread = _stability(draws, found, K, rng)
        rows = [_row(inputs, K, found, point, (stability, spread, gaps[K - 1])) for point in path]
        parts.append(np.array(rows, dtype=TABLE))
        labels[K] = path[parts[-1]["support"].argmax()][1].labels
        step(info=f"{K} clusters")
    return _conclusion(np.concatenate(parts), labels, inputs.points.X.shape[1])


def numbers_to_compare(n_clusters: Iterable[int] | None, n: int) -> list[int]:
    """Those asked for; else from 2 to 20, but at most the root of the number of distinct points."""
    numbers = range(2, max(3, min(MOST_CLUSTERS, int(np.sqrt(n))) + 1)) if n_clusters is None else n_clusters
    wanted = sorted({int(K) for K in numbers})
    if not wanted or wanted[0] < 2:
        raise ValueError(f"'n_clusters' must hold numbers of at least 2. Got {wanted}.")
    return wanted


def _conclusion(table: Array, labels: dict[int, Array], dimensions: int) -> Selection:
    """What the table speaks for."""
    preferred = {name: _preferred(table, name) for name in CRITERIA if not np.isnan(table[name]).all()}
    best = _recommended(table)
    own = table[table["n_clusters"] == best]
    row = own[own["support"].argmax()]
    valley = np.nan_to_num(row["valley"], nan=CLEAR) * (ONE_COLUMN if dimensions == 1 else 1.0)
    clear = np.isnan(row["agreement"]) or row["agreement"] + max(valley, 0.0) >= CLEAR
    clear |= dimensions > 1 and min(row["agreement"], row["stability"]) >= CERTAIN
    others = [K for K in preferred.values() if abs(K - best) > 1]
    also = max(others, key=lambda K: (others.count(K), -K), default=None) if clear else min(preferred.values())
    if not clear:
        labels = {1: np.zeros_like(labels[best])} | labels
    return Selection(best if clear else 1, float(row["lam"]), float(row["bandwidth"]), table, preferred, labels, also)


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


def _stability(
    draws: list[tuple[Array, StartInputs]], found: Consensus, K: int, rng: np.random.RandomState
) -> tuple[float, float]:
    """Mean agreement of the chosen candidate with the one made in the same way from each draw, and its spread."""
    candidate = found.candidates[found.chosen]
    seeds = rng.randint(2**31 - 1, size=len(draws)).tolist()
    agreements = [
        adjusted_rand(found.labels[rows], make_partition(candidate, inputs, K, seed))
        for (rows, inputs), seed in zip(draws, seeds, strict=True)
    ]
    return float(np.mean(agreements)), float(np.std(agreements))


def _row(
    inputs: StartInputs,
    K: int,
    found: Consensus,
    point: tuple[Problem, Solution],
    criteria: tuple[float, float, float],
) -> tuple[Any, ...]:
    """A row of the table; `criteria` are the stability, its spread and the eigengap."""
    problem, solution = point
    labels = solution.labels
    return (
        K,
        problem.lam,
        float(np.median(problem.bandwidth)),
        _typical(found),
        *criteria,
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
