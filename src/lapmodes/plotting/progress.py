"""How a fit went: convergence, the path, and the choice of the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import PALETTE, fitted_model, get_axes, hide_sides, show_whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .. import Selection


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
    selection.plot(ax)
    return ax


def _step_name(model: Any) -> str:
    """Bandwidth and smoothness of a step; of many bandwidths the mean."""
    width = float(np.mean(model.bandwidth_))
    return f"{'∞' if np.isinf(width) else format(width, '.2g')}, {model.lam_:.2g}"
