"""Figure 2: five spirals, which K-modes cuts and Laplacian K-modes follows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import DegenerateWarning, KModes, LaplacianKModes
from .._records import Array
from ..plotting import plot_assignments, plot_clusters, plot_density
from .data import make_spirals
from .results import (
    COMMON,
    Claim,
    Fit,
    Picture,
    Result,
    Setting,
    Table,
    fits_table,
    mark_bandwidth,
    name_panels,
    panels,
    right_on_every_draw,
    timed_fit,
)
from .rivals import GaussianMeanShift

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAM, SIGMA = 100.0, 0.2
INTRODUCTION = """Five interleaved spirals of 400 points. K-modes gives each point to the nearest mode, so its \
clusters are convex and cut across the spirals, though its modes lie on them. Laplacian K-modes starts from the same \
K-means result; the Laplacian of a 5-neighbour graph with heat weights carries the assignments along each spiral. λ = \
100, σ = 0.2.

The points are drawn anew for each random state, because those of the paper are not public. The second picture shows \
other λ and σ (σ is also the width of the graph's heat kernel): too narrow a kernel breaks the graph, too wide a one \
lets modes stray to other spirals."""


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    n_draws: int
    lams: tuple[float, ...]
    sigmas: tuple[float, ...]


MOST_RIGHT, MANY_MODES = 0.9, 50
"""Limits of the claims: the accuracy that K-modes stays below, the modes that mean-shift has more than."""
FULL = Scale(10, (1.0, 10.0, 100.0), (0.1, 0.2, 0.3, 0.5))
QUICK = Scale(3, (1.0, 100.0), (0.1, 0.2, 0.3))


def run(setting: Setting) -> Result:
    """The paper's setting on several draws, and other settings on one."""
    scale = QUICK if setting.quick else FULL
    X, y = make_spirals(random_state=0)
    runs = cluster(X, y)
    with setting.progress.phase("figure 2", scale.n_draws - 1 + len(scale.lams) * len(scale.sigmas)) as step:
        others = []
        for seed in range(1, scale.n_draws):
            others.append(
                timed_fit(f"draw {seed}", "Laplacian K-modes", smooth_model().fit, *make_spirals(random_state=seed))
            )
            step()
        grid = []
        for lam in scale.lams:
            for sigma in scale.sigmas:
                grid.append(tolerant_fit(X, y, lam, sigma))
                step()
    return Result(
        "figure2",
        "Figure 2: five spirals",
        INTRODUCTION,
        tables=[fits_table("figure2", runs), settings_table(grid)],
        pictures=[
            Picture(
                "figure2",
                "K-modes; Laplacian K-modes; its soft assignments as mixed colours; the density of one cluster.",
                "Four scatter plots of five spirals: cut by K-modes, one colour each by Laplacian K-modes.",
                draw(X, runs),
            ),
            Picture(
                "figure2_settings",
                "Laplacian K-modes at other settings, with its accuracy.",
                "A grid of scatter plots of the spirals for several lambda and sigma.",
                draw_settings(X, grid, scale),
            ),
        ],
        claims=claims(X, runs, [runs[1], *others]),
    )


def smooth_model(lam: float = LAM, sigma: float = SIGMA) -> LaplacianKModes:
    """The paper's model."""
    return LaplacianKModes(5, lam=lam, bandwidth=sigma, affinity="heat", n_neighbors=5, **COMMON)


def cluster(X: Array, y: Array) -> tuple[Fit, Fit]:
    """K-modes and Laplacian K-modes on the five spirals."""
    return (
        timed_fit("five spirals", "K-modes", KModes(5, bandwidth=SIGMA, **COMMON).fit, X, y),
        timed_fit("five spirals", "Laplacian K-modes", smooth_model().fit, X, y),
    )


def tolerant_fit(X: Array, y: Array, lam: float, sigma: float) -> Fit:
    """A fit that may lose clusters, as happens at large lam and sigma: the picture shows where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        return timed_fit("five spirals", f"λ = {lam:g}, σ = {sigma:g}", smooth_model(lam, sigma).fit, X, y)


def claims(X: Array, runs: tuple[Fit, Fit], draws: Sequence[Fit]) -> list[Claim]:
    """The paper's three statements, in the words of what is checked."""
    kmodes, _ = runs
    modes = GaussianMeanShift(bandwidth=SIGMA).fit(X).n_modes_
    return [
        right_on_every_draw(
            "From a K-means start, Laplacian K-modes puts every point of every draw on the right spiral.", draws
        ),
        Claim(
            f"K-modes, whose clusters are convex, has an accuracy below {MOST_RIGHT:g} on the first draw.",
            f"accuracy {kmodes.accuracy:.3f}.",
            bool(kmodes.accuracy < MOST_RIGHT),
        ),
        Claim(
            f"Mean-shift with the same σ has more than {MANY_MODES} modes on the first draw.",
            f"{modes} modes.",
            modes > MANY_MODES,
        ),
    ]


def settings_table(grid: Sequence[Fit]) -> Table:
    """Accuracy at each setting."""
    rows = [[run.algorithm, f"{run.accuracy:.3f}", len(set(run.model.labels_))] for run in grid]
    return Table("figure2_settings", "Laplacian K-modes at other settings.", ["setting", "accuracy", "clusters"], rows)


def draw(X: Array, runs: tuple[Fit, Fit]) -> Figure:
    """The paper's four plots."""
    figure, ((first, second, third, fourth),) = panels(1, 4, height=3.5)
    kmodes, smooth = (run.model for run in runs)
    plot_clusters(kmodes, X, first)
    plot_clusters(smooth, X, second)
    plot_assignments(smooth, X, third)
    plot_density(smooth, X, 1, fourth, resolution=250)  # a step of about half a bandwidth
    mark_bandwidth(first, kmodes.bandwidth)
    titles = ("K-modes", "Laplacian K-modes", "Soft assignments", "Density of one cluster")
    name_panels(figure.axes, titles)
    return figure


def draw_settings(X: Array, grid: Sequence[Fit], scale: Scale) -> Figure:
    """A row for each lam, a column for each sigma."""
    shape = len(scale.lams), len(scale.sigmas)
    figure, axes = panels(*shape, height=3.6 * shape[0] * 4 / shape[1] * 0.93)
    for ax, each in zip(axes.ravel(), grid, strict=True):
        plot_clusters(each.model, X, ax)
    name_panels(axes, [f"{each.algorithm}: {each.accuracy:.0%}" for each in grid])
    return figure
