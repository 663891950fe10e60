"""The consensus: of partitions by unlike principles, which fail on unlike data, the one that the others agree with.

Each family of candidates has one voice, however many candidates it has. What all of them say of a point is its prior.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from .._records import Array, Graph, Neighbors, Points, Tree
from .._rows import adjusted_rand, contingency, largest_columns, one_hot
from ..graph.affinity import gaussian_weights, local_scale, symmetric
from ..graph.laplacian import build_graph
from ..graph.neighbors import TREE_DIMENSIONS
from ..graph.spanning import spanning_tree
from .communities import community_labels
from .density_modes import density_mode_labels
from .linkage import even_linkage_labels

MANY_POINTS, MANY_CLUSTERS = 200_000, 256
"""From here on the candidates see only the graph of the fit, and trees are joined roughly."""
DENSITY_SHARES = (0.5, 0.7, 1.0, 1.4)
"""Neighbours of the density estimates, as shares of n_neighbors."""
GINI_LIMITS = (0.3, 0.5)
"""How uneven the sizes of clusters may become before a linkage must join the smallest."""
TRUST_POWER = 4
"""Candidates count as much as their agreement with the chosen one to this power."""
FAINT = 1e-6
"""Least weight of an edge of the spanning tree: enough to connect, too little to matter elsewhere."""
SAME = 1e-9
"""Agreements this near are equal, and the first candidate counts: rounding must not choose."""


@dataclass(frozen=True)
class StartInputs:
    """What the candidates see: neighbours, spanning trees and weightings of the graph."""

    points: Points
    graphs: tuple[Graph, ...]
    neighbors: Neighbors | None = None
    trees: tuple[Tree, ...] = ()
    """Of the distances, and of the distances that are at least those at which a point has a few neighbours."""
    n_neighbors: int = 10


@dataclass(frozen=True)
class Candidate:
    """A way to a partition."""

    family: str
    variant: Any
    """Number of a graph, share of neighbours, or (number of a tree, Gini limit)."""


@dataclass(frozen=True)
class Consensus:
    """The chosen partition, how every point is voted for, and how far the candidates agree."""

    candidates: tuple[Candidate, ...]
    partitions: tuple[Array, ...]
    agreement: Array
    """Mean adjusted Rand index of each candidate with the others, each family one voice."""
    pairs: Array
    """Adjusted Rand index of each pair of candidates."""
    chosen: int
    votes: Any
    """(N, K), rows on the simplex: the candidates' weighted votes, in the numbering of the chosen; an array or CSR."""

    @property
    def labels(self) -> Array:
        """The chosen partition."""
        return self.partitions[self.chosen]


