"""The homotopy: following solutions along a path in (lam, bandwidth)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._estimator import LaplacianKModes
from ._records import PathPoint
from ._validation import check_parameters
from ._warnings import warn_of_trouble


def fit_path(
    X: Any,
    n_clusters: int = 8,
    *,
    lam: Any = "auto",
    bandwidth: Any = "auto",
    graph: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Iterator[PathPoint]:
    """Follow Laplacian K-modes along a path in (lam, bandwidth), one solution a step.

    The graph is built once and each step is warm-started from the one before, so a long path costs
    little more than a single fit. The path may go in any direction.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : int, default=8
        Number of clusters.
    lam, bandwidth : float or sequence
        Sequences are walked through together; a single value is held fixed. ``bandwidth=numpy.inf``
        with ``lam=0`` is K-means.
    graph, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`. The heat affinity takes the median length of the
        graph's edges as its width.

    Yields
    ------
    PathPoint
        With ``lam``, ``bandwidth`` and ``solution`` (``C`` the modes, ``Z`` the assignments,
        ``labels``, ``objective``, ``gap``, ``history``).

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import fit_path
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> X, y = make_moons_with_outliers(random_state=0)
    >>> path = fit_path(X, 2, lam=1.0, bandwidth=np.geomspace(5, 0.1, 10), affinity="heat", n_neighbors=5,
    ...                 init="k-means", random_state=0)
    >>> [round(point.bandwidth, 2) for point in path]
    [5.0, 3.24, 2.1, 1.36, 0.88, 0.57, 0.37, 0.24, 0.15, 0.1]
    """
    steps = _pairs(lam, bandwidth)
    last_lam, last_bandwidth = steps[-1]
    estimator = LaplacianKModes(n_clusters, lam=last_lam, bandwidth=last_bandwidth, path=steps, **parameters)
    check_parameters(estimator)
    if estimator.n_init != 1:
        raise ValueError("fit_path follows one start: leave 'n_init' at 1, or use LaplacianKModes(path=...).")
    return _warned(estimator._walk(X, graph, sample_weight))


def _warned(path: Iterator[PathPoint]) -> Iterator[PathPoint]:
    """The same points, each with the warnings that its solution deserves."""
    for point in path:
        warn_of_trouble(point.solution)
        yield point


def _pairs(lam: Any, bandwidth: Any) -> list[tuple[Any, Any]]:
    """The steps as (lam, bandwidth); a scalar goes with every step."""
    lams = [lam] if np.ndim(lam) == 0 else list(lam)
    widths = [bandwidth] if np.ndim(bandwidth) == 0 else list(bandwidth)
    if not lams or not widths:
        raise ValueError("'lam' and 'bandwidth' must have at least one value each. Got an empty sequence.")
    if len(lams) > 1 and len(widths) > 1 and len(lams) != len(widths):
        raise ValueError(
            "'lam' and 'bandwidth' must be sequences of the same length, or one of them a single value. "
            f"Got {len(lams)} and {len(widths)} values."
        )
    n = max(len(lams), len(widths))
    lams, widths = lams * (n if len(lams) == 1 else 1), widths * (n if len(widths) == 1 else 1)
    return [
        (one if isinstance(one, str) else float(one), two if isinstance(two, str) else float(two))
        for one, two in zip(lams, widths, strict=True)
    ]
