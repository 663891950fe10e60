"""Multiclass normalised cut with discretisation by rotation (Yu & Shi 2003)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.sparse import csr_array, eye_array

from ..._records import Array, Graph
from ..._rows import one_hot
from ...graph.laplacian import build_graph, normalized_cut, smooth_vectors
from .base import Baseline, affinity_of

REGULARIZATION = 0.5


class NormalizedCut(Baseline):
    """Normalised cut: the eigenvectors of a graph, rotated until they look like indicators of clusters.

    Seeks clusters with little weight between them relative to the weight they hold. Finds clusters of any
    shape; right where the graph separates them and no centroid is asked for.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    affinity : {'binary', 'heat', 'self-tuning', 'entropic', 'anchor'} or callable, default='binary'
        How the graph is weighed where no `graph` is given, as in :class:`~lapmodes.LaplacianKModes`; the width of
        'heat' is the median distance between neighbours.
    n_neighbors : int, default=5
        Neighbours of each point in that graph; not for 'anchor'.
    regularization : float, default=0.5
        Self-affinity added to each point, and twice that to its degree, in units of the mean edge weight: as in
        the authors' release. It keeps tiny components of the graph from taking an eigenvector each. 0 is none.
    n_init : int, default=10
        Number of random first rotations; the clustering with the lowest normalised cut is kept.
    max_iter : int, default=100
        Most rotations of each start.
    random_state : int, RandomState or None, default=None
        Seed of the first rotations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    objective_ : float
        The normalised cut: the sum over clusters of cut weight over total weight. An empty cluster counts 1.
    n_iter_ : int
        Rotations of the best start.

    References
    ----------
    .. [1] S. X. Yu and J. Shi, "Multiclass spectral clustering", ICCV 2003.

    Examples
    --------
    >>> from lapmodes.baselines import NormalizedCut
    >>> from lapmodes.datasets import make_spirals
    >>> X, y = make_spirals(500, n_spirals=2, noise=0.05, random_state=0)
    >>> model = NormalizedCut(2, random_state=0).fit(X)
    >>> len(set(zip(y.tolist(), model.labels_.tolist())))
    2
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "binary",
        n_neighbors: int = 5,
        regularization: float = REGULARIZATION,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.regularization = regularization
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_neighbors", "n_init", "max_iter")
        self._require_affinity()
        self._require_reals("regularization")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        built = build_graph(affinity_of(self, X, graph, rng))
        rows = unit_eigenvectors(built, self.n_clusters, rng, self.regularization)
        best = best_cut(built, rows, rng, n_init=self.n_init, max_iter=self.max_iter)
        self.labels_ = best.labels
        self.objective_ = best.cut
        self.n_iter_ = best.n_iter


@dataclass(frozen=True)
class Cut:
    """A partition of a graph."""

    labels: Array
    cut: float
    n_iter: int


def unit_eigenvectors(
    graph: Graph, K: int, rng: np.random.RandomState, regularization: float = REGULARIZATION
) -> Array:
    """Rows of the leading eigenvectors of the regularised, normalised affinity, scaled to unit length."""
    W = graph.affinity
    offset = regularization * float(W.data.mean()) if W.nnz else 0.0
    regularized = replace(
        graph, affinity=csr_array(W + offset * eye_array(W.shape[0])), degrees=graph.degrees + 2 * offset
    )
    E = smooth_vectors(regularized, K, rng)
    length = np.linalg.norm(E, axis=1, keepdims=True)
    return np.asarray(E / np.where(length > 0, length, 1))


def best_cut(graph: Graph, rows: Array, rng: np.random.RandomState, *, n_init: int, max_iter: int = 100) -> Cut:
    """The lowest normalised cut among discretisations from several first rotations."""
    found = (discretize(rows, first_rotation(rows, rng), max_iter) for _ in range(n_init))
    cuts = (Cut(labels, normalized_cut(graph.affinity, labels, rows.shape[1]), n_iter) for labels, n_iter in found)
    return min(cuts, key=lambda each: each.cut)


def first_rotation(rows: Array, rng: np.random.RandomState) -> Array:
    """Columns are a random row and then, again and again, the row most orthogonal to those chosen."""
    K = rows.shape[1]
    R = np.empty((K, K))
    R[:, 0] = rows[rng.randint(rows.shape[0])]
    overlap = np.zeros(rows.shape[0])
    for k in range(1, K):
        overlap += np.abs(rows @ R[:, k - 1])
        R[:, k] = rows[overlap.argmin()]
    return R


def discretize(rows: Array, R: Array, max_iter: int) -> tuple[Array, int]:
    """Alternate the nearest indicators of rows R and the rotation R nearest to the indicators.

    Both minimise |Y - rows R|^2, Y an indicator and R orthogonal, so the alternation ends when the labels repeat.
    """
    labels = (rows @ R).argmax(axis=1)
    for n_iter in range(1, max_iter + 1):
        R = nearest_rotation(rows, one_hot(labels, rows.shape[1], rows.dtype))
        new = (rows @ R).argmax(axis=1)
        if np.array_equal(new, labels):
            return labels.astype(np.int32), n_iter
        labels = new
    return labels.astype(np.int32), max_iter


def nearest_rotation(rows: Array, Y: Array) -> Array:
    """The orthogonal R that minimises |Y - rows R|."""
    # The slower LAPACK driver converges also for the exact zeros that empty clusters bring.
    U, _, Vt = svd(rows.T @ Y, lapack_driver="gesvd")
    return np.asarray(U @ Vt)
