"""How many clusters: a comparison of numbers without labels, and of steps along a path in (lam, bandwidth)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._estimator import LaplacianKModes
from ._fit import Prepared, solve_path
from ._n_clusters import DRAWS, TABLE, Selection, compare_numbers, numbers_to_compare
from ._progress import no_step, watch
from ._records import Array, Points, Units
from ._rows import adjusted_rand
from ._settings import Settings
from .graph.neighbors import make_index
from .start import consensus_start
from .start.consensus import find_consensus

__all__ = ["Selection", "select"]

PATH = ("lam", "bandwidth", "support", "objective", "gap")
"""Further fields of the table along a path."""


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
    """Compare numbers of clusters without labels; with `path`, smoothness and bandwidth too.

    For each number the points are divided in four unlike ways, and so are eight random halves of them. A number is good
    if its clusters come back from the halves in one of the ways. No model is fitted, unless along a path. Of more
    than 3,000 points a random sample is compared: a tenth, but at least 3,000 and at most 10,000 points, or 40 for each
    cluster where many are asked for.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_clusters : iterable of int, optional
        The numbers to compare, each at least 2. Default: 2 to 20, but at most the root of the number of distinct
        samples; up to that root while all clusters of the last number are apart.
    path : iterable of (lam, bandwidth), optional
        The model is followed along this path for each number of clusters, every step starting from the one before, and
        each step is a row of the table.
    graph, neighbors, sample_weight
        As in :meth:`LaplacianKModes.fit`. Without a graph the comparison searches for neighbours itself.
    **parameters
        Further parameters of :class:`LaplacianKModes`, all but `init`.

    Returns
    -------
    Selection
        `n_clusters` is the number with the highest stability, of those within 0.02 of it the largest. It is 1, "no
        clear clusters", where the highest stability and a twentieth of the highest separation are below 0.92 together,
        and that separation is below 1.4. Points that look like Gaussians are counted by these instead, also where they
        overlap too much to come back: the number of least cost by Schwarz's criterion (BIC), if the points look like
        so many Gaussians and these come back from halves with about that number. `verdict` says whether another
        criterion speaks for the number, too, and `also` what else is worth a look; `coarser` and `finer` are the most
        stable numbers on either side, and `change` says what they would show. The table has the fields:

        - 'n_clusters';
        - 'stability': what comes back of a cluster, on average: its Jaccard index with the most similar cluster of a
          random half, in the way in which most comes back; and 'spread', its standard deviation over the halves;
        - 'weakest': what comes back of the cluster of which least does;
        - 'separation': by how much the log density is lower between two neighbouring clusters than within both, times
          the root of a tenth of the points that lie between them, for the two that are least apart, in the second best
          way; up to about 1 may be chance (NaN on a given graph);
        - 'agreement': mean adjusted Rand index between unlike ways (NaN on a given graph);
        - 'smallest': points in the smallest cluster;
        - 'mixture': how likely a point is in a mixture of so many Gaussians, less a price for each free number, beside
          the number that it is highest for (NaN where the points do not look like Gaussians, and for numbers beyond);
        - along a path 'lam', 'bandwidth', 'support' (mean adjusted Rand index of the fitted labels with the candidates
          of the start), 'objective' and its certified 'gap'.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes import select
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)) + 9 * i for i in range(3)])
    >>> found = select(X, range(2, 7), random_state=0)
    >>> found.n_clusters, found.verdict
    (3, 'clear')
    >>> path = [(lam, 1.0) for lam in (0.1, 1.0, 10.0)]
    >>> select(X, [2, 3], path=path, random_state=0).table.shape
    (6,)
    """
    if "init" in parameters:
        raise ValueError("select makes its own starts: leave 'init' out.")
    wanted = numbers_to_compare(n_clusters)
    start = "k-means" if path is None else "consensus"  # without a path nothing is fitted, and no candidates are made
    estimator = LaplacianKModes(2 if wanted is None else wanted[-1], init=start, **parameters)
    if estimator.lam == 0 and path is None:
        raise ValueError("select needs a graph: leave 'lam' at 'auto' or above 0.")
    steps = None if path is None else [(float(lam), float(width)) for lam, width in path]
    with watch(estimator, estimator.verbose) as progress:
        given = {"graph": graph, "neighbors": neighbors, "sample_weight": sample_weight}
        settings, rows, prepared = estimator._prepare(X, given, progress, steps)
        problem = prepared.problem
        W = problem.graph if graph is not None else None
        with progress.phase("select", DRAWS) as step:
            found, compared = compare_numbers(problem.points, problem.sample_weight, W, settings, wanted, step)
        nearest = nearest_compared(problem.points, compared)
        labels = {K: each[nearest] for K, each in found.labels.items()}
        found = replace(found, labels=labels, lam=problem.lam, bandwidth=float(np.median(problem.bandwidth)))
        if steps is not None:
            found = along_path(found, prepared, settings)
        if settings.units.exponent:
            found = in_users_units(found, settings.units)
    return replace(found, labels={K: rows.spread(each) for K, each in found.labels.items()})


def in_users_units(found: Selection, units: Units) -> Selection:
    """The same with lengths, and what is measured in their squares, as the user gave them."""
    table = found.table.copy()
    if "bandwidth" in (table.dtype.names or ()):
        squared = np.where(np.isinf(table["bandwidth"]), 2, 0)
        for name, power in (("lam", squared), ("objective", squared), ("gap", squared), ("bandwidth", 1)):
            table[name] = np.ldexp(table[name], power * units.exponent)
    lam = float(units.outside(found.lam, 2 if np.isinf(found.bandwidth) else 0))
    return replace(found, table=table, lam=lam, bandwidth=float(units.outside(found.bandwidth)))


def nearest_compared(points: Points, compared: Array) -> Array:
    """For each point its place among those that were compared, or the place of the nearest one."""
    place = np.full(points.n, -1, dtype=np.intp)
    place[compared] = np.arange(compared.size)
    absent = np.flatnonzero(place < 0)
    if absent.size:
        index = make_index(points.X[compared], points.threads)
        place[absent] = index.query(points.X[absent], 1).indices[:, 0]
    return place


def along_path(found: Selection, prepared: Prepared, settings: Settings) -> Selection:
    """The model at each step of the path for each number of clusters; of the best number the best supported step."""
    assert prepared.inputs is not None
    dtype, table, labels = np.dtype([*TABLE.descr, *((name, float) for name in PATH)]), [], dict(found.labels)
    for compared in found.table:
        K = int(compared["n_clusters"])
        consensus = find_consensus(
            prepared.inputs, K, check_random_state(settings.random_state), sparse=settings.sparse
        )
        fitted = list(solve_path(prepared.problem, consensus_start(prepared.problem, consensus), settings, no_step))
        support = [np.mean([adjusted_rand(each.labels, other) for other in consensus.partitions]) for _, each in fitted]
        rows = [
            (*compared, at.lam, np.median(at.bandwidth), agreed, each.objective, each.gap)
            for (at, each), agreed in zip(fitted, support, strict=True)
        ]
        table.append(np.array(rows, dtype=dtype))
        labels[K] = fitted[int(np.argmax(support))][1].labels
    own = next(rows for rows in table if rows["n_clusters"][0] == found.best)
    best = own[own["support"].argmax()]
    return replace(
        found, table=np.concatenate(table), labels=labels, lam=float(best["lam"]), bandwidth=float(best["bandwidth"])
    )
