"""One partition out of many: the one the others agree with and the graph is cut least by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from .._records import Array
from .._rows import largest_columns
from .communities import normalized_cut

CUT_SHARE = 0.5
"""What one standard deviation of the cut counts against one of the agreement."""
TRUST_POWER = 4
"""Votes weigh as much as their agreement with the chosen partition to this power."""

SAME = 1e-9
"""Merits this near are equal, and the first one counts: rounding must not choose, nor number the clusters."""


@dataclass(frozen=True)
class Consensus:
    """The chosen partition, how every point is voted for, and how the candidates were ranked."""

    names: tuple[str, ...]
    partitions: tuple[Array, ...]
    labels: Array
    votes: Any
    """(N, K), rows on the simplex: the candidates' weighted votes, in the numbering of `labels`; an array or CSR."""
    agreement: Array
    """Mean adjusted Rand index of each candidate with the others."""
    cut: Array
    """Mean normalised cut of each candidate."""
    typical_agreement: float
    """Upper quartile of the adjusted Rand index over all pairs of candidates."""
    score: Array
    chosen: int


def find_consensus(candidates: dict[str, Array], W: Any, K: int, *, sparse: bool = False) -> Consensus:
    """Choose among partitions into K clusters each, without labels.

    The score of a candidate is its mean adjusted Rand index with the others minus `CUT_SHARE` times its mean
    normalised cut, both in standard deviations over the candidates.
    """
    names, partitions = tuple(candidates), list(candidates.values())
    pairs = pair_agreement(partitions)
    above = pairs[np.triu_indices(len(names), 1)]
    typical = float(np.quantile(above, 0.75)) if above.size else 1.0
    np.fill_diagonal(pairs, 0)
    agreement = pairs.sum(axis=1) / max(len(names) - 1, 1)
    cut = np.array([normalized_cut(W, labels) for labels in partitions])
    score = _standard(agreement) - CUT_SHARE * _standard(cut)
    chosen = int(np.flatnonzero(score >= score.max() - SAME)[0])
    trust = np.maximum(pairs[chosen], 0) ** TRUST_POWER
    trust[chosen] = 1
    votes = count_votes(partitions, partitions[chosen], trust, K, sparse=sparse)
    if np.unique(largest_columns(votes)).size < K:  # a small cluster was outvoted
        votes = count_votes([partitions[chosen]], partitions[chosen], np.ones(1), K, sparse=sparse)
    return Consensus(names, tuple(partitions), partitions[chosen], votes, agreement, cut, typical, score, chosen)


def count_votes(partitions: list[Array], reference: Array, trust: Array, K: int, *, sparse: bool = False) -> Any:
    """Weighted votes for each point, clusters matched to those of the reference by their common points."""
    from scipy.optimize import linear_sum_assignment  # not needed at import

    shape = (reference.size, K)
    votes = csr_array(shape) if sparse else np.zeros(shape)
    rows = np.arange(reference.size)
    for labels, weight in zip(partitions, trust, strict=True):
        match = np.empty(K, dtype=np.int64)
        own, theirs = linear_sum_assignment(-contingency(labels, reference, K))
        match[own] = theirs
        if sparse and weight > 0:
            own_vote = coo_array((np.full(rows.size, weight), (rows, match[labels])), shape=shape)
            votes = csr_array(votes + own_vote)
        elif not sparse:
            votes[rows, match[labels]] += weight
    return votes / trust.sum()


def pair_agreement(partitions: list[Array]) -> Array:
    """Adjusted Rand index of every pair."""
    m = len(partitions)
    out = np.eye(m)
    for i in range(m):
        for j in range(i):
            out[i, j] = out[j, i] = adjusted_rand(partitions[i], partitions[j])
    return out


def adjusted_rand(one: Array, two: Array) -> float:
    """Agreement of two partitions: 1 where they are the same, 0 on average by chance (Hubert & Arabie 1985)."""
    K = int(max(one.max(), two.max())) + 1
    both_in = (
        contingency(one, two, K) if one.size >= K * K else np.unique(one * np.int64(K) + two, return_counts=True)[1]
    )

    def pairs(counts: Array) -> float:
        return float((counts * (counts - 1)).sum()) / 2

    both, first, second = (pairs(each.astype(np.float64)) for each in (both_in, np.bincount(one), np.bincount(two)))
    chance = first * second / pairs(np.array([float(one.size)]))
    possible = 0.5 * (first + second) - chance
    return (both - chance) / possible if possible > 0 else 1.0


def contingency(one: Array, two: Array, K: int) -> Array:
    """Number of points in each pair of clusters, (K, K)."""
    return np.bincount(one.astype(np.int64) * K + two, minlength=K * K).reshape(K, K)


def _standard(values: Array) -> Array:
    """In standard deviations; differences within rounding are none."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)
