"""Points in the plane: clusters, soft assignments, densities, certainty, and the map of the plane.

All functions here take a fitted model, or a scikit-learn pipeline that ends in one, and the points it was fitted on.
Points with more than two columns are projected on their two principal axes, and the modes with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._records import Array
from .._rows import as_dense
from ..metrics import CHUNK_ENTRIES, assignment_entropy, neighbor_log_density
from .style import (
    GREY,
    YELLOW,
    Plane,
    _checked_cluster,
    _dots,
    _frame,
    _mixed,
    cluster_colors,
    columns_without_names,
    get_axes,
    in_plane,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONTOURS = np.array([0.1, 0.25, 0.45, 0.65, 0.85])
"""Heights of the contours, as parts of a cluster's highest density."""


def plot_clusters(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points in the colours of their clusters, and the modes as large triangles.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, 2)
        The points it was fitted on; a pipeline's steps are applied to them. More than two columns are projected on
        their two principal axes. An embedding of your own, in two columns, is drawn as it is, and each mode at its
        exemplar.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.plotting import plot_clusters
    >>> X = load_wine().data
    >>> model = make_pipeline(StandardScaler(), LaplacianKModes(3, random_state=0)).fit(X)
    >>> plot_clusters(model, X).get_xlabel()
    'first principal axis, 36% of the variance'
    """
    plane, ax = in_plane(model, X), get_axes(ax)
    colors = cluster_colors(plane.n_clusters)
    _dots(ax, plane.points, colors[plane.model.labels_])
    x, y = plane.modes.T
    ax.scatter(x, y, s=150, c=colors, marker=">", edgecolors="black", linewidths=1.3, zorder=3)
    return _frame(ax, plane)


def plot_assignments(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points in the mixture of the clusters' colours that their soft assignments give.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, 2)
        The points it was fitted on, or an embedding of them, as in :func:`plot_clusters`.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes
    """
    plane, ax = in_plane(model, X), get_axes(ax)
    _dots(ax, plane.points, _mixed(plane.model.assignments_))
    return _frame(ax, plane)


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
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model; its bandwidth must be finite.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points it was fitted on, as in :func:`plot_clusters`, but no embedding. Where they are projected, so is the
        density: it is summed up along the directions that cannot be seen, without sample weights.
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
    plane, ax = _with_features(in_plane(model, X)), get_axes(ax)
    clusters = range(plane.n_clusters) if cluster is None else [_checked_cluster(plane, cluster)]
    if show_points:
        _dots(ax, plane.points, GREY)
    x, y = _grid_lines(plane.points, resolution)
    densities = _densities(plane, x, y)
    colors = cluster_colors(plane.n_clusters)
    for k in clusters:
        _contours(ax, x, y, densities[:, :, k], colors[k])
    return _frame(ax, plane)


def plot_map(model: Any, X: Any, ax: Axes | None = None, resolution: int = 200) -> Axes:
    """The plane in the mixture of colours of the assignments that new points would get there.

    Not for models fitted on a given graph, as places on the plane are not in it.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points it was fitted on, drawn as small light dots, as in :func:`plot_clusters`, but no embedding. Where
        they are projected, the map shows the plane of the two axes through the mean of all points: points that are
        drawn at the same place lie in front of it or behind it, and may belong to another cluster.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    resolution : int, default=200
        Grid points along the longer side.

    Returns
    -------
    matplotlib Axes
    """
    plane, ax = _with_features(in_plane(model, X)), get_axes(ax)
    x, y = _grid_lines(plane.points, resolution)
    image = np.concatenate([_mixed(plane.model.predict_proba(part)) for part in _grid_parts(plane, x, y)])
    # Grid points are the centres of the image's pixels.
    dx, dy = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - dx, x[-1] + dx, y[0] - dy, y[-1] + dy)
    ax.imshow(image.reshape(len(y), len(x), 3), origin="lower", extent=extent, zorder=0)
    _dots(ax, plane.points, YELLOW, size=3)
    return _frame(ax, plane)


def plot_uncertainty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Points coloured by how uncertain their assignment is, the most uncertain on top.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, 2)
        The points it was fitted on, or an embedding of them, as in :func:`plot_clusters`.
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
    plane = in_plane(model, X)
    entropy = assignment_entropy(plane.model.assignments_)
    return _by_value(get_axes(ax), plane, entropy, "uncertainty (0 certain, 1 even)", 1)


