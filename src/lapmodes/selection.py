"""How many clusters: a scan over K on one graph, with criteria that need no labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ._estimator import LaplacianKModes
from ._fit import surviving_path
from ._problem import Problem
from ._progress import no_step
from ._records import Array, Landscape, Solution, Start
from .solve.candidates import SPECTRAL_POINTS
from .solve.consensus import Consensus
from .solve.prominence import log_density
from .solve.spectral import smooth_values
from .solve.start import reach_consensus, start_from

MOST_CLUSTERS = 20
TABLE = np.dtype(
    [
        ("n_clusters", np.int64),
        ("agreement", np.float64),
        ("eigengap", np.float64),
        ("valley", np.float64),
        ("cut", np.float64),
        ("objective", np.float64),
        ("gap", np.float64),
        ("smallest", np.int64),
    ]
)
TIE = 0.01
CRITERIA = ("agreement", "eigengap", "valley")
"""Where the largest value speaks for a number of clusters."""


@dataclass(frozen=True)
class Selection:
    """The result of :func:`select`."""

    n_clusters: int
    """The recommendation: the number of clusters on which unlike methods agree most."""
    table: Array
    """One row a number of clusters, of the fields described in :func:`select`."""
    preferred: dict[str, int]
    """The number of clusters that each criterion would take by itself."""
    labels: dict[int, Array]
    """The fitted labels for each number of clusters."""

    @property
    def unanimous(self) -> bool:
        """Whether all criteria are within one of the recommendation."""
        return all(abs(K - self.n_clusters) <= 1 for K in self.preferred.values())

    def plot(self, ax: Any = None) -> Any:
        """Draw the criteria over the number of clusters; returns the matplotlib axes."""
        from .plotting import _axes

        ax = _axes(ax)
        for name in self.preferred:
            values = self.table[name]
            span = np.nanmax(values) - np.nanmin(values) or 1.0
            ax.plot(self.table["n_clusters"], (values - np.nanmin(values)) / span, marker="o", label=name)
        ax.axvline(self.n_clusters, color="0.7", linewidth=1, zorder=0)
        ax.set(xlabel="number of clusters", ylabel="criterion, from its least to its greatest value")
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        says = ", ".join(f"{name} {K}" for name, K in self.preferred.items())
        verdict = "The criteria agree" if self.unanimous else "The criteria disagree: look at the table or the plot"
        return f"{self.n_clusters} clusters recommended. {verdict} ({says})."


def select(
    X: Any, n_clusters: Iterable[int] | None = None, *, graph: Any = None, sample_weight: Any = None, **parameters: Any
) -> Selection:
    """Compare numbers of clusters on one graph, without labels.

    For each number the candidates for a start are made (all but the spectral one and the mixture), a consensus is
    chosen and the model is fitted from it.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : iterable of int, optional
        The numbers to compare, each at least 2. Default: 2 to 20, but at most the root of n_samples.
    graph, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`, all but `init`.

    Returns
    -------
    Selection
        Its table has the fields: 'agreement' (upper quartile of the adjusted Rand index
        between candidates), 'eigengap' (log
        ratio of the next to the last eigenvalue of the normalised Laplacian; NaN above 20,000 points), 'valley' (mean
        over clusters of the drop in log density from the cluster to the highest edge that leaves it; NaN on a given
        graph), 'cut' (mean normalised cut), 'objective' and its certified 'gap', and 'smallest' (points in the
        smallest cluster). `n_clusters` is the largest number whose agreement is within 0.01 of the best:
        coarser partitions into unions of clusters find agreement too.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import select
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + 9 * i for i in range(3)])
    >>> found = select(X, range(2, 7), random_state=0)
    >>> found.n_clusters, found.unanimous
    (3, True)
    """
    if "init" in parameters:
        raise ValueError("select makes its own starts: leave 'init' out.")
    n = np.shape(X)[0]
    numbers = range(2, max(3, min(MOST_CLUSTERS, int(np.sqrt(n))) + 1)) if n_clusters is None else n_clusters
    wanted = sorted({int(K) for K in numbers})
    if not wanted or wanted[0] < 2:
        raise ValueError(f"'n_clusters' must hold numbers of at least 2. Got {wanted}.")
    estimator = LaplacianKModes(wanted[-1], **parameters)
    with estimator._progress() as progress:
        problem = estimator._pose(X, graph, sample_weight, progress)
    if problem.landscape is None:
        raise ValueError("select needs a graph: leave 'lam' at 'auto' or above 0.")
    gaps = eigengaps(problem.landscape, wanted[-1], check_random_state(estimator.random_state))
    rows, labels = [], {}
    for K in wanted:
        found, solution = _fit_one(estimator, problem, K)
        labels[K] = solution.labels
        rows.append(_row(problem.landscape, K, found, solution, gaps[K - 1]))
    table = np.array(rows, dtype=TABLE)
    preferred = {name: _preferred(table, name) for name in CRITERIA if not np.isnan(table[name]).all()}
    return Selection(preferred["agreement"], table, preferred, labels)


def _preferred(table: Array, name: str) -> int:
    """The number that a criterion speaks for; of equals in agreement the largest."""
    tie = TIE if name == "agreement" else 0.0
    return int(table["n_clusters"][table[name] >= np.nanmax(table[name]) - tie].max())


def _fit_one(estimator: LaplacianKModes, problem: Problem, K: int) -> tuple[Consensus, Solution]:
    """The consensus on K clusters and the model fitted from it."""
    assert problem.landscape is not None
    rng, weight = check_random_state(estimator.random_state), problem.sample_weight
    found = reach_consensus(
        problem.points, problem.graph, problem.landscape, K, rng, weight, quick=True, sparse=problem.sparse
    )
    start: Start = start_from(problem.points, problem.graph, found)
    single = clone(estimator).set_params(n_clusters=K)
    return found, surviving_path(single, problem, start, no_step)[-1].solution


def _row(landscape: Landscape, K: int, found: Consensus, solution: Solution, eigengap: float) -> tuple[Any, ...]:
    chosen = found.labels
    return (
        K,
        found.typical_agreement,
        eigengap,
        valley_depth(landscape, chosen, K),
        found.cut[found.chosen],
        solution.objective,
        solution.gap,
        np.bincount(chosen, minlength=K).min(),
    )


def eigengaps(landscape: Landscape, most: int, rng: np.random.RandomState) -> Array:
    """For each K the log of (eigenvalue K + 1) / (eigenvalue K) of the normalised Laplacian; NaN where too large."""
    n = landscape.graphs[0].degrees.size
    if not most + 1 < n <= SPECTRAL_POINTS:
        return np.full(most, np.nan)
    values = 1 - smooth_values(landscape.graphs[0], most + 1, rng) + 1e-4
    return np.asarray(np.log(values[1:] / values[:-1]))


def valley_depth(landscape: Landscape, labels: Array, K: int) -> float:
    """Mean over clusters of log density within (its 0.9 quantile) minus that of the highest edge to another cluster."""
    if landscape.neighbors is None:
        return np.nan
    near, tree = landscape.neighbors.first(landscape.n_neighbors), landscape.trees[0]
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
