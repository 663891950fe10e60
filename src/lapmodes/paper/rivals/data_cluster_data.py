"""Data-cluster-data random walk: low-rank doubly stochastic decomposition (Yang & Oja 2012)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.cluster
from scipy.sparse import coo_array, csr_array, triu

from ..._records import Array, Graph
from ..._rows import one_hot
from ...graph.laplacian import build_graph
from .base import Baseline, SoftClusters, affinity_of
from .normalized_cut import best_cut, unit_eigenvectors

STARTS = ("ncut", "k-means", "random")
SOFTENING = 0.2
"""Added to the indicators of a start, as the authors do: the update never leaves an exact zero."""
EDGE_CHUNK = 8192


class DataClusterData(Baseline):
    """Clustering by the data-cluster-data random walk.

    Minimises the Kullback-Leibler divergence from a sparse affinity A to
    ``Ahat_ij = sum_k W_ik W_jk / sum_v W_vk``, the probability of walking from point i to point j through a
    cluster, over assignments W whose rows lie on the probability simplex [1]_. For large neighbour graphs with
    balanced clusters on manifolds.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=1.0
        Dirichlet prior of the assignments: the objective gains ``(1 - alpha) * sum log W``. 1 is no prior.
    affinity : {'binary', 'heat', 'self-tuning', 'entropic', 'anchor'} or callable, default='binary'
        How the graph is weighed where no `graph` is given, as in :class:`~lapmodes.LaplacianKModes`; the width of
        'heat' is the median distance between neighbours.
    n_neighbors : int, default=5
        Neighbours of each point in that graph; not for 'anchor'. The paper's comparison lets
        it choose among 5, 10, 20 and 30.
    init : str or tuple of str, default=('ncut', 'k-means', 'random')
        Starts to run to the end: normalised cut of the graph, K-means of the points, random labels. The result
        with the lowest objective is kept.
    n_init : int, default=1
        Number of starts of each kind.
    max_iter : int, default=2000
        Most iterations of each start.
    tol : float, default=1e-6
        A start ends when an iteration lowers the objective by less than this share.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest assignment.
    assignments_ : ndarray of shape (n_samples, n_clusters)
        W.
    objective_ : float
        ``-sum_ij A_ij log Ahat_ij + (1 - alpha) * sum_ik log W_ik``: the divergence up to a constant.
    n_iter_ : int
        Iterations of the best start.

    References
    ----------
    .. [1] Z. Yang and E. Oja, "Clustering by low-rank doubly stochastic matrix decomposition", ICML 2012.

    Examples
    --------
    >>> from lapmodes.baselines import DataClusterData
    >>> from lapmodes.datasets import make_spirals
    >>> X, y = make_spirals(500, n_spirals=2, noise=0.05, random_state=0)
    >>> model = DataClusterData(2, init="ncut", random_state=0).fit(X)
    >>> len(set(zip(y.tolist(), model.labels_.tolist())))
    2
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 1.0,
        affinity: Any = "binary",
        n_neighbors: int = 5,
        init: str | tuple[str, ...] = STARTS,
        n_init: int = 1,
        max_iter: int = 2000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_neighbors", "n_init", "max_iter")
        self._require_affinity()
        self._require_reals("alpha", "tol")
        self._require(self.alpha >= 1, "alpha", "a float of at least 1")
        kinds = _as_tuple(self.init)
        self._require(
            len(kinds) > 0 and all(kind in STARTS for kind in kinds),
            "init",
            f"one or more of {', '.join(map(repr, STARTS))}",
        )

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        built = build_graph(affinity_of(self, X, graph, rng))
        if built.affinity.nnz == 0:
            raise ValueError("'graph' must have at least one edge between different points. Got none.")
        starts = starting_labels(X, built, self.n_clusters, _as_tuple(self.init) * self.n_init, rng)
        edges = half_edges(built.affinity)
        runs = (descend(edges, soften(y, self.n_clusters), self.alpha, self.max_iter, self.tol) for y in starts)
        self._store(min(runs, key=lambda run: run.objective))


