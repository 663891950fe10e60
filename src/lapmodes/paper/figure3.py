"""Figure 3: two moons among outliers, by K-means and by Laplacian K-modes along a path of bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import KModes, LaplacianKModes
from .._records import Array
from ..metrics import clustering_accuracy
from ..plotting import plot_assignments, plot_clusters, plot_density, plot_map
from .data import make_moons_with_outliers
from .results import (
    COMMON,
    Claim,
    Fit,
    Picture,
    Result,
    Setting,
    end_of_path,
    fits_table,
    name_panels,
    panels,
    right_on_every_draw,
    timed_fit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTLIER = 2
"""The label of outliers."""
LAM, SIGMA = 1.0, 0.1
FULL, QUICK = 10, 3
"""Number of draws."""
KMEANS_BELOW, DENSER_THAN, MAPPED_RIGHT = 0.95, 0.95, 0.98
"""Limits of the claims: accuracy of K-means, rank of the modes by density, accuracy of the out-of-sample map."""
INTRODUCTION = """Two interleaved half moons of 400 points among 200 outliers. K-means draws a straight border \
through them. Laplacian K-modes follows a path from its result: λ = 1 on a 5-neighbour graph with heat weights, and σ \
falls from 5 to 0.1 in ten steps. It separates the moons, puts its modes where the data is dense, gives a density for \
each cluster, soft assignments, and a closed-form map for points it has not seen.

The moons are drawn anew for each random state. Accuracy leaves the outliers out of account."""


def run(setting: Setting) -> Result:
    """The paper's figure for one draw, its claims for several."""
    n_draws = QUICK if setting.quick else FULL
    X, y = make_moons_with_outliers(random_state=0)
    runs = cluster(X, y)
    draws = [runs[1]]
    with setting.progress.phase("figure 3", n_draws - 1) as step:
        for seed in range(1, n_draws):
            draws.append(fit_moons("Laplacian K-modes", fit_homotopy, *make_moons_with_outliers(random_state=seed)))
            step()
    return Result(
        "figure3",
        "Figure 3: two moons among outliers",
        INTRODUCTION,
        tables=[fits_table("figure3", runs)],
        pictures=[
            Picture(
                "figure3",
                "K-means; Laplacian K-modes with the contours of both densities; its soft assignments; its map.",
                "Four plots of two moons among outliers: K-means cuts both, Laplacian K-modes separates them.",
                draw(X, runs),
            )
        ],
        claims=claims(X, runs, draws),
    )


def fit_homotopy(X: Array) -> LaplacianKModes:
    """The paper's model: ten bandwidths, each from the solution of the last."""
    widths = np.geomspace(5, SIGMA, 10)
    return end_of_path(X, 2, lam=LAM, bandwidth=widths, affinity="heat", n_neighbors=5, **COMMON)


def fit_moons(algorithm: str, fit: Callable[[Array], Any], X: Array, y: Array) -> Fit:
    """A fit, scored on the inliers."""
    return timed_fit("noisy two moons", algorithm, fit, X, y, noise=OUTLIER)


def cluster(X: Array, y: Array) -> tuple[Fit, Fit]:
    """K-means and Laplacian K-modes, in homotopy, on the noisy moons."""
    return (
        fit_moons("K-means", KModes(2, bandwidth=np.inf, **COMMON).fit, X, y),
        fit_moons("Laplacian K-modes", fit_homotopy, X, y),
    )


def claims(X: Array, runs: tuple[Fit, Fit], draws: Sequence[Fit]) -> list[Claim]:
    """The paper's statements, in the words of what is checked."""
    kmeans, smooth = runs
    rank = mode_ranks(smooth.model, X)
    fresh, classes = make_moons_with_outliers(n_outliers=0, random_state=10**6)
    mapped = clustering_accuracy(classes, smooth.model.predict(fresh))
    return [
        right_on_every_draw("Laplacian K-modes puts every inlier of every draw on the right moon.", draws),
        Claim(
            f"K-means has an accuracy below {KMEANS_BELOW:g} on the inliers of the first draw.",
            f"accuracy {kmeans.accuracy:.3f}.",
            bool(kmeans.accuracy < KMEANS_BELOW),
        ),
        Claim(
            "The density of each cluster is at its mode at least as high as at more than "
            f"{100 * DENSER_THAN:g} % of its points, on the first draw.",
            f"at least as high as at {100 * rank.min():.1f} % of the points, for the lower of both modes.",
            bool(rank.min() > DENSER_THAN),
        ),
        Claim(
            f"The out-of-sample map gives more than {100 * MAPPED_RIGHT:g} % of new points, none of them an outlier, "
            "to the right moon.",
            f"{100 * mapped:.1f} % of {len(fresh)} points.",
            bool(mapped > MAPPED_RIGHT),
        ),
    ]


def mode_ranks(model: Any, X: Array) -> Array:
    """For each cluster, the share of its points that are less dense than its mode."""
    at_points, at_modes = model.density(X), np.diag(model.density(model.cluster_centers_))
    ranks = [np.mean(at_points[model.labels_ == k, k] <= at_modes[k]) for k in range(model.n_clusters)]
    return np.array(ranks)


def draw(X: Array, runs: tuple[Fit, Fit]) -> Figure:
    """The paper's four plots."""
    figure, ((first, second, third, fourth),) = panels(1, 4, height=2.6)
    kmeans, smooth = (run.model for run in runs)
    plot_clusters(kmeans, X, first)
    plot_clusters(smooth, X, second)
    plot_density(smooth, X, None, second, show_points=False)
    plot_assignments(smooth, X, third)
    plot_map(smooth, X, fourth, resolution=300)
    name_panels(figure.axes, ("K-means", "Laplacian K-modes", "Soft assignments", "Out-of-sample map"))
    return figure
