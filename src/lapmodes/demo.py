"""The paper's figures 2 and 3 on synthetic data: ``python -m lapmodes.demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import KModes, LaplacianKModes
from ._records import Array
from .datasets import make_moons_with_outliers, make_spirals
from .metrics import clustering_accuracy
from .plotting import (
    NEEDS_MATPLOTLIB,
    plot_assignments,
    plot_clusters,
    plot_density,
    plot_map,
)

OUTLIER = 2
"""The label of outliers in the moons' classes."""
DPI = 150
WIDTH = 13.4
"""Inches: about 2,000 pixels."""
# The problems are small: on a busy machine threads wait for each other longer than they work. The result is
# the same with any number of them.
COMMON: dict[str, Any] = {"init": "k-means", "random_state": 0, "n_jobs": 1}


@dataclass(frozen=True)
class Run:
    """A fitted model and how well and how fast it did."""

    data: str
    algorithm: str
    model: Any
    accuracy: float
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """Cluster both sets, draw both figures, print a table; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m lapmodes.demo", description="Draw the paper's figures 2 and 3.")
    parser.add_argument("--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    output: Path = parser.parse_args(argv).output
    try:
        import matplotlib  # noqa: F401 - say so before the work, not after it
    except ImportError:
        print(NEEDS_MATPLOTLIB, file=sys.stderr)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    X, y = make_spirals(random_state=0)
    spirals = cluster_spirals(X, y)
    draw_spirals(X, spirals, output / "figure2_spirals.png")
    X, y = make_moons_with_outliers(random_state=0)
    moons = cluster_moons(X, y)
    draw_moons(X, moons, output / "figure3_moons.png")
    print(table([*spirals, *moons]))
    print(f"\nPictures: {output / 'figure2_spirals.png'} and {output / 'figure3_moons.png'}")
    return 0


def cluster_spirals(X: Array, y: Array) -> tuple[Run, Run]:
    """K-modes and Laplacian K-modes on the five spirals."""
    smooth = LaplacianKModes(5, lam=100, bandwidth=0.2, affinity="heat", n_neighbors=5, **COMMON)
    return (
        timed_fit("five spirals", "K-modes", KModes(5, bandwidth=0.2, **COMMON), X, y),
        timed_fit("five spirals", "Laplacian K-modes", smooth, X, y),
    )


def cluster_moons(X: Array, y: Array) -> tuple[Run, Run]:
    """K-means and Laplacian K-modes, in homotopy, on the noisy moons."""
    path = [(1.0, float(width)) for width in np.geomspace(5, 0.1, 10)]
    smooth = LaplacianKModes(2, lam=1, bandwidth=0.1, path=path, affinity="heat", n_neighbors=5, **COMMON)
    return (
        timed_fit("noisy two moons", "K-means", KModes(2, bandwidth=np.inf, **COMMON), X, y, noise=OUTLIER),
        timed_fit("noisy two moons", "Laplacian K-modes", smooth, X, y, noise=OUTLIER),
    )


def timed_fit(data: str, algorithm: str, model: Any, X: Array, y: Array, noise: int | None = None) -> Run:
    """Fit a model and score it."""
    began = perf_counter()
    model.fit(X)
    seconds = perf_counter() - began
    return Run(data, algorithm, model, clustering_accuracy(y, model.labels_, noise=noise), seconds)


def draw_spirals(X: Array, runs: tuple[Run, Run], file: Path) -> None:
    """Figure 2 of the paper."""
    figure, panels = row_of_panels(height=3.5)
    kmodes, smooth = (run.model for run in runs)
    plot_clusters(kmodes, X, panels[0])
    plot_clusters(smooth, X, panels[1])
    plot_assignments(smooth, X, panels[2])
    plot_density(smooth, X, 1, panels[3], resolution=250)  # a step of about half a bandwidth
    mark_bandwidth(panels[0], kmodes.bandwidth)
    titles = ("K-modes", "Laplacian K-modes", "Soft assignments", "Density of one cluster")
    save(figure, panels, titles, file)


def draw_moons(X: Array, runs: tuple[Run, Run], file: Path) -> None:
    """Figure 3 of the paper."""
    figure, panels = row_of_panels(height=2.6)
    kmeans, smooth = (run.model for run in runs)
    plot_clusters(kmeans, X, panels[0])
    plot_clusters(smooth, X, panels[1])
    plot_density(smooth, X, None, panels[1], show_points=False)
    plot_assignments(smooth, X, panels[2])
    plot_map(smooth, X, panels[3], resolution=300)
    save(figure, panels, ("K-means", "Laplacian K-modes", "Soft assignments", "Out-of-sample map"), file)


def row_of_panels(height: float) -> tuple[Any, Any]:
    """A figure without a window: it is only ever written to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(1, 4, sharex=True, sharey=True)


def mark_bandwidth(ax: Any, bandwidth: float) -> None:
    """A circle of radius sigma in the upper right corner, as in the paper."""
    from matplotlib.patches import Circle

    x, y = (low + 0.95 * (high - low) for low, high in (ax.get_xlim(), ax.get_ylim()))
    ax.add_patch(Circle((x, y), bandwidth, fill=False, color="black", linewidth=1))
    ax.text(x - 3 * bandwidth, y, r"$\sigma\,\rightarrow$", ha="right", va="center", fontsize=11)


def save(figure: Any, panels: Any, titles: Sequence[str], file: Path) -> None:
    """Name the panels, take off what a reader does not need, and write the picture."""
    for ax, title in zip(panels, titles, strict=True):
        ax.set_title(title, fontsize=13)
        ax.set(xticks=[], yticks=[])
    figure.savefig(file, dpi=DPI, bbox_inches="tight", pad_inches=0.05)


def table(runs: Sequence[Run]) -> str:
    """One aligned line a run."""
    head = f"{'data':<16} {'algorithm':<18} {'accuracy':>8} {'objective':>10} {'gap':>8} {'seconds':>8}"
    lines = [
        f"{run.data:<16} {run.algorithm:<18} {run.accuracy:>8.3f} {run.model.objective_:>10.3f} "
        f"{run.model.gap_:>8.1e} {run.seconds:>8.2f}"
        for run in runs
    ]
    return "\n".join([head, "-" * len(head), *lines, "", "Accuracy on the moons is of inliers only."])


if __name__ == "__main__":
    raise SystemExit(main())
