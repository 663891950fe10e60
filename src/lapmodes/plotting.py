"""Pictures of a fitted model: clusters, soft assignments, densities, the map of the plane, convergence.

Each function draws into `ax` (by default the current axes) and returns it, so that pictures can be laid over
each other and arranged. They share one colour-blind-safe colour for each cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._records import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDS_MATPLOTLIB = "Plots need matplotlib, which is not installed: pip install 'lapmodes[plot]'"

# Okabe & Ito's colours that stand out from white, in an order that keeps neighbours apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#C4C7CC"
FRAME = "#9AA0A6"
YELLOW = "#FFF3A3"
CONTOURS = np.array([0.1, 0.25, 0.45, 0.65, 0.85])
"""Heights of the contours, as parts of a cluster's highest density."""


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
        to_rgb = _matplotlib("colors").to_rgb
        return np.array([to_rgb(name) for name in PALETTE[:n_clusters]])
    # The very end of viridis is too light on white.
    return np.asarray(_matplotlib("cm").viridis(np.linspace(0, 0.95, n_clusters))[:, :3])


def plot_clusters(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points in the colours of their clusters, and the modes as large triangles.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    X : array-like of shape (n_samples, 2)
        The points it was fitted on. For data of more features, an embedding of them in the plane: each mode
        is then drawn at its exemplar.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.plotting import plot_clusters
    >>> X, y = make_moons_with_outliers(200, n_outliers=0, random_state=0)
    >>> ax = plot_clusters(LaplacianKModes(2, random_state=0).fit(X), X)
    """
    points, ax = _training_points(model, X), _axes(ax)
    colors = cluster_colors(model.n_clusters)
    _dots(ax, points, colors[model.labels_])
    _modes(ax, model, points, colors)
    return _frame(ax)


def plot_assignments(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points in the mixture of the clusters' colours that their soft assignments give.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    X : array-like of shape (n_samples, 2)
        The points it was fitted on, or an embedding of them in the plane.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes
    """
    points, ax = _training_points(model, X), _axes(ax)
    _dots(ax, points, _mixed(model.assignments_))
    return _frame(ax)


def plot_density(
    model: Any,
    X: Any,
    cluster: int | None = None,
    ax: Axes | None = None,
    *,
    show_points: bool = True,
    resolution: int = 200,
) -> Axes:
    """Contours of the density of one cluster, or of all, over the points in grey.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted on data with two features
        The model; its bandwidth must be finite.
    X : array-like of shape (n_samples, 2)
        The points it was fitted on.
    cluster : int or None, default=None
        Number of the cluster; None draws all, each in its colour.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    show_points : bool, default=True
        Draw the points; False to lay contours over another plot.
    resolution : int, default=200
        Grid points along the longer side.

    Returns
    -------
    matplotlib Axes
    """
    points, ax = _training_points(model, X, plane_model=True), _axes(ax)
    clusters = range(model.n_clusters) if cluster is None else [_checked_cluster(model, cluster)]
    if show_points:
        _dots(ax, points, GREY)
    x, y, grid = _grid(points, resolution)
    densities = _on_grid(model.density, grid).reshape(len(y), len(x), -1)
    colors = cluster_colors(model.n_clusters)
    for k in clusters:
        _contours(ax, x, y, densities[:, :, k], colors[k])
    return _frame(ax)


def plot_map(model: Any, X: Any, ax: Axes | None = None, resolution: int = 200) -> Axes:
    """The plane in the mixture of colours of the assignments that new points would get there.

    Not for models fitted on a given graph, as places on the plane are not in it.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted on data with two features
        The model.
    X : array-like of shape (n_samples, 2)
        The points it was fitted on, drawn as small light dots.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    resolution : int, default=200
        Grid points along the longer side.

    Returns
    -------
    matplotlib Axes
    """
    points, ax = _training_points(model, X, plane_model=True), _axes(ax)
    x, y, grid = _grid(points, resolution)
    image = _mixed(_on_grid(model.predict_proba, grid)).reshape(len(y), len(x), 3)
    # Grid points are the centres of the image's pixels.
    dx, dy = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    ax.imshow(image, origin="lower", extent=(x[0] - dx, x[-1] + dx, y[0] - dy, y[-1] + dy), zorder=0)
    _dots(ax, points, YELLOW, size=3)
    return _frame(ax)


def plot_convergence(model: Any, ax: Axes | None = None) -> Axes:
    """Objective (left axis) and certified gap (right axis) over the alternations of the last fit.

    With a `path`, these are the alternations of its last step.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default. A twin of it carries the gap.

    Returns
    -------
    matplotlib Axes
        The axes of the objective.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    objective_color, gap_color = PALETTE[:2]
    steps = np.arange(1, len(model.history_) + 1)
    gap_ax = ax.twinx()
    ax.plot(steps, model.history_["objective"], "o-", color=objective_color)
    gap_ax.plot(steps, model.history_["gap"], "s--", color=gap_color)
    if (model.history_["gap"] > 0).all():
        gap_ax.set_yscale("log")
    else:  # without smoothing each step is exact and the gap is 0
        gap_ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("alternation")
    ax.set_ylabel("objective", color=objective_color)
    gap_ax.set_ylabel("certified gap", color=gap_color)
    for side in (ax, gap_ax):
        side.spines["top"].set_visible(False)
    return ax


def _matplotlib(module: str) -> Any:
    """A module of matplotlib, which is only needed once something is drawn."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(NEEDS_MATPLOTLIB) from error


def _axes(ax: Axes | None) -> Axes:
    return _matplotlib("pyplot").gca() if ax is None else ax


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


def _mixed(Z: Array) -> Array:
    """Each row's colour: sum_k z_nk * colour_k."""
    # Rows sum to 1 up to rounding, and matplotlib takes nothing above 1.
    return np.asarray(np.clip(Z @ cluster_colors(Z.shape[1]), 0, 1))


def _grid(points: Array, resolution: int) -> tuple[Array, Array, Array]:
    """Coordinates along both sides of the box around the points, 5 % wider, and all grid points by rows."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * ((high - low).max() or 1.0)
    low, high = low - margin, high + margin
    counts = np.maximum(2, np.round(resolution * (high - low) / (high - low).max())).astype(int)
    x, y = (np.linspace(*side) for side in zip(low, high, counts, strict=True))
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _on_grid(method: Callable[[Array], Array], grid: Array) -> Array:
    """What the model says of the grid, without a warning that its columns lack the data frame's names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return method(grid)


def _dots(ax: Axes, points: Array, color: Any, size: float = 7) -> None:
    ax.scatter(points[:, 0], points[:, 1], s=size, c=color, linewidths=0, zorder=1)


def _contours(ax: Axes, x: Array, y: Array, density: Array, color: Array) -> None:
    """Thin lines over a faint fill, which shows the shape where the lines run close together."""
    top = density.max()
    if top > 0:  # a cluster without mass has no contours
        ax.contourf(x, y, density, levels=[CONTOURS[0] * top, top], colors=[color], alpha=0.2, zorder=2)
        ax.contour(x, y, density, levels=CONTOURS * top, colors=[color], linewidths=0.7, zorder=2)


def _modes(ax: Axes, model: Any, points: Array, colors: Array) -> None:
    """The paper's triangles, at the modes or, on an embedding, at the points nearest to them."""
    modes = model.cluster_centers_ if model.n_features_in_ == 2 else points[model.exemplars_]
    ax.scatter(modes[:, 0], modes[:, 1], s=150, c=colors, marker=">", edgecolors="black", linewidths=1.3, zorder=3)


def _frame(ax: Axes) -> Axes:
    ax.set_aspect("equal")
    for spine in ax.spines.values():
        spine.set_color(FRAME)
    ax.tick_params(colors=FRAME, labelsize=8)
    return ax
