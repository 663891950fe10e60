"""Where the alternation begins: one kind of start a file, and `make_start`, which knows them by their names.

All randomness of a fit is here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._progress import Step
from .._records import Array, Points, Problem, Start, StartInputs
from .._rows import as_rows, one_hot
from .consensus import Consensus, find_consensus
from .k_means import best_kmeans, dense_modes, plus_plus_rows, start_from_modes
from .partial_labels import learn_labels
from .spectral import spectral_labels


def make_start(
    problem: Problem,
    inputs: StartInputs | None,
    init: Any,
    K: int,
    rng: np.random.RandomState,
    *,
    sparse: bool = False,
    step: Step,
) -> Start:
    """A start of the named kind, or from given modes, or from (modes or None, assignments).

    Its assignments are an array, or a CSR matrix if `sparse`. With partial labels (an array only) its clusters have
    the names of the labels, and learn from them.
    """
    points, graph, weight = problem.points, problem.graph, problem.sample_weight
    if isinstance(init, tuple):
        modes, given = init
        Z = as_rows(given, points.X.dtype, sparse=sparse)
        start = Start(dense_modes(points, graph, Z) if modes is None else _as_modes(modes, points), Z)
    elif not isinstance(init, str):
        start = start_from_modes(points, _as_modes(init, points), sparse=sparse)
    elif init == "consensus":
        assert inputs is not None
        start = consensus_start(problem, find_consensus(inputs, K, rng, sparse=sparse))
    elif init == "k-means":
        start = best_kmeans(problem, K, rng, sparse=sparse, step=step)
    elif init == "spectral":
        Z = one_hot(spectral_labels(graph, K, rng), K, points.X.dtype, sparse=sparse)
        start = Start(dense_modes(points, graph, Z), Z)
    else:
        rows = rng.choice(points.n, K, replace=False) if init == "random" else plus_plus_rows(points, K, rng, weight)
        start = start_from_modes(points, points.rows(rows), sparse=sparse)
    return start if problem.known is None else learn_labels(start, problem)


def consensus_start(problem: Problem, consensus: Consensus) -> Start:
    """The votes as assignments and as prior, and the modes where they are densest."""
    votes = consensus.votes.astype(problem.points.X.dtype)
    return Start(dense_modes(problem.points, problem.graph, votes), votes, votes)


def _as_modes(modes: Any, points: Points) -> Array:
    return np.ascontiguousarray(modes, dtype=points.X.dtype)
