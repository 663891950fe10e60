"""The consensus: of partitions by unlike principles, which fail on unlike data, the one that the others agree with.

Each family of candidates has one voice, however many candidates it has, and the data have one for a mixture that they
look like. What all of them say of a point is its prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from .._records import MANY_CLUSTERS, MANY_POINTS, SAME, Array, Graph, Neighbors, Points, StartInputs
from .._rows import adjusted_rand, contingency, largest_columns, one_hot, whole_sizes
from ..graph.affinity import hub_free_affinities
from ..graph.laplacian import build_graph
from ..graph.neighbors import TREE_DIMENSIONS
from ..graph.spanning import spanning_tree
from .communities import community_labels
from .density_modes import density_mode_labels
from .linkage import even_linkage_labels
from .mixture import MIXTURE_DIMENSIONS, mixture_labels, mixture_likeness

HUGE_POINTS = 200_000
"""Above this, and from `MANY_CLUSTERS` on, communities see only the graph of the fit, and trees are joined roughly."""
GRAPHS = (("self-tuning", 1.0), ("self-tuning", 1.4), ("shared", 0.7))
"""Weights of the graphs on which communities are found, and their neighbours as shares of n_neighbors."""
GINI_LIMITS = (0.2, 0.5)
"""How uneven the sizes of clusters may become before a linkage must join the smallest."""
TRUST_POWER = 12
"""Candidates count as much as their agreement with the chosen one to this power."""


@dataclass(frozen=True)
class Candidate:
    """A way to a partition."""

    family: str
    variant: Any = None
    """Number of a graph, or (number of a tree, Gini limit)."""


@dataclass(frozen=True)
class Consensus:
    """The chosen partition, how every point is voted for, and how far the candidates agree."""

    candidates: tuple[Candidate, ...]
    partitions: tuple[Array, ...]
    agreement: Array
    """Mean squared adjusted Rand index of each candidate with the others, each family one voice."""
    pairs: Array
    """Adjusted Rand index of each pair of candidates."""
    chosen: int
    votes: Any
    """(N, K), rows on the simplex: the candidates' weighted votes, in the numbering of the chosen; an array or CSR."""

    @property
    def labels(self) -> Array:
        """The chosen partition."""
        return self.partitions[self.chosen]


def is_large(n: int, K: int) -> bool:
    """Whether candidates must be content with the neighbours and the graph of the fit."""
    return K >= MANY_CLUSTERS or n > HUGE_POINTS


