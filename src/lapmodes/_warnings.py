"""Warnings that name what went wrong, why, and what to do, and point at the user's own line."""

from __future__ import annotations

import os
import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

from ._records import Solution

LIBRARIES = tuple(os.sep + name + os.sep for name in ("lapmodes", "sklearn"))


class DegenerateWarning(UserWarning):
    """The result is valid but not what was asked for: a cluster died, or part of the data was out of reach."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside this library and scikit-learn."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and any(name in frame.f_code.co_filename for name in LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_trouble(solution: Solution) -> None:
    """Say what kept a solution from being what was asked for."""
    if not solution.converged and not solution.stopped:
        warn(
            f"The alternation did not rest within {solution.n_iter} iterations (last movement "
            f"{solution.history['moved'][-1]:.2e}). Raise 'max_iter' or 'tol'.",
            ConvergenceWarning,
        )
    if not solution.certified:
        warn(
            f"The last assignment step ended with a gap of {solution.gap:.2e}, more than asked for: a long graph or "
            "large 'lam'. The assignments are valid; use a smaller 'lam' or a larger 'tol' for a tighter proof.",
            ConvergenceWarning,
        )
    if solution.empty:
        warn(
            f"Clusters {solution.empty} ended without any point: 'lam' is too large for their modes to hold "
            "their neighbourhood, two modes started in one cluster, or there are too few distinct points. Use a "
            "smaller 'lam', another 'init', or fewer clusters.",
            DegenerateWarning,
        )
    unlit = int(solution.unlit.sum())
    if unlit:
        warn(
            f"{unlit} of {solution.unlit.size} points lie in parts of the graph that no mode's kernel reaches; they "
            "went to the cluster of the nearest point elsewhere. Use more 'n_neighbors' or a larger 'bandwidth'.",
            DegenerateWarning,
        )
