"""Checks of what clustering algorithms can do, each on a small data set: the cells of table 1."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from .. import KModes, LaplacianKModes
from .._records import Array
from .._rows import largest_values
from ..baselines import GaussianMeanShift, KMeans, KMedoids, NormalizedCut

SIGMA = 0.35
"""Bandwidth for the bow and the blob."""
N_NEIGHBORS = 10
REPEATS = 3
"""Each time is the lowest of so many."""


def make_bow_and_blob(n_samples: int = 600, random_state: Any = 0) -> tuple[Array, Array]:
    """A bow, densest in its middle, and a blob in its embrace: no straight line separates them."""
    rng = np.random.default_rng(random_state)
    y = np.repeat([0, 1], [n_samples - n_samples // 3, n_samples // 3])
    angle = np.where(rng.random(n_samples) < 0.3, rng.uniform(-2, 2, n_samples), rng.triangular(-2, 0, 2, n_samples))
    bow = 3 * np.column_stack([-np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((n_samples, 2))
    blob = 0.25 * rng.standard_normal((n_samples, 2))
    return np.where(y[:, None] == 0, bow, blob), y


def fitted(X: Array) -> dict[str, Any]:
    """All algorithms of the table on the same data; mean-shift with the bandwidth that gives two modes."""
    models: dict[str, Any] = {
        "K-means": KMeans(2, random_state=0),
        "K-medoids": KMedoids(2, random_state=0),
        "Mean-shift": GaussianMeanShift(2),
        "Spectral clustering": NormalizedCut(2, n_neighbors=N_NEIGHBORS, random_state=0),
        "K-modes": KModes(2, bandwidth=SIGMA, init="k-means", random_state=0),
        "Laplacian K-modes": LaplacianKModes(
            2, lam=1.0, bandwidth=SIGMA, affinity="heat", n_neighbors=N_NEIGHBORS, init="k-means", random_state=0
        ),
    }
    return {name: model.fit(X) for name, model in models.items()}


def centroid_gap(model: Any, X: Array) -> float | None:
    """How far centroids are from the data on average, in units of the points' distance to their third neighbour."""
    if not hasattr(model, "cluster_centers_"):
        return None
    spacing = float(np.median(np.sort(cdist(X, X), axis=1)[:, 3]))
    return float(cdist(model.cluster_centers_, X).min(axis=1).mean()) / spacing


def intruders(labels: Array, X: Array) -> int:
    """Points that lie in the convex hull of another cluster: none where clusters are convex."""
    hulls = ((k, Delaunay(X[labels == k])) for k in np.unique(labels))
    return int(sum((hull.find_simplex(X[labels != k]) >= 0).sum() for k, hull in hulls))


def geodesic_labels(X: Array) -> Array:
    """K-medoids again, with distances along a neighbour graph."""
    steps = shortest_path(kneighbors_graph(X, N_NEIGHBORS, mode="distance"), directed=False)
    steps[np.isinf(steps)] = 2 * steps[np.isfinite(steps)].max()
    return np.asarray(KMedoids(2, metric="precomputed", random_state=0).fit(steps).labels_)


def density_peaks(model: Any, X: Array) -> bool | None:
    """Whether centroids are peaks of their density among the points within a bandwidth; None where there is none."""
    if hasattr(model, "density"):
        peaks, values = np.diag(model.density(model.cluster_centers_)), model.density(X).T
    elif hasattr(model, "bandwidth_"):
        peaks, values = (
            np.exp(-0.5 * np.square(cdist(places, X) / model.bandwidth_)).mean(axis=1)
            for places in (model.cluster_centers_, X)
        )
    else:
        return None
    near = cdist(model.cluster_centers_, X) < model.bandwidth_
    return bool((np.where(near, values, 0) <= peaks[:, None] * (1 + 1e-6)).all())


def fractional_share(model: Any) -> float:
    """Share of points with an assignment strictly between 0 and 1."""
    Z = getattr(model, "assignments_", None)
    return 0.0 if Z is None else float(np.mean(largest_values(Z) < 1 - 1e-6))


@dataclass(frozen=True)
class Timing:
    """An algorithm stopped after its first iterations, to be timed at two numbers of points."""

    model: Any
    small: int
    large: int
    on_graph: bool = False
    """Hand over a neighbour graph, whose making is no iteration."""

    def exponent(self) -> float:
        """The e in: processor time grows like N^e."""
        ratio = self.seconds(self.large) / self.seconds(self.small)
        return float(np.log(ratio) / np.log(self.large / self.small))

    def seconds(self, n: int) -> float:
        """Least processor time on n points."""
        X = np.random.default_rng(0).standard_normal((n, 10))
        W = kneighbors_graph(X, 5) if self.on_graph else None
        graph = None if W is None else W.maximum(W.T)
        times = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a single iteration does not converge
            for _ in range(REPEATS):
                began = process_time()
                self.model.fit(X, graph=graph)
                times.append(process_time() - began)
        return max(min(times), 1e-9)


def timings() -> dict[str, Timing]:
    """What is timed for each algorithm."""
    one: dict[str, Any] = {"max_iter": 1, "random_state": 0}
    modes: dict[str, Any] = {"bandwidth": 4.0, "init": "random", "n_jobs": 1, **one}
    return {
        "K-means": Timing(KMeans(10, init="random", n_init=1, max_iter=5, tol=0, random_state=0), 16000, 128000),
        "K-medoids": Timing(KMedoids(10, n_init=1, **one), 500, 2000),
        "Mean-shift": Timing(GaussianMeanShift(bandwidth=1.0, max_iter=1), 500, 4000),
        "Spectral clustering": Timing(NormalizedCut(10, n_init=1, **one), 400, 1000, on_graph=True),
        "K-modes": Timing(KModes(10, **modes), 16000, 128000),
        "Laplacian K-modes": Timing(LaplacianKModes(10, lam=0.1, **modes), 2000, 16000, on_graph=True),
    }