def start_inputs(
    points: Points,
    graph: Graph,
    neighbors: Neighbors | None,
    n_neighbors: int,
    K: int,
    sample_weight: Array | None = None,
    kinds: tuple[tuple[str, float], ...] = GRAPHS,
) -> StartInputs:
    """From the neighbours of all points, twice n_neighbors if not `is_large`; from the graph where there are none."""
    sizes = None if sample_weight is None else whole_sizes(sample_weight)
    if neighbors is None:
        return StartInputs(points, (build_graph(graph.affinity.astype(np.float64)),), sizes=sizes)
    large = is_large(points.n, K)
    rough = large or (points.n > MANY_POINTS and points.X.shape[1] > TREE_DIMENSIONS)
    few = min(max(n_neighbors // 2 - 2, 0), neighbors.indices.shape[1] - 1)
    cores = (None, neighbors.distances[:, few])
    at_once = 1 if K >= MANY_CLUSTERS else points.threads
    build = partial(spanning_tree, points.X, neighbors, points.threads, rough=rough)
    trees = tuple(_in_parallel(build, cores, at_once))
    graphs: tuple[Graph, ...] = (graph,)
    if not large:
        counts = [(weights, max(1, round(share * n_neighbors))) for weights, share in kinds]
        found = hub_free_affinities(neighbors, trees[0], counts, points.threads)
        graphs = tuple(build_graph(W, sample_weight=sample_weight) for W in found)
    return StartInputs(points, graphs, neighbors, trees, n_neighbors, sizes)


def _in_parallel(make: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """What is made of each item, as many at once as there are threads; none depends on another."""
    if threads == 1:  # in this thread: what one frees the next uses again
        return [make(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(make, items))


def list_candidates(inputs: StartInputs, K: int) -> list[Candidate]:
    """The candidates that can be made from these inputs."""
    found = [Candidate("communities", i) for i in range(len(inputs.graphs))]
    if inputs.neighbors is not None:
        found.append(Candidate("density modes"))
        found += [Candidate("linkages", (i, limit)) for i in range(len(inputs.trees)) for limit in GINI_LIMITS]
    if inputs.points.X.shape[1] <= MIXTURE_DIMENSIONS and K < MANY_CLUSTERS:
        found.append(Candidate("mixture"))
    return found


def make_partition(candidate: Candidate, inputs: StartInputs, K: int, seed: int) -> Array:
    """The candidate's partition; it may have fewer than K clusters."""
    if candidate.family == "communities":
        return community_labels(inputs.graphs[candidate.variant].affinity, K, seed)
    if candidate.family == "mixture":
        others = [Candidate("linkages", (0, GINI_LIMITS[0])), Candidate("density modes")] if inputs.trees else []
        starts = [make_partition(each, inputs, K, seed) for each in others]
        return mixture_labels(inputs.points, K, seed, starts, inputs.sizes)
    if candidate.family == "linkages":
        tree, limit = candidate.variant
        return even_linkage_labels(inputs.trees[tree], K, limit, inputs.sizes)
    assert inputs.neighbors is not None
    near, dimensions = inputs.neighbors.first(inputs.n_neighbors), inputs.points.X.shape[1]
    return density_mode_labels(near, inputs.trees[0], [K], inputs.sizes, dimensions)[0]


def find_consensus(inputs: StartInputs, K: int, rng: np.random.RandomState, *, sparse: bool = False) -> Consensus:
    """Make the candidates, choose the one that the others agree with most, and count the votes."""
    candidates = list_candidates(inputs, K)
    seeds = rng.randint(2**31 - 1, size=len(candidates)).tolist()
    at_once = 1 if K >= MANY_CLUSTERS else inputs.points.threads
    jobs = list(zip(candidates, seeds, strict=True))
    made = _in_parallel(lambda job: make_partition(job[0], inputs, K, job[1]), jobs, at_once)
    full = [i for i, labels in enumerate(made) if np.unique(labels).size == K] or [0]
    kept, partitions = [candidates[i] for i in full], [made[i] for i in full]
    families, likeness = [candidate.family for candidate in kept], np.zeros(len(kept))
    if "mixture" in families:
        at = families.index("mixture")
        likeness[at] = mixture_likeness(inputs.points, partitions[at], K, seeds[0])
    return choose(kept, partitions, K, likeness, sparse=sparse)


def choose(
    candidates: list[Candidate], partitions: list[Array], K: int, likeness: Any = 0.0, *, sparse: bool = False
) -> Consensus:
    """The candidate that the others agree with most: the mean squared adjusted Rand index, averaged family by family.

    Squares count full agreement for more: two families that agree half with everything say little. How much the points
    look like a candidate, its `likeness`, is one more voice for it and for those that agree with it.
    """
    m = len(partitions)
    pairs = np.eye(m)
    for i in range(m):
        for j in range(i):
            pairs[i, j] = pairs[j, i] = adjusted_rand(partitions[i], partitions[j])
    families, family = np.unique([candidate.family for candidate in candidates], return_inverse=True)
    agreement = family_mean(np.square(np.maximum(pairs, 0)), family, families.size, np.zeros(m) + likeness)
    chosen = int(np.flatnonzero(agreement >= agreement.max() - SAME)[0])
    trust = np.maximum(pairs[chosen], 0) ** TRUST_POWER
    trust *= trust / np.maximum(np.bincount(family, trust), np.finfo(float).tiny)[family]
    votes = count_votes(partitions, partitions[chosen], trust, K, sparse=sparse)
    if np.unique(largest_columns(votes)).size < K:  # a small cluster was outvoted
        votes = one_hot(partitions[chosen], K, np.float64, sparse=sparse)
    return Consensus(tuple(candidates), tuple(partitions), agreement, pairs, chosen, votes)


def family_mean(pairs: Array, family: Array, n_families: int, likeness: Array) -> Array:
    """For each candidate the mean over families of its mean agreement with their members, itself left out.

    A likeness is squared like agreements, and counts by its size: where there is none there is no voice.
    """
    member = np.eye(n_families)[family]
    others = member.sum(axis=0) - member
    total = pairs @ member - member  # without the agreement of 1 with itself
    voices = np.divide(total, others, out=np.zeros_like(total), where=others > 0)
    data = np.square(likeness)
    return np.asarray((voices.sum(axis=1) + pairs @ data) / np.maximum((others > 0).sum(axis=1) + data.sum(), 1))


def count_votes(partitions: list[Array], reference: Array, trust: Array, K: int, *, sparse: bool = False) -> Any:
    """Weighted votes for each point, clusters matched to those of the reference by their common points."""
    votes: Any = csr_array((reference.size, K)) if sparse else np.zeros((reference.size, K))
    rows = np.arange(reference.size)
    for labels, weight in zip(partitions, trust / trust.sum(), strict=True):
        if weight == 0:
            continue
        match = np.empty(K, dtype=np.int64)
        own, theirs = linear_sum_assignment(-contingency(labels, reference, K))
        match[own] = theirs
        if sparse:
            votes = csr_array(votes + weight * one_hot(match[labels], K, np.float64, sparse=True))
        else:
            votes[rows, match[labels]] += weight
    return votes
