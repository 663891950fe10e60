"""How many clusters: a scan over K, and along a path in (lam, bandwidth), on one graph, without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ._estimator import LaplacianKModes
from ._n_clusters import Selection, compare_numbers, numbers_to_compare
from ._progress import watch

__all__ = ["Selection", "select"]


def select(
    X: Any,
    n_clusters: Iterable[int] | None = None,
    *,
    path: Iterable[tuple[float, float]] | None = None,
    graph: Any = None,
    neighbors: Any = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Selection:
    """Compare numbers of clusters on one graph, without labels; with `path`, smoothness and bandwidth too.

    For each number the candidates for a start are made, a consensus is chosen and the model is fitted from it.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : iterable of int, optional
        The numbers to compare, each at least 2. Default: 2 to 20, but at most the root of the number of
        distinct samples.
    path : iterable of (lam, bandwidth), optional
        Each number of clusters is followed along this path, every step starting from the one before, and each step is
        a row of the table.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`.
    **parameters
        Further parameters of :class:`LaplacianKModes`, all but `init`.

    Returns
    -------
    Selection
        `n_clusters` is the most stable of the numbers whose agreement is within 0.01 of the best, and the largest of
        equally stable ones: coarser partitions into unions of clusters find agreement too. It is 1 where not even that
        number has an agreement and a valley of 1.2 together, or an agreement and a stability of 0.99 each: there are
        no clear clusters, or they overlap so much that only a model of their shape could tell. `verdict` says how
        sure this is, and `also` what else is worth a look. Its table has the fields:

        - 'n_clusters', 'lam', 'bandwidth';
        - 'agreement': upper quartile of the highest adjusted Rand index between two families of candidates (NaN where
          there is one family: a given graph in many dimensions; the stability decides then);
        - 'stability': mean adjusted Rand index of the chosen candidate with itself on eight random nine tenths of the
          points, and 'spread', their standard deviation;
        - 'eigengap': log ratio of the next to the last eigenvalue of the normalised Laplacian (NaN above 20,000
          points);
        - 'valley': mean over clusters of the drop in log density from the cluster to the highest edge that leaves it
          (NaN on a given graph);
        - 'support': mean adjusted Rand index of the fitted labels with the candidates, which picks the step of a path;
        - 'cut': mean normalised cut of the fitted labels;
        - 'objective' and its certified 'gap';
        - 'smallest': points in the smallest cluster, 0 if one died.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import select
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + 9 * i for i in range(3)])
    >>> found = select(X, range(2, 7), random_state=0)
    >>> found.n_clusters, found.unanimous
    (3, True)
    >>> path = [(lam, 1.0) for lam in (0.1, 1.0, 10.0)]
    >>> select(X, [2, 3], path=path, random_state=0).table.shape
    (6,)
    """
    if "init" in parameters:
        raise ValueError("select makes its own starts: leave 'init' out.")
    wanted = numbers_to_compare(n_clusters, np.shape(X)[0])
    estimator = LaplacianKModes(2 if n_clusters is None else wanted[-1], init="consensus", **parameters)
    if estimator.lam == 0 and path is None:
        raise ValueError("select needs a graph: leave 'lam' at 'auto' or above 0.")
    steps = None if path is None else [(float(lam), float(width)) for lam, width in path]
    with watch(estimator, estimator.verbose) as progress:
        given = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
        settings, rows, prepared = estimator._prepare(X, given, progress, steps)
        wanted = numbers_to_compare(n_clusters, prepared.problem.points.n)
        with progress.phase("select", len(wanted)) as step:
            found = compare_numbers(prepared, settings, wanted, step)
    return replace(found, labels={K: rows.spread(labels) for K, labels in found.labels.items()})
