"""How many clusters: numbers are compared by how much of each cluster comes back from halves of the points.

A cluster that is there comes back from half of the points, whichever half that is; a cut through a heap falls elsewhere
each time. Whether there are clusters at all is also asked of the density, which must be lower between them than within.
Where the points look like Gaussians, however they overlap, the mixture is asked first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from ._gaussians import count_gaussians
from ._progress import Progress, Step, no_step
from ._records import Array, Graph, Neighbors, Points, StartInputs
from ._rows import adjusted_rand, contingency, draw_rows, one_hot, shares_back, whole_sizes
from ._settings import Settings
from ._validation import Given
from .graph.affinity import directed
from .graph.laplacian import build_graph, empty_graph
from .graph.neighbors import make_index
from .start.communities import community_levels
from .start.consensus import GRAPHS, Candidate, make_partition, start_inputs
from .start.density_modes import density_mode_labels, log_density
from .start.mixture import MIXTURE_DIMENSIONS

MOST_CLUSTERS = 20
"""The largest number that is compared, unless twenty clusters are still apart."""
SOME_ROWS = (3000, 10_000)
"""Rows on which numbers are compared where there are more: a tenth of them, but not fewer or more than this; and not
fewer than forty for each cluster where many are asked for."""
DRAWS, FEWEST_DRAWS = 8, 4
"""Random halves of the rows; fewer on a given graph of many points."""
FEW_ROWS = 8
"""With fewer there are no halves worth speaking of."""
SMALLEST = 3
"""A division with a smaller cluster than this has no say: single points lie apart in any heap."""
WAYS = (
    Candidate("communities", 0),
    Candidate("linkages", (0, 0.5)),
    Candidate("linkages", (1, 0.2)),
    Candidate("density modes"),
)
"""Ways to divide the points: one or two of each family that a consensus has and that is fast."""
TIE = 0.02
"""A difference in stability that does not count, or less than that where one cluster is less than a twentieth of all:
of equals the largest number is taken."""
CLEAR, APART = 0.92, 1.4
"""There are clear clusters if the best stability and a twentieth of the best separation (at most 2) reach the first
together, or the best separation the second: of a hundred heaps, boxes, rings and chains some seven do."""
ALL_APART = 0.2
"""From this separation on, all clusters of a number count as apart."""
LONELY = 0.5
"""Two clusters with fewer points than this between them are no neighbours."""
ALONE = 9.0
"""The separation of a cluster that has no neighbour."""
TABLE = np.dtype(
    [
        ("n_clusters", np.int64),
        ("stability", np.float64),
        ("spread", np.float64),
        ("weakest", np.float64),
        ("separation", np.float64),
        ("agreement", np.float64),
        ("smallest", np.int64),
        ("mixture", np.float64),
    ]
)
Draw = tuple[Array, StartInputs]
Measured = dict[int, tuple[Any, Array]]
"""For each number of clusters a row of the table and labels."""


@dataclass(frozen=True)
class Selection:
    """The result of :func:`lapmodes.select`."""

    n_clusters: int
    """The recommendation: the number of Gaussians, where the points look like Gaussians; else the number of clusters
    that come back best from halves of the points, of equals the largest; 1 where there are no clear clusters."""
    table: Array
    """One row a number of clusters (and step of the path), of the fields described in :func:`lapmodes.select`."""
    preferred: dict[str, int]
    """The number of clusters that each criterion would take by itself; for the separation this is the largest number
    of clusters that are all apart, or 1."""
    labels: dict[int, Array]
    """For each number the clusters that come back best; along a path the fitted ones that the candidates support most.
    :class:`lapmodes.LaplacianKModes` fits the model for one of the numbers."""
    lam: float = np.nan
    """The smoothness of the model; of the best step, along a path."""
    bandwidth: float = np.nan
    """The bandwidth of the model or step; the median of them where every point has its own."""

    @property
    def best(self) -> int:
        """The recommendation; where there are no clear clusters, the number of those that come back best."""
        return self.n_clusters if self.n_clusters > 1 else self.preferred["stability"]

    @property
    def unanimous(self) -> bool:
        """Whether all criteria are within one of the recommendation, or within a tenth of it."""
        return all(self._is_near(K) for K in self.preferred.values())

    @property
    def verdict(self) -> str:
        """'clear', 'disputed' (no other criterion is near the recommendation) or 'none' (no clear clusters)."""
        if self.n_clusters == 1:
            return "none"
        if "mixture" in self.preferred:
            return "clear"
        others = [K for name, K in self.preferred.items() if name != "stability"]
        return "clear" if any(self._is_near(K) for K in others) or not others else "disputed"

    @property
    def coarser(self) -> int | None:
        """The number for a coarser view: the most stable of the smaller ones."""
        return self._most_stable(self.table["n_clusters"] < self.best)

    @property
    def finer(self) -> int | None:
        """The number for a finer view: the most stable of the larger ones."""
        return self._most_stable(self.table["n_clusters"] > self.best)

    @property
    def also(self) -> int | None:
        """Another number that is worth a look; where there are no clear clusters, the one for groups all the same."""
        if self.verdict == "none":
            return self.best
        return self._most_stable(~self._is_near(self.table["n_clusters"]))

    def _is_near(self, K: Any) -> Any:
        return np.abs(K - self.n_clusters) <= max(1, self.n_clusters // 10)

    def _most_stable(self, among: Array) -> int | None:
        rows = self.table[among]
        return int(rows["n_clusters"][rows["stability"].argmax()]) if rows.size else None

    def change(self, K: int) -> str:
        """What becomes of the best clusters in a view with another number of them, in a few words."""
        fine, coarse = (self.labels[each] for each in sorted((K, self.best), reverse=True))
        both = contingency(fine, coarse, max(K, self.best))
        if both.max(axis=1).sum() < 0.9 * fine.size:
            return "divides the points in another way"
        pieces = np.bincount(both.argmax(axis=1)[both.any(axis=1)])
        many, few = int(pieces[pieces > 1].sum()), int((pieces > 1).sum())
        return f"joins {many} clusters to {few}" if self.best > K else f"divides {few} of the clusters into {many}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the criteria over the number of clusters; returns the matplotlib axes."""
        from .plotting.clusters import plot_selection

        return plot_selection(self, ax)

    def __str__(self) -> str:
        says = ", ".join(f"{name} {K}" for name, K in self.preferred.items())
        if self.verdict == "none":
            return f"No clear clusters ({says}). For groups all the same, look at {self.also}."
        if self.verdict == "clear":
            return f"{self.n_clusters} clusters recommended ({says})."
        return f"{self.n_clusters} clusters recommended, but the criteria disagree ({says}). Also look at {self.also}."