def plot_crowding(model: Any, X: Any, ax: Axes | None = None, *, features: Any = None) -> Axes:
    """Points coloured by the density around them, the most remote on top.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, 2)
        The points it was fitted on, or an embedding of them, as in :func:`plot_clusters`.
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
    plane = in_plane(model, X)
    rows = plane.features if features is None else in_plane(model, features).features
    if rows is None:
        raise ValueError(
            "'features' must be the points that the model was fitted on, as X is an embedding of them. "
            f"Got none; pass the array of {plane.model.n_features_in_} features."
        )
    return _by_value(get_axes(ax), plane, neighbor_log_density(plane.model, rows), "log density", -1)


def _with_features(plane: Plane) -> Plane:
    """The plane, if the model can be asked about its places."""
    if plane.features is None:
        raise ValueError(
            f"'X' must be the points that the model was fitted on, with {plane.model.n_features_in_} columns. Got an "
            "embedding in two columns, on which the model knows nothing; plot_clusters and plot_assignments take it."
        )
    return plane


def _by_value(ax: Axes, plane: Plane, values: Array, label: str, top: int) -> Axes:
    """Points coloured by a value, the largest (top=1) or smallest (top=-1) drawn last."""
    order = np.argsort(top * values, kind="stable")
    x, y = plane.points[order].T
    drawn = ax.scatter(x, y, s=9, c=values[order], cmap="cividis", linewidths=0, zorder=1)
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return _frame(ax, plane)


def _grid_lines(points: Array, resolution: int) -> tuple[Array, Array]:
    """Coordinates along both sides of the box around the points, 5 % wider."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * ((high - low).max() or 1.0)
    low, high = low - margin, high + margin
    counts = np.maximum(2, np.round(resolution * (high - low) / (high - low).max())).astype(int)
    x, y = (np.linspace(*side) for side in zip(low, high, counts, strict=True))
    return x, y


def _grid_parts(plane: Plane, x: Array, y: Array) -> Any:
    """All grid points by rows as the model takes them, some at a time."""
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    step = max(1, CHUNK_ENTRIES // plane.model.n_features_in_)
    with columns_without_names():
        for start in range(0, len(grid), step):
            yield plane.in_feature_space(grid[start : start + step])


def _densities(plane: Plane, x: Array, y: Array) -> Array:
    """The density of each cluster on the grid, (n_rows, n_columns, n_clusters).

    Projected on a plane, a Gaussian is a Gaussian of the same width, and it is a product of one over the columns of
    the grid and one over the rows.
    """
    density = plane.model.density  # which says so where there is none
    if plane.principal is None:
        parts = [density(part) for part in _grid_parts(plane, x, y)]
        return np.concatenate(parts).reshape(len(y), len(x), -1)
    Z = plane.model.assignments_
    width = np.broadcast_to(np.asarray(plane.model.bandwidth_, dtype=np.float64), (Z.shape[0],))
    sums, mass = np.zeros((plane.n_clusters, len(y), len(x))), np.zeros((plane.n_clusters, 1, 1))
    step = max(1, CHUNK_ENTRIES // (len(x) + len(y)))
    for start in range(0, Z.shape[0], step):
        rows = slice(start, start + step)
        across, up = (
            np.exp(-0.5 * np.square((side - plane.points[rows, [i]].reshape(-1, 1)) / width[rows, None]))
            / (np.sqrt(2 * np.pi) * width[rows, None])
            for i, side in enumerate((x, y))
        )
        for k, shares in enumerate(as_dense(Z[rows]).T):
            sums[k] += (up * shares[:, None]).T @ across
            mass[k] += shares.sum()
    return np.moveaxis(sums / np.maximum(mass, np.finfo(float).tiny), 0, -1)


def _contours(ax: Axes, x: Array, y: Array, density: Array, color: Array) -> None:
    """Thin lines over a faint fill, which shows the shape where the lines run close together."""
    top = density.max()
    if top > 0:  # a cluster without mass has no contours
        ax.contourf(x, y, density, levels=[CONTOURS[0] * top, top], colors=[color], alpha=0.2, zorder=2)
        ax.contour(x, y, density, levels=CONTOURS * top, colors=[color], linewidths=0.7, zorder=2)
