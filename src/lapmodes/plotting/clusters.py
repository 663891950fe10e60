"""Clusters as such (sizes, modes, assignments, levels), and how a fit went (convergence, the path, the choice of K)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._records import Array
from .._rows import as_dense
from .style import (
    FRAME,
    PALETTE,
    cluster_colors,
    fitted_model,
    get_axes,
    hide_sides,
    names_of_features,
    show_whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .. import Layers, Selection

GAP = 1
"""Pixels between pictures."""
WIDE = 0.04
"""Share of the samples from which on a bar has room for a number."""
LUMINANCE = (0.299, 0.587, 0.114)
"""How bright red, green and blue look."""


def plot_sizes(model: Any, ax: Axes | None = None) -> Axes:
    """A bar for the number of points in each cluster.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.plotting import plot_sizes
    >>> ax = plot_sizes(LaplacianKModes(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1], [5.2]]))
    """
    model, ax = fitted_model(model), get_axes(ax)
    n_clusters = len(model.cluster_centers_)
    counts = np.bincount(model.labels_, minlength=n_clusters)
    bars = ax.barh(np.arange(n_clusters), counts, color=cluster_colors(n_clusters), height=0.7)
    if n_clusters <= 30:
        ax.bar_label(bars, [f"{count:,}" for count in counts], padding=3, fontsize=9)
    ax.invert_yaxis()
    show_whole_numbers(ax.yaxis)
    ax.set(xlabel="points", ylabel="cluster")
    hide_sides(ax, "top", "right")
    return ax


def plot_modes(
    model: Any,
    image_shape: tuple[int, ...] | None = None,
    ax: Axes | None = None,
    *,
    feature_names: Sequence[str] | None = None,
) -> Axes:
    """The modes side by side: as pictures, or as a line over the features for each.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    image_shape : tuple, optional
        (height, width) or (height, width, 3), where points are pictures.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    feature_names : sequence of str, optional
        Names along the axis of the features; those of the fit by default. The modes of a pipeline are drawn as its
        last step sees them.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapmodes import KModes
    >>> from lapmodes.plotting import plot_modes
    >>> X = load_digits(n_class=3).data
    >>> ax = plot_modes(KModes(3, random_state=0).fit(X), (8, 8))
    """
    ax = get_axes(ax)
    C = np.asarray(fitted_model(model).cluster_centers_, dtype=np.float64)
    if image_shape is None:
        return _mode_lines(ax, C, names_of_features(model) if feature_names is None else feature_names)
    if int(np.prod(image_shape)) != C.shape[1]:
        raise ValueError(f"'image_shape' must have {C.shape[1]} pixels, one a feature. Got {image_shape} instead.")
    picture = montage(C.reshape(len(C), *image_shape))
    ax.imshow(np.clip((picture - C.min()) / (np.ptp(C) or 1), 0, 1), cmap="gray", vmin=0, vmax=1)
    ax.set_axis_off()
    return ax


def plot_assignment_matrix(model: Any, ax: Axes | None = None) -> Axes:
    """The soft assignments as a matrix, points sorted by cluster and certainty: blocks where clusters are clear.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.plotting import plot_assignment_matrix
    >>> ax = plot_assignment_matrix(LaplacianKModes(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]]))
    """
    model, ax = fitted_model(model), get_axes(ax)
    Z = as_dense(model.assignments_)
    order = np.lexsort((-Z.max(axis=1), model.labels_))
    ax.imshow(Z[order].T, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
    show_whole_numbers(ax.yaxis)
    ax.set(xlabel="points, sorted by cluster", ylabel="cluster")
    for spine in ax.spines.values():
        spine.set_color(FRAME)
    return ax


def plot_layers(layers: Layers, ax: Axes | None = None) -> Axes:
    """The tree of several levels: a bar for each cluster, as wide as it has samples, below that of its parent.

    Parameters
    ----------
    layers : lapmodes.Layers
        What :func:`lapmodes.fit_layers` returns.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import fit_layers
    >>> from lapmodes.plotting import plot_layers
    >>> ax = plot_layers(fit_layers([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]], [2, 3], random_state=0))
    """
    ax, table, levels = get_axes(ax), layers.table, list(layers.n_clusters)
    top = np.cumsum(table["parent"] < 0) - 1  # each cluster has the colour of its branch, paler from level to level
    for level, K in enumerate(levels):
        rows = table["n_clusters"] == K
        sizes = table["size"][rows]
        left = np.cumsum(sizes) - sizes
        colors = 1 - (1 - cluster_colors(levels[0])[top[rows]]) * max(0.9 - 0.15 * level, 0.3)
        ax.barh(np.full(K, level), sizes, left=left, color=colors, height=0.92, edgecolor="white", linewidth=1)
        for i in np.flatnonzero(sizes >= WIDE * len(layers.labels)):
            ink = "black" if colors[i] @ LUMINANCE > 0.45 else "white"
            ax.text(left[i] + sizes[i] / 2, level, f"{sizes[i]:,}", ha="center", va="center", fontsize=8, color=ink)
    ax.set_yticks(range(len(levels)), [f"{K} clusters" for K in levels])
    ax.invert_yaxis()
    ax.set(xlim=(0, len(layers.labels)), xlabel="samples")
    hide_sides(ax, "top", "right", "left")
    ax.tick_params(axis="y", length=0)
    return ax


def montage(pictures: Array) -> Array:
    """Pictures in rows, about twice as wide as high, on white.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width) or (n, height, width, 3)
        The pictures.

    Returns
    -------
    ndarray
        One picture of them all.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes.plotting import montage
    >>> montage(np.zeros((8, 10, 10))).shape
    (21, 43)
    """
    n, height, width = pictures.shape[:3]
    columns = min(n, int(np.ceil(np.sqrt(2 * n * height / width))))
    rows = -(-n // columns)
    shape = (rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, *pictures.shape[3:])
    canvas = np.full(shape, pictures.max())
    for i, picture in enumerate(pictures):
        top, left = (i // columns) * (height + GAP), (i % columns) * (width + GAP)
        canvas[top : top + height, left : left + width] = picture
    return canvas


def _mode_lines(ax: Axes, C: Array, names: Sequence[str] | None) -> Axes:
    """A line for each mode over the features."""
    for k, color in enumerate(cluster_colors(len(C))):
        ax.plot(C[k], "o-" if C.shape[1] <= 40 else "-", color=color, linewidth=1.5, markersize=4, label=f"cluster {k}")
    if names is not None and len(names) <= 40:
        ax.set_xticks(np.arange(len(names)), list(names), rotation=45, ha="right", fontsize=9)
    else:
        ax.set_xlabel("feature")
    if len(C) <= 12:
        ax.legend(frameon=False, fontsize=9)
    hide_sides(ax, "top", "right")
    return ax


def plot_convergence(model: Any, ax: Axes | None = None) -> Axes:
    """Objective (left axis) and certified gap (right axis) over the alternations of the last fit.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted, or a Pipeline that ends in one
        The model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default. A twin of it carries the gap.

    Returns
    -------
    matplotlib Axes
        The axes of the objective.
    """
    model, ax = fitted_model(model), get_axes(ax)
    objective_color, gap_color = PALETTE[:2]
    steps = np.arange(1, len(model.history_) + 1)
    gap_ax = ax.twinx()
    ax.plot(steps, model.history_["objective"], "o-", color=objective_color)
    gap_ax.plot(steps, model.history_["gap"], "s--", color=gap_color)
    if (model.history_["gap"] > 0).all():
        gap_ax.set_yscale("log")
    else:  # without smoothing each step is exact and the gap is 0
        gap_ax.set_ylim(bottom=0)
    show_whole_numbers(ax.xaxis)
    ax.set_xlabel("alternation")
    ax.set_ylabel("objective", color=objective_color)
    gap_ax.set_ylabel("certified gap", color=gap_color)
    for each in (ax, gap_ax):
        hide_sides(each, "top")
    return ax


def plot_path(path: Iterable[Any], ax: Axes | None = None) -> Axes:
    """How many points change their cluster at each step of a homotopy, over the bandwidth.

    Parameters
    ----------
    path : iterable of fitted models
        What :func:`lapmodes.fit_path` yields.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default. A twin of it carries the objective.

    Returns
    -------
    matplotlib Axes
        The axes of the changes.

    Examples
    --------
    >>> from lapmodes import fit_path
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.plotting import plot_path
    >>> X, y = make_moons_with_outliers(200, n_outliers=0, random_state=0)
    >>> ax = plot_path(fit_path(X, 2, n_steps=5, random_state=0))
    """
    models = list(path)
    ax = get_axes(ax)
    changed = [0, *(int((a.labels_ != b.labels_).sum()) for a, b in pairwise(models))]
    steps = np.arange(1, len(models) + 1)
    changes_color, objective_color = PALETTE[1], PALETTE[0]
    ax.bar(steps, changed, color=changes_color, width=0.6)
    ax.set_ylabel("points that change their cluster", color=changes_color)
    ax.set_xticks(steps, [_step_name(model) for model in models], rotation=45, ha="right", fontsize=8)
    ax.set_xlabel("bandwidth, smoothness")
    objective_ax = ax.twinx()
    # With infinite bandwidth the objective is another one.
    finite = np.array([bool(np.isfinite(model.bandwidth_).all()) for model in models], dtype=bool)
    objectives = np.array([model.objective_ for model in models])
    objective_ax.plot(steps[finite], objectives[finite], "o-", color=objective_color)
    objective_ax.set_ylabel("objective", color=objective_color)
    for each in (ax, objective_ax):
        hide_sides(each, "top")
    return ax


def plot_selection(selection: Selection, ax: Axes | None = None) -> Axes:
    """The criteria over the numbers of clusters that were compared, the recommended one marked.

    Parameters
    ----------
    selection : lapmodes.Selection
        What :func:`lapmodes.select` returns.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes import select
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.plotting import plot_selection
    >>> X, y = make_moons_with_outliers(200, n_outliers=0, random_state=0)
    >>> ax = plot_selection(select(X, range(2, 5), random_state=0))
    """
    ax = get_axes(ax)
    table = selection.table[np.unique(selection.table["n_clusters"], return_index=True)[1]]
    for name in selection.preferred:
        line = ax.plot(table["n_clusters"], np.clip(table[name], 0, 1), marker="o", label=name)[0]
        if name == "stability":
            low, high = table[name] - table["spread"], table[name] + table["spread"]
            ax.fill_between(table["n_clusters"], low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.axvline(selection.n_clusters, color="0.7", linewidth=1, zorder=0)
    ax.set(xlabel="number of clusters", ylabel="criterion", ylim=(-0.03, 1.03))
    ax.legend(frameon=False)
    return ax


def _step_name(model: Any) -> str:
    """Bandwidth and smoothness of a step; of many bandwidths the mean."""
    width = float(np.mean(model.bandwidth_))
    return f"{'∞' if np.isinf(width) else format(width, '.2g')}, {model.lam_:.2g}"
