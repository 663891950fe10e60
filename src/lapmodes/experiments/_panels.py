"""Layouts that several figures share: a row of scatter plots, a grid of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._records import Array
from ..plotting import _matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 13.4
"""Inches: about 2,000 pixels."""


def panels(n_rows: int, n_columns: int, height: float) -> tuple[Figure, Any]:
    """A figure without a window, and its panels over the same plane, (n_rows, n_columns)."""
    figure = _matplotlib("figure").Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)


def name_panels(axes: Any, titles: Sequence[str]) -> None:
    """Give each panel a title and take off what a reader does not need."""
    for ax, title in zip(np.ravel(axes), titles, strict=True):
        ax.set_title(title, fontsize=13)
        ax.set(xticks=[], yticks=[])


def mark_bandwidth(ax: Axes, bandwidth: float) -> None:
    """A circle of radius sigma in the upper right corner, as in the paper."""
    x, y = (low + 0.95 * (high - low) for low, high in (ax.get_xlim(), ax.get_ylim()))
    ax.add_patch(_matplotlib("patches").Circle((x, y), bandwidth, fill=False, color="black", linewidth=1))
    ax.text(x - 3 * bandwidth, y, r"$\sigma\,\rightarrow$", ha="right", va="center", fontsize=11)


@dataclass(frozen=True)
class ImageRow:
    """Images side by side, each with a word below it."""

    name: str
    images: Array
    """(n_images, height, width), each shown from black at 0 to white at its brightest pixel."""
    notes: Sequence[str] = ()


def image_grid(rows: Sequence[ImageRow], *, side: float = 0.95, cmap: str = "gray") -> Figure:
    """Rows of images, their names on the left."""
    n_columns = max(len(row.images) for row in rows)
    noted = any(row.notes for row in rows)
    size = (side * n_columns + 1.9, len(rows) * side * (1.22 if noted else 1.03) + 0.1)
    figure = _matplotlib("figure").Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.015, wspace=0.0, hspace=0.0)
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        line[0].set_ylabel(row.name, rotation=0, ha="right", va="center", labelpad=6, fontsize=11)
        for place, ax in enumerate(line):
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if place < len(row.images):
                image = row.images[place]
                ax.imshow(image, cmap=cmap, vmin=0, vmax=image.max() or 1)
                ax.set_xlabel(row.notes[place] if place < len(row.notes) else "", fontsize=9, labelpad=2)
    return figure
