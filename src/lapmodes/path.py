"""The homotopy: following solutions along a path in (lam, bandwidth)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ._estimator import LaplacianKModes
from ._fit import solve
from ._predict import Trained
from ._progress import watch
from ._settings import CONSTRAINTS, check_parameters, is_number
from ._validation import parameter_error
from ._warnings import warn_of


def fit_path(
    X: Any,
    n_clusters: int = 8,
    *,
    lam: Any = "auto",
    bandwidth: Any = "auto",
    n_steps: int | None = None,
    graph: Any = None,
    neighbors: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Iterator[LaplacianKModes]:
    """Follow Laplacian K-modes along a path in (lam, bandwidth): a fitted model for each step.

    The graph is built once and each step is warm-started from the one before, so a long path costs
    little more than a single fit. The path may go in any direction.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : int, default=8
        Number of clusters.
    lam, bandwidth : float, 'auto' or sequence
        Sequences are gone through together; a single value is held fixed. ``bandwidth=numpy.inf``
        with ``lam=0`` is K-means.
    n_steps : int, optional
        With single values: K-means, then geometric steps from the spread of the data to `bandwidth` and from a
        hundredth of `lam` to `lam`, this many in all.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`. The heat affinity takes the median length of the
        graph's edges as its width.

    Yields
    ------
    LaplacianKModes
        Fitted at this step: its `lam_` and `bandwidth_` are those of the step.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import fit_path
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> X, y = make_moons_with_outliers(random_state=0)
    >>> path = fit_path(X, 2, lam=1.0, bandwidth=np.geomspace(5, 0.1, 10), affinity="heat", n_neighbors=5,
    ...                 init="k-means", random_state=0)
    >>> [round(model.bandwidth_, 2) for model in path]
    [5.0, 3.24, 2.1, 1.36, 0.88, 0.57, 0.37, 0.24, 0.15, 0.1]
    """
    pairs = _pairs(lam, bandwidth)
    estimator = LaplacianKModes(n_clusters, lam=pairs[-1][0], bandwidth=pairs[-1][1], **parameters)
    for one, two in pairs:
        values = {name: getattr(estimator, name) for name in CONSTRAINTS}
        check_parameters("fit_path", values | {"lam": one, "bandwidth": two})
    if estimator.n_init != 1:
        raise ValueError("fit_path follows one start: leave 'n_init' at 1.")
    if n_steps is not None and (not is_number(n_steps, Integral, 2) or len(pairs) > 1):
        expected = "None, or an int of at least 2 with a single 'lam' and a single 'bandwidth'"
        raise parameter_error("fit_path", "n_steps", expected, n_steps)
    data = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
    return _follow(estimator, X, data, pairs if n_steps is None else int(n_steps))


def _follow(estimator: LaplacianKModes, X: Any, data: dict[str, Any], steps: Any) -> Iterator[LaplacianKModes]:
    """A fitted copy of the estimator for each step."""
    with watch(estimator, estimator.verbose) as progress:
        settings, rows, prepared = estimator._prepare(X, data, progress, steps)
        rng = check_random_state(estimator.random_state)
        for fitted in solve(prepared, settings, rng, progress):
            model = clone(estimator).set_params(lam=fitted.problem.lam)
            if np.ndim(fitted.problem.bandwidth) == 0:
                model.set_params(bandwidth=fitted.problem.bandwidth)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(estimator, name):
                    setattr(model, name, getattr(estimator, name))
            model._store(Trained(fitted, rows, settings.n_neighbors, settings.metric, settings.laplacian))
            if fitted.solution.status.message:
                warn_of(fitted.solution.status)
            yield model


def _pairs(lam: Any, bandwidth: Any) -> list[tuple[Any, Any]]:
    """The steps as (lam, bandwidth); a single value goes with every step."""
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