@dataclass(frozen=True)
class Density:
    """The density at each point, and the points around it."""

    around: Any
    """CSR matrix (N, N) whose rows give each point and its neighbours equal shares."""
    height: Array
    """The log density, up to a constant."""

    @staticmethod
    def around_points(near: Neighbors) -> Density:
        """From the nearer half of the neighbours; the dimension is that of their number (Levina & Bickel 2004)."""
        n, k = near.indices.shape
        nearer = near.first(max(1, k // 2)).distances.astype(np.float64)
        nearer = np.maximum(nearer, 1e-9 * (nearer.max(initial=0.0) or 1.0))
        growth = float(np.median(np.log(nearer[:, -1:] / nearer).mean(axis=1))) * nearer.shape[1]
        dimension = max(nearer.shape[1] - 1, 1) / max(growth, 1e-3)
        indices = np.column_stack([np.arange(n, dtype=near.indices.dtype), near.indices])
        return Density(directed(indices, np.full((n, k + 1), 1 / (k + 1)), n), dimension * log_density(nearer))

    def separation(self, labels: Array, K: int) -> float:
        """How much lower the density is between a cluster and a neighbour than within both, where it is least so.

        The difference in log density times the root of a tenth of the points between them, of which noise leaves about
        one. A point lies between two clusters as far as its neighbours are of both.
        """
        share = self.around @ one_hot(labels, K, np.float64)
        inside = np.square(share)
        within = self.height @ inside / inside.sum(axis=0)
        points = 4 * share.T @ share
        between = 4 * share.T @ (share * self.height[:, None])
        lone = (points < LONELY) | np.eye(K, dtype=bool)
        lower = np.minimum(within[:, None], within) - between / np.where(lone, 1.0, points)
        return float(np.where(lone, ALONE, lower * np.sqrt(np.maximum(points, 1) / 10)).min())


def numbers_to_compare(n_clusters: Iterable[int] | None) -> list[int] | None:
    """Those asked for, in order; None leaves them to the data."""
    if n_clusters is None:
        return None
    wanted = sorted({int(K) for K in n_clusters})
    if not wanted or wanted[0] < 2:
        raise ValueError(f"'n_clusters' must hold numbers of at least 2. Got {wanted}.")
    return wanted


def choose_n_clusters(X: Any, given: Given, settings: Settings, progress: Progress) -> int:
    """The number of clusters that the data speak for."""
    points = Points(X, settings.threads)
    graph = None if given.graph is None else build_graph(given.graph)
    with progress.phase("select", DRAWS) as step:
        return compare_numbers(points, given.sample_weight, graph, settings, None, step)[0].n_clusters


def compare_numbers(
    points: Points, weight: Array | None, graph: Graph | None, settings: Settings, wanted: list[int] | None, step: Step
) -> tuple[Selection, Array]:
    """Compare numbers of clusters: what to conclude, and the rows that the labels are of.

    Unless numbers are wanted, those up to 20, and further ones while all clusters of the last number are apart.
    """
    rng = check_random_state(settings.random_state)
    most = int(np.sqrt(points.n))
    numbers = wanted or list(range(2, max(2, min(MOST_CLUSTERS, most)) + 1))
    rows = compared_rows(points.n, weight, graph, numbers[-1], rng)
    inputs = compared_inputs(points, graph, rows, settings.n_neighbors, rng)
    draws = random_halves(inputs, rng)
    found = measure(inputs, draws, numbers, step)
    while wanted is None and numbers[-1] < most and found[numbers[-1]][0][4] >= ALL_APART:
        stride = max(1, numbers[-1] // MOST_CLUSTERS)
        numbers = list(range(numbers[-1] + stride, min(most, 2 * numbers[-1]) + stride, stride))
        found |= measure(inputs, draws, numbers)
    best = most_stable(table_of(found))
    stride = best // MOST_CLUSTERS
    between = [K for K in range(best - stride + 1, best + stride) if K not in found]
    if wanted is None and between:
        found |= measure(inputs, draws, between)
    gaussians = None
    if inputs.neighbors is not None and 2 <= points.X.shape[1] <= MIXTURE_DIMENSIONS:
        gaussians = count_gaussians(inputs.points.rows(np.arange(rows.size)), min(numbers[-1], MOST_CLUSTERS), rng)
    return conclusion(found, gaussians), rows


def compared_rows(n: int, weight: Array | None, graph: Graph | None, K: int, rng: np.random.RandomState) -> Array:
    """The rows to compare on: all, each as often as it counts, or a random sample where these are too many.

    On a given graph all: a few of its points would have no edges.
    """
    if graph is not None:
        return np.arange(n)
    counts = None if weight is None else whole_sizes(weight)
    total = n if counts is None else int(counts.sum())
    return draw_rows(n, counts, int(max(40 * K, np.clip(total / 10, *SOME_ROWS))), rng)


def compared_inputs(
    points: Points, graph: Graph | None, rows: Array, n_neighbors: int, rng: np.random.RandomState
) -> StartInputs:
    """What the ways look at: the graph that was given, or the neighbours among the rows."""
    if graph is not None:
        return start_inputs(points, graph, None, n_neighbors, 2)
    X = points.X[rows]
    return inputs_of(Points(X if issparse(X) else unrounded(X, rng), points.threads), n_neighbors)


def unrounded(X: Array, rng: np.random.RandomState) -> Array:
    """Rounded columns with a random rest of up to half a step: values that rounding made equal are no clusters."""
    X = X.astype(np.float64)
    for column in X.T:
        values = np.unique(column)
        if 1 < values.size < 0.9 * column.size:
            half = float(np.median(np.diff(values))) / 2
            column += rng.uniform(-half, half, column.size)
    return X


def inputs_of(points: Points, n_neighbors: int) -> StartInputs:
    """What the ways look at, neighbours searched among the points."""
    near = make_index(points.X, points.threads).query_self(min(2 * n_neighbors, points.n - 1))
    return start_inputs(points, empty_graph(points.n, np.float64), near, n_neighbors, 2, kinds=GRAPHS[:1])


def random_halves(inputs: StartInputs, rng: np.random.RandomState) -> list[Draw]:
    """Random halves of the points, and what the ways see of them; fewer of them where there are many points."""
    n = inputs.points.n
    if n < FEW_ROWS:
        return []
    count = max(FEWEST_DRAWS, DRAWS * SOME_ROWS[1] // max(n, SOME_ROWS[1]))
    halves = [np.sort(rng.choice(n, -(-n // 2), replace=False)) for _ in range(count)]
    return [(rows, inputs_among(inputs, rows)) for rows in halves]


def inputs_among(inputs: StartInputs, rows: Array) -> StartInputs:
    """What the ways see of some rows: the graph among them, or neighbours searched again."""
    points = inputs.points.take(rows)
    if inputs.neighbors is not None:
        return inputs_of(points, inputs.n_neighbors)
    graph = build_graph(inputs.graphs[0].affinity[rows][:, rows])
    return start_inputs(points, graph, None, inputs.n_neighbors, 2)


def measure(inputs: StartInputs, draws: list[Draw], numbers: list[int], step: Step = no_step) -> Measured:
    """A row of the table, and labels, for each number of clusters."""
    ways = WAYS if inputs.neighbors is not None else WAYS[:1]
    numbers = [K for K in numbers if inputs.points.n >= K]
    made = [divide(way, inputs, numbers) for way in ways]
    back: dict[int, list[list[Array]]] = {K: [] for K in numbers}  # draw by draw, way by way, for each cluster
    for rows, half in draws:
        possible = [K for K in numbers if rows.size >= K]
        again = [divide(way, half, possible) for way in ways] if possible else []
        for K in possible:
            back[K].append([shares_back(one[K][rows], two[K], K) for one, two in zip(made, again, strict=True)])
        step(info=f"up to {numbers[-1]} clusters")
    density = None if inputs.neighbors is None else Density.around_points(inputs.neighbors)
    return {K: summary([each[K] for each in made], np.array(back[K]), density, K) for K in numbers}


def divide(way: Candidate, inputs: StartInputs, numbers: list[int]) -> dict[int, Array]:
    """The division of the points into each of the numbers of clusters, in one way."""
    if way.family == "communities":
        return community_levels(inputs.graphs[0].affinity, numbers, 0)
    if way.family == "linkages":
        return {K: make_partition(way, inputs, K, 0) for K in numbers}
    assert inputs.neighbors is not None
    near = inputs.neighbors.first(inputs.n_neighbors)
    return dict(zip(numbers, density_mode_labels(near, inputs.trees[0], numbers), strict=True))


def summary(partitions: list[Array], back: Array, density: Density | None, K: int) -> tuple[Any, Array]:
    """A row of the table, by the way whose clusters come back best, and its labels."""
    smallest = np.array([np.bincount(labels, minlength=K).min() for labels in partitions])
    if back.size == 0:
        back = np.zeros((1, len(partitions), K))
    mean = np.where(smallest >= SMALLEST, back.mean(axis=(0, 2)), 0.0)
    way = int(mean.argmax())
    apart = np.nan
    if density is not None:
        valid = np.flatnonzero(smallest >= SMALLEST)
        apart = sorted([-1.0, -1.0, *(density.separation(partitions[i], K) for i in valid)])[-2]
    row = (
        K,
        mean[way],
        back[:, way].mean(axis=1).std(),
        back[:, way].mean(axis=0).min(),
        apart,
        agreement(partitions),
        smallest[way],
        np.nan,
    )
    return row, partitions[way]


def agreement(partitions: list[Array]) -> float:
    """Mean adjusted Rand index between families, the more similar linkage of the two; NaN where there is one way."""
    if len(partitions) == 1:
        return np.nan
    communities, *linkages, hills = partitions
    pairs = [max(adjusted_rand(each, linkage) for linkage in linkages) for each in (communities, hills)]
    return float(np.mean([*pairs, adjusted_rand(communities, hills)]))


def table_of(found: Measured) -> Array:
    """The rows of all numbers in rising order."""
    return np.array([found[K][0] for K in sorted(found)], dtype=TABLE)


def most_stable(table: Array) -> int:
    """The number of clusters that come back best; of equals the largest."""
    best = table[table["stability"].argmax()]
    tie = TIE * min(1.0, MOST_CLUSTERS / best["n_clusters"])
    return int(table["n_clusters"][table["stability"] >= best["stability"] - tie].max())


def conclusion(found: Measured, gaussians: tuple[int, dict[int, float], Array] | None) -> Selection:
    """What the table speaks for."""
    table = table_of(found)
    best = most_stable(table)
    preferred, labels = {"stability": best}, {K: labels for K, (_, labels) in found.items()}
    if not np.isnan(table["agreement"]).all():
        agree = table["agreement"] >= np.nanmax(table["agreement"]) - TIE
        preferred["agreement"] = int(table["n_clusters"][agree].max())
        preferred["separation"] = int(table["n_clusters"][table["separation"] >= ALL_APART].max(initial=1))
    apart = float(np.clip(np.nan_to_num(table["separation"]).max(), -1, 2))
    clear = table["stability"].max() + apart / 20 >= CLEAR or apart >= APART
    if gaussians is not None and gaussians[0] in (1, *found):
        best, likely, own = gaussians
        clear, preferred["mixture"] = best > 1, best
        labels[best], table["mixture"] = own, [likely.get(K, np.nan) for K in table["n_clusters"].tolist()]
    return Selection(
        best if clear else 1, table, preferred, labels if clear else labels | {1: np.zeros_like(labels[best])}
    )
