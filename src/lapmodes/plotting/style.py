"""What all plots share: colours, axes, frames, and the points of a fit in the plane."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._records import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDS_MATPLOTLIB = "Plots need matplotlib, which is not installed: pip install 'lapmodes[plot]'"

# Okabe & Ito's colours that stand out from white, in an order that keeps neighbours apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#C4C7CC"
FRAME = "#9AA0A6"
YELLOW = "#FFF3A3"


def cluster_colors(n_clusters: int) -> Array:
    """The colour of each cluster in all plots.

    Parameters
    ----------
    n_clusters : int
        Number of clusters. Beyond six, no set of hues stays apart for all eyes; the colours are then even
        steps of viridis.

    Returns
    -------
    ndarray of shape (n_clusters, 3)
        Red, green and blue between 0 and 1.

    Examples
    --------
    >>> from lapmodes.plotting import cluster_colors
    >>> cluster_colors(3).shape
    (3, 3)
    """
    if n_clusters <= len(PALETTE):
        to_rgb = import_matplotlib("colors").to_rgb
        return np.array([to_rgb(name) for name in PALETTE[:n_clusters]])
    # The very end of viridis is too light on white.
    return np.asarray(import_matplotlib("cm").viridis(np.linspace(0, 0.95, n_clusters))[:, :3])


def import_matplotlib(module: str) -> Any:
    """A module of matplotlib, which is only needed once something is drawn."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(NEEDS_MATPLOTLIB) from error


@contextmanager
def columns_without_names() -> Iterator[None]:
    """Do not warn that an array lacks the column names of the data frame that a model was fitted on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def get_axes(ax: Axes | None) -> Axes:
    """The given axes, or the current ones."""
    return import_matplotlib("pyplot").gca() if ax is None else ax


def _training_points(model: Any, X: Any, *, plane_model: bool = False) -> Array:
    """X as a dense (n_samples, 2) array, one row for each point of the fit."""
    check_is_fitted(model)
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"'X' must have shape (n_samples, 2) to be drawn. Got {points.shape} instead; "
            "use an embedding in two dimensions."
        )
    if len(points) != len(model.labels_):
        raise ValueError(
            f"'X' must be the {len(model.labels_)} points that the model was fitted on. Got {len(points)}."
        )
    if plane_model and model.n_features_in_ != 2:
        raise ValueError(
            f"This plot needs a model fitted on 2 features. Got one fitted on {model.n_features_in_}; "
            "plot_clusters and plot_assignments take an embedding of its points."
        )
    return points


def _checked_cluster(model: Any, cluster: int) -> int:
    if not isinstance(cluster, Integral) or not 0 <= cluster < model.n_clusters:
        raise ValueError(f"'cluster' must be None or an int from 0 to {model.n_clusters - 1}. Got {cluster!r}.")
    return int(cluster)


def _mixed(Z: Any) -> Array:
    """Each row's colour: sum_k z_nk * colour_k."""
    # Rows sum to 1 up to rounding, and matplotlib takes nothing above 1.
    return np.asarray(np.clip(Z @ cluster_colors(Z.shape[1]), 0, 1))


def _dots(ax: Axes, points: Array, color: Any, size: float = 7) -> None:
    ax.scatter(points[:, 0], points[:, 1], s=size, c=color, linewidths=0, zorder=1)


def hide_sides(ax: Axes, *sides: str) -> None:
    """Leave out sides of the frame."""
    for side in sides:
        ax.spines[side].set_visible(False)


def show_whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    axis.set_major_locator(import_matplotlib("ticker").MaxNLocator(integer=True, min_n_ticks=1))


def _frame(ax: Axes) -> Axes:
    """The frame of a plot of the plane: one unit is as long in both directions."""
    ax.set_aspect("equal")
    for spine in ax.spines.values():
        spine.set_color(FRAME)
    ax.tick_params(colors=FRAME, labelsize=8)
    return ax
