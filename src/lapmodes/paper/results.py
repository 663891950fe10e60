"""What an experiment gives back, and what several experiments share: timed fits, panels, grids of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import LaplacianKModes, fit_path
from .._progress import Progress
from .._records import Array
from ..metrics import clustering_accuracy
from ..plotting.style import import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 13.4
"""Width of a row of panels in inches: about 2,000 pixels."""
# The problems are small: on a busy machine threads wait for each other longer than they work. The result is
# the same with any number of them.
COMMON: dict[str, Any] = {"init": "k-means", "random_state": 0, "n_jobs": 1}


@dataclass(frozen=True)
class Setting:
    """How an experiment is to be run."""

    quick: bool = False
    """Use smaller data and fewer restarts, so that all experiments together take minutes."""
    folder: Path | None = None
    """Where a long experiment keeps what it has finished, so that it can go on from there; None keeps nothing."""
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True)
class Table:
    """Rows for a CSV file and for the page."""

    name: str
    """Of the file, without its ending."""
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    on_page: bool = True
    """False for a long table that is only written as a file."""


@dataclass(frozen=True)
class Picture:
    """A figure and, for those who cannot see it, what it shows."""

    name: str
    caption: str
    alt: str
    figure: Figure


@dataclass(frozen=True)
class Claim:
    """A statement in the words of what is checked, the measured figure, and whether the statement holds."""

    text: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Result:
    """All that the experiment behind one table or figure of the paper gives."""

    name: str
    title: str
    introduction: str
    """A few sentences for a reader who has not read the paper."""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Fit:
    """A fitted model, how well it agrees with the known classes, and how long the fit took."""

    data: str
    algorithm: str
    model: Any
    accuracy: float
    seconds: float


def timed_fit(
    data: str, algorithm: str, fit: Callable[[Array], Any], X: Array, y: Array, noise: int | None = None
) -> Fit:
    """Call `fit`, which gives a fitted model, and score its labels."""
    began = perf_counter()
    model = fit(X)
    seconds = perf_counter() - began
    return Fit(data, algorithm, model, clustering_accuracy(y, model.labels_, noise=noise), seconds)


def end_of_path(X: Any, n_clusters: int, **parameters: Any) -> LaplacianKModes:
    """The model at the last step of a path; the parameters are those of `fit_path`."""
    *_, last = fit_path(X, n_clusters, **parameters)
    return last


def fits_table(name: str, fits: Sequence[Fit]) -> Table:
    """One row for each fit."""
    rows = [
        [fit.algorithm, f"{fit.accuracy:.3f}", f"{fit.model.objective_:.4g}", f"{fit.model.gap_:.1e}"] for fit in fits
    ]
    header = ["algorithm", "accuracy", "objective", "certified gap"]
    return Table(name, "Accuracy is of points that are not outliers.", header, rows)


def right_on_every_draw(text: str, fits: Sequence[Fit]) -> Claim:
    """The claim that no point (outliers apart) of any draw is in a wrong cluster."""
    right = sum(fit.accuracy == 1 for fit in fits)
    lowest = min(fit.accuracy for fit in fits)
    measured = f"no wrong point on {right} of {len(fits)} draws; lowest accuracy {lowest:.4f}."
    return Claim(text, measured, right == len(fits))


def panels(n_rows: int, n_columns: int, height: float) -> tuple[Figure, Any]:
    """A figure without a window, and its panels over the same plane, (n_rows, n_columns)."""
    figure = import_matplotlib("figure").Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)


def name_panels(axes: Any, titles: Sequence[str]) -> None:
    """Give each panel a title and remove its ticks."""
    for ax, title in zip(np.ravel(axes), titles, strict=True):
        ax.set_title(title, fontsize=13)
        ax.set(xticks=[], yticks=[])


def mark_bandwidth(ax: Axes, bandwidth: float) -> None:
    """Draw a circle of radius sigma in the upper right corner, as in the paper."""
    x, y = (low + 0.95 * (high - low) for low, high in (ax.get_xlim(), ax.get_ylim()))
    ax.add_patch(import_matplotlib("patches").Circle((x, y), bandwidth, fill=False, color="black", linewidth=1))
    ax.text(x - 3 * bandwidth, y, r"$\sigma\,\rightarrow$", ha="right", va="center", fontsize=11)


@dataclass(frozen=True)
class ImageRow:
    """Images side by side, each with a note below it."""

    name: str
    images: Array
    """(n_images, height, width), each shown from black at 0 to white at its brightest pixel."""
    notes: Sequence[str] = ()


def image_grid(rows: Sequence[ImageRow], *, side: float = 0.95) -> Figure:
    """Rows of images, their names on the left."""
    n_columns = max(len(row.images) for row in rows)
    noted = any(row.notes for row in rows)
    size = (side * n_columns + 1.9, len(rows) * side * (1.22 if noted else 1.03) + 0.1)
    figure = import_matplotlib("figure").Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.015, wspace=0.0, hspace=0.0)
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        line[0].set_ylabel(row.name, rotation=0, ha="right", va="center", labelpad=6, fontsize=11)
        for place, ax in enumerate(line):
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if place < len(row.images):
                image = row.images[place]
                ax.imshow(image, cmap="gray", vmin=0, vmax=image.max() or 1)
                ax.set_xlabel(row.notes[place] if place < len(row.notes) else "", fontsize=9, labelpad=2)
    return figure