def start_inputs(points: Points, graph: Graph, neighbors: Neighbors | None, n_neighbors: int, K: int) -> StartInputs:
    """From the (2 n_neighbors) nearest neighbours of all points; from the graph alone where there are none."""
    if neighbors is None:
        return StartInputs(points, (build_graph(graph.affinity.astype(np.float64)),))
    large = K >= MANY_CLUSTERS or points.n > MANY_POINTS
    rough = large or (points.n > 20_000 and points.X.shape[1] > TREE_DIMENSIONS)
    few = min(max(n_neighbors // 2 - 2, 0), neighbors.indices.shape[1] - 1)
    cores = (None, neighbors.distances[:, few])
    trees = tuple(spanning_tree(points.X, neighbors, points.threads, core, rough=rough) for core in cores)
    if large:
        return StartInputs(points, (graph,), neighbors, trees, n_neighbors)
    return StartInputs(
        points, _hub_free_graphs(neighbors, n_neighbors, trees[0], points.threads), neighbors, trees, n_neighbors
    )


def _hub_free_graphs(neighbors: Neighbors, k: int, tree: Tree, threads: int) -> tuple[Graph, ...]:
    """Self-tuning weights of the k neighbours that are nearest in units of both points' own scales, connected.

    In many dimensions some points are among the nearest of very many others, and tie clusters together. Distances
    over local scales have few such hubs (Schnitzer, Flexer, Schedl & Widmer 2012).
    """
    scale = local_scale(neighbors).astype(np.float64)
    wide = Neighbors(neighbors.indices, neighbors.distances.astype(np.float64))
    weights = gaussian_weights(wide, scale, scale, threads=threads)
    places = np.sort(np.argsort(-weights, axis=1, kind="stable")[:, :k], axis=1)
    indices, weights = (np.take_along_axis(each, places, axis=1) for each in (neighbors.indices, weights))
    length2 = np.square(tree.length)
    bond = np.maximum(np.exp(-length2 / (scale[tree.start] * scale[tree.end])), FAINT)
    A = csr_array((bond, (tree.start, tree.end)), shape=(scale.size, scale.size))
    bonds = A.maximum(A.T)
    return tuple(build_graph(csr_array(symmetric(indices, each).maximum(bonds))) for each in (weights,))


def list_candidates(inputs: StartInputs, K: int) -> list[Candidate]:
    """The candidates that can be made from these inputs."""
    found = [Candidate("communities", i) for i in range(len(inputs.graphs))]
    if inputs.neighbors is not None:
        found += [Candidate("density modes", share) for share in DENSITY_SHARES]
        found += [Candidate("linkages", (i, gini)) for i in range(len(inputs.trees)) for gini in GINI_LIMITS]
    return found


def make_partition(candidate: Candidate, inputs: StartInputs, K: int, seed: int) -> Array:
    """The candidate's partition; it may have fewer than K clusters."""
    if candidate.family == "communities":
        return community_labels(inputs.graphs[candidate.variant].affinity, K, seed)
    assert inputs.neighbors is not None
    if candidate.family == "linkages":
        tree, gini = candidate.variant
        return even_linkage_labels(inputs.trees[tree], K, gini)
    width = min(max(1, round(candidate.variant * inputs.n_neighbors)), inputs.neighbors.indices.shape[1])
    return density_mode_labels(inputs.neighbors, inputs.trees[0], K, width, inputs.n_neighbors)


def find_consensus(inputs: StartInputs, K: int, rng: np.random.RandomState, *, sparse: bool = False) -> Consensus:
    """Make the candidates, choose the one that the others agree with most, and count the votes."""
    candidates = list_candidates(inputs, K)
    seeds = rng.randint(2**31 - 1, size=len(candidates)).tolist()
    jobs = [(candidate, inputs, K, seed) for candidate, seed in zip(candidates, seeds, strict=True)]
    if inputs.points.threads == 1 or K >= MANY_CLUSTERS:  # in this thread: what one frees the next uses again
        made = [make_partition(*job) for job in jobs]
    else:
        with ThreadPoolExecutor(inputs.points.threads) as pool:
            made = list(pool.map(lambda job: make_partition(*job), jobs))
    full = [i for i, labels in enumerate(made) if np.unique(labels).size == K] or [0]
    return choose([candidates[i] for i in full], [made[i] for i in full], K, sparse=sparse)


def choose(candidates: list[Candidate], partitions: list[Array], K: int, *, sparse: bool = False) -> Consensus:
    """The candidate whose mean adjusted Rand index with the others is highest, averaged family by family."""
    m = len(partitions)
    pairs = np.eye(m)
    for i in range(m):
        for j in range(i):
            pairs[i, j] = pairs[j, i] = adjusted_rand(partitions[i], partitions[j])
    families = np.array([candidate.family for candidate in candidates])
    voices = np.array([[_voice(pairs[i], families == family, i) for family in np.unique(families)] for i in range(m)])
    agreement = np.nanmean(voices, axis=1)
    chosen = int(np.flatnonzero(agreement >= agreement.max() - SAME)[0])
    trust = np.maximum(pairs[chosen], 0) ** TRUST_POWER
    votes = count_votes(partitions, partitions[chosen], trust, K, sparse=sparse)
    if np.unique(largest_columns(votes)).size < K:  # a small cluster was outvoted
        votes = one_hot(partitions[chosen], K, np.float64, sparse=sparse)
    return Consensus(tuple(candidates), tuple(partitions), agreement, pairs, chosen, votes)


def _voice(agreement: Array, family: Array, own: int) -> float:
    """What a family says of a candidate: the mean agreement of its members, without the candidate itself."""
    others = family.copy()
    others[own] = False
    return float(agreement[others].mean()) if others.any() else np.nan


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
