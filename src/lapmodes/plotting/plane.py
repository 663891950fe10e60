"""Points in the plane: clusters, soft assignments, densities, certainty, and the map of the plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._records import Array
from ..metrics import assignment_entropy, neighbor_log_density
from .style import (
    GREY,
    YELLOW,
    _checked_cluster,
    _dots,
    _frame,
    _mixed,
    _training_points,
    cluster_colors,
    columns_without_names,
    get_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONTOURS = np.array([0.1, 0.25, 0.45, 0.65, 0.85])
"""Heights of the contours, as parts of a cluster's highest density."""


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
    points, ax = _training_points(model, X), get_axes(ax)
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
    points, ax = _training_points(model, X), get_axes(ax)
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
    points, ax = _training_points(model, X, plane_model=True), get_axes(ax)
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
    points, ax = _training_points(model, X, plane_model=True), get_axes(ax)
    x, y, grid = _grid(points, resolution)
    image = _mixed(_on_grid(model.predict_proba, grid)).reshape(len(y), len(x), 3)
    # Grid points are the centres of the image's pixels.
    dx, dy = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    ax.imshow(image, origin="lower", extent=(x[0] - dx, x[-1] + dx, y[0] - dy, y[-1] + dy), zorder=0)
    _dots(ax, points, YELLOW, size=3)
    return _frame(ax)


def plot_uncertainty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points coloured by how uncertain their assignment is, the most uncertain on top.

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

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.plotting import plot_uncertainty
    >>> X, y = make_moons_with_outliers(200, n_outliers=0, random_state=0)
    >>> ax = plot_uncertainty(LaplacianKModes(2, random_state=0).fit(X), X)
    """
    points, ax = _training_points(model, X), get_axes(ax)
    return _by_value(ax, points, assignment_entropy(model.assignments_), "uncertainty (0 certain, 1 even)", 1)


def plot_crowding(model: Any, X: Any, ax: Axes | None = None, *, features: Any = None) -> Axes:
    """Points coloured by the density around them, the most remote on top.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    X : array-like of shape (n_samples, 2)
        The points it was fitted on, or an embedding of them in the plane.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    features : array-like or CSR matrix of shape (n_samples, n_features), optional
        The points it was fitted on, where X is an embedding: the density is theirs.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.plotting import plot_crowding
    >>> X, y = make_moons_with_outliers(200, n_outliers=0, random_state=0)
    >>> ax = plot_crowding(LaplacianKModes(2, random_state=0).fit(X), X)
    """
    points = _training_points(model, X)
    if features is None and model.n_features_in_ != 2:
        raise ValueError(
            "'features' must be the points that the model was fitted on, as X is an embedding of them. "
            f"Got None; pass the array of {model.n_features_in_} features."
        )
    density = neighbor_log_density(model, points if features is None else features)
    return _by_value(get_axes(ax), points, density, "log density", -1)


def _by_value(ax: Axes, points: Array, values: Array, label: str, top: int) -> Axes:
    """Points coloured by a value, the largest (top=1) or smallest (top=-1) drawn last."""
    order = np.argsort(top * values, kind="stable")
    drawn = ax.scatter(points[order, 0], points[order, 1], s=9, c=values[order], cmap="cividis", linewidths=0, zorder=1)
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return _frame(ax)


def _grid(points: Array, resolution: int) -> tuple[Array, Array, Array]:
    """Coordinates along both sides of the box around the points, 5 % wider, and all grid points by rows."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * ((high - low).max() or 1.0)
    low, high = low - margin, high + margin
    counts = np.maximum(2, np.round(resolution * (high - low) / (high - low).max())).astype(int)
    x, y = (np.linspace(*side) for side in zip(low, high, counts, strict=True))
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _on_grid(method: Callable[[Array], Array], grid: Array) -> Array:
    """What the model says of the grid."""
    with columns_without_names():
        return method(grid)


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
