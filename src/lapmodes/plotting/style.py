"""What all plots share: colours, axes, frames, and the points of a fit in the plane."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._records import Array
from .._rows import as_dense
from .layout import PrincipalAxes, principal_axes

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


@dataclass(frozen=True)
class Plane:
    """A fitted model and the points of its fit on two axes."""

    model: Any
    """The model itself; of a pipeline, its last step."""
    features: Any
    """The points as the model sees them; None where only an embedding of them was given."""
    points: Array
    """(n_samples, 2)."""
    modes: Array
    """(n_clusters, 2); on an embedding, the places of the exemplars."""
    principal: PrincipalAxes | None = None
    """The axes that the points are projected on; None where nothing is projected."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.modes)

    def in_feature_space(self, places: Array) -> Array:
        """Places of the plane as points that the model takes."""
        return places if self.principal is None else self.principal.lift(places)


def fitted_model(model: Any) -> Any:
    """A fitted model; of a scikit-learn pipeline, its last step."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    check_is_fitted(last)
    return last


def names_of_features(model: Any) -> Any:
    """The names of the columns that a model was fitted on, in a pipeline those that its last step sees; or None."""
    last = fitted_model(model)
    if last is model or hasattr(last, "feature_names_in_") or not hasattr(model, "feature_names_in_"):
        return getattr(last, "feature_names_in_", None)
    with suppress(AttributeError):  # not every step can name what it makes
        return model[:-1].get_feature_names_out()
    return None


def in_plane(model: Any, X: Any) -> Plane:
    """The points of a fit in the plane: as they are, by an embedding that was given, or on their principal axes.

    The steps of a pipeline before the model are applied to X first, unless X is an embedding.
    """
    last, shape = fitted_model(model), np.shape(X)
    is_embedding = len(shape) == 2 and shape[1] == 2 and getattr(model, "n_features_in_", None) != 2
    if last is not model and not is_embedding and len(model.steps) > 1:
        X = model[:-1].transform(X)
    points = _checked_points(last, X)
    if is_embedding:
        flat = as_dense(points)
        return Plane(last, None, flat, flat[last.exemplars_])
    modes = np.asarray(last.cluster_centers_, dtype=np.float64)
    if last.metric == "cosine":
        from sklearn.preprocessing import normalize

        points = normalize(points)
    if points.shape[1] == 2:
        return Plane(last, points, as_dense(points), modes)
    principal = principal_axes(points)
    return Plane(last, points, principal.project(points), principal.project(modes), principal)


def _checked_points(model: Any, X: Any) -> Any:
    """X as an array or sparse matrix of at least two columns, one row for each point of the fit."""
    points = X if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    wanted = model.n_features_in_
    if points.ndim != 2 or points.shape[1] not in (2, wanted):
        raise ValueError(
            f"'X' must have the {wanted} columns that the model was fitted on, or be an embedding of them in two "
            f"columns. Got shape {points.shape} instead."
        )
    if points.shape[1] == 1:
        raise ValueError("'X' must have at least two columns to be drawn in the plane. Got 1; a histogram shows it.")
    if points.shape[0] != len(model.labels_):
        raise ValueError(
            f"'X' must be the {len(model.labels_)} points that the model was fitted on. Got {points.shape[0]}."
        )
    return points


def _checked_cluster(plane: Plane, cluster: int) -> int:
    if not isinstance(cluster, Integral) or not 0 <= cluster < plane.n_clusters:
        raise ValueError(f"'cluster' must be None or an int from 0 to {plane.n_clusters - 1}. Got {cluster!r}.")
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


def _frame(ax: Axes, plane: Plane) -> Axes:
    """The frame of a plot of the plane: one unit is as long in both directions, and projected axes say so."""
    ax.set_aspect("equal")
    for spine in ax.spines.values():
        spine.set_color(FRAME)
    ax.tick_params(colors=FRAME, labelsize=8)
    if plane.principal is not None:
        shares = plane.principal.shares
        for name, which, share in zip(("xlabel", "ylabel"), ("first", "second"), shares, strict=True):
            ax.set(**{name: f"{which} principal axis, {share:.0%} of the variance"})
    return ax
