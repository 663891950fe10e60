"""Pictures of a fitted model: clusters, modes, soft assignments, densities, the map of the plane, convergence.

Each function draws into `ax` (by default the current axes) and returns it, so that pictures can be laid over
each other and arranged. They share one colour-blind-safe colour for each cluster.
"""

from .clusters import (
    montage,
    plot_assignment_matrix,
    plot_convergence,
    plot_layers,
    plot_modes,
    plot_path,
    plot_selection,
    plot_sizes,
)
from .plane import plot_assignments, plot_clusters, plot_crowding, plot_density, plot_map, plot_uncertainty
from .style import FRAME, GREY, NEEDS_MATPLOTLIB, PALETTE, YELLOW, cluster_colors

__all__ = [
    "FRAME",
    "GREY",
    "NEEDS_MATPLOTLIB",
    "PALETTE",
    "YELLOW",
    "cluster_colors",
    "montage",
    "plot_assignment_matrix",
    "plot_assignments",
    "plot_clusters",
    "plot_convergence",
    "plot_crowding",
    "plot_density",
    "plot_layers",
    "plot_map",
    "plot_modes",
    "plot_path",
    "plot_selection",
    "plot_sizes",
    "plot_uncertainty",
]