def starting_labels(
    X: Any, graph: Graph, K: int, kinds: tuple[str, ...], rng: np.random.RandomState
) -> Iterator[Array]:
    """Labels of each start, one after the other."""
    for kind in kinds:
        if kind == "ncut":
            yield best_cut(graph, unit_eigenvectors(graph, K, rng), rng, n_init=1).labels
        elif kind == "k-means":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # A start may have fewer distinct points than clusters.
                yield sklearn.cluster.KMeans(K, n_init=1, random_state=rng).fit_predict(X)
        else:
            yield rng.randint(K, size=X.shape[0])


def soften(labels: Array, K: int) -> Array:
    """Assignments near the labels, all of them positive."""
    W = one_hot(labels, K, np.float64) + SOFTENING
    return np.asarray(W / W.sum(axis=1, keepdims=True))


def half_edges(A: Any) -> Any:
    """Each edge once: A is symmetric and without loops."""
    return coo_array(triu(A, 1))


def descend(edges: Any, W: Array, alpha: float, max_iter: int, tol: float) -> SoftClusters:
    """Descend until the objective falls by less than the share `tol`."""
    state = gradients(edges, W, alpha)
    for n_iter in range(1, max_iter + 1):
        new = relaxed_step(W, state)
        after = gradients(edges, new, alpha)
        # Only the Lagrangian is proven to fall; where the objective itself would rise, the last W is kept.
        if after.objective > state.objective:
            return SoftClusters(W, state.objective, n_iter, True)
        fall = state.objective - after.objective
        W, state = new, after
        if fall <= tol * abs(state.objective):
            return SoftClusters(W, state.objective, n_iter, True)
    return SoftClusters(W, state.objective, max_iter, False)


@dataclass(frozen=True)
class Gradients:
    """The objective and the two non-negative parts of its gradient, each times W: minus, plus."""

    objective: float
    minus: Array
    """W grad- = 2 W (Z W) / s + alpha, with Z_ij = A_ij / Ahat_ij and s the column sums of W."""
    plus: Array
    """W grad+ = W diag(W'ZW) / s^2 + 1."""


def gradients(edges: Any, W: Array, alpha: float) -> Gradients:
    """In time proportional to the number of edges times clusters."""
    s = W.sum(axis=0)
    Ahat = edge_products(edges, W, W / s)
    Z = csr_array((edges.data / Ahat, edges.coords), shape=edges.shape)
    ZW = Z @ W + Z.T @ W
    objective = -2 * float(edges.data @ np.log(Ahat))
    if alpha != 1:
        objective -= (alpha - 1) * float(np.log(W).sum())
    through = np.einsum("nk,nk->k", W, ZW)
    return Gradients(objective, 2 * W * ZW / s + alpha, W * (through / s**2) + 1)


def edge_products(edges: Any, left: Array, right: Array) -> Array:
    """left_i . right_j for each edge (i, j), in chunks that stay in the cache."""
    i, j = edges.coords
    out = np.empty(edges.nnz)
    for start in range(0, edges.nnz, EDGE_CHUNK):
        part = slice(start, start + EDGE_CHUNK)
        np.einsum("ek,ek->e", left[i[part]], right[j[part]], out=out[part])
    return out


def relaxed_step(W: Array, at: Gradients) -> Array:
    """W <- W (grad- a + 1) / (grad+ a + b), then rows scaled to sum 1 (they nearly do already).

    Here a = sum_k W / grad+ and b = sum_k W grad- / grad+ for each row; both sides are multiplied by W, so that
    nothing divides by a vanishing assignment.
    """
    a = (W * W / at.plus).sum(axis=1, keepdims=True)
    b = (W * at.minus / at.plus).sum(axis=1, keepdims=True)
    new = W * (at.minus * a + W) / (at.plus * a + b * W)
    return np.asarray(new / new.sum(axis=1, keepdims=True))


def _as_tuple(init: Any) -> tuple[str, ...]:
    return (init,) if isinstance(init, str) else tuple(init)
