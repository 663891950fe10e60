"""Left-stochastic decomposition (Arora, Gupta, Kapila & Fazel 2011) for any number of clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, lstsq, null_space
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh

from ... import _native
from ..._records import Array
from ..._rows import one_hot
from ..._settings import effective_threads
from .base import Baseline, SoftClusters, affinity_of
from .normalized_cut import first_rotation, nearest_rotation

DENSE_POINTS = 800


class LeftStochastic(Baseline):
    """Left-stochastic decomposition: similarities as inner products of cluster probabilities.

    Seeks P with rows on the probability simplex and a scale c such that ``S`` is about ``P P' / c``. The leading
    eigenvectors give P up to a rotation; the rotation is found by alternating the projection of all rows onto the
    simplex with the best rotation onto the projected rows. For similarities that are nearly of rank n_clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    normalize : bool, default=True
        Decompose ``D^-1/2 S D^-1/2`` with D the row sums of S, which keeps hubs of a neighbour graph from
        dominating. False decomposes the similarities as they are, as in [1]_.
    affinity : {'binary', 'heat', 'self-tuning', 'entropic', 'anchor'} or callable, default='binary'
        How the graph is weighed where no `graph` is given, as in :class:`~lapmodes.LaplacianKModes`; the width of
        'heat' is the median distance between neighbours.
    n_neighbors : int, default=5
        Neighbours of each point in that graph; not for 'anchor'. In a given `graph` the
        diagonal counts too.
    n_init : int, default=10
        Number of random first rotations; the decomposition with the lowest objective is kept.
    max_iter : int, default=1000
        Most rotations of each start.
    tol : float, default=1e-6
        A start ends when a rotation lowers the distance to the simplices by less than this share.
    random_state : int, RandomState or None, default=None
        Seed of the first rotations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest probability.
    assignments_ : ndarray of shape (n_samples, n_clusters)
        P.
    scale_ : float
        c.
    objective_ : float
        ``|S - P P' / c|^2``, squared Frobenius norm.
    n_iter_ : int
        Rotations of the best start.

    References
    ----------
    .. [1] R. Arora, M. Gupta, A. Kapila and M. Fazel, "Clustering by left-stochastic matrix factorization",
       ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from lapmodes.baselines import LeftStochastic
    >>> P = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0]])
    >>> model = LeftStochastic(2, normalize=False, random_state=0).fit(P, graph=csr_array(P @ P.T))
    >>> sorted(model.assignments_[1].round(3).tolist())
    [0.2, 0.8]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: bool = True,
        affinity: Any = "binary",
        n_neighbors: int = 5,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self) -> None:
        self._require_counts("n_clusters", "n_neighbors", "n_init", "max_iter")
        self._require_affinity()
        self._require_reals("tol")
        self._require(isinstance(self.normalize, (bool, np.bool_)), "normalize", "True or False")

    def _cluster(self, X: Any, graph: Any, rng: np.random.RandomState) -> None:
        S = affinity_of(self, X, graph, rng)
        S = normalized(S) if self.normalize else S
        flat = flatten(leading_rows(S, self.n_clusters, rng))
        runs = (rotate(flat, first_corners(flat, rng), self.max_iter, self.tol) for _ in range(self.n_init))
        scored = (replace(run, objective=decomposition_error(S, run.assignments, flat.scale)) for run in runs)
        self.scale_ = flat.scale
        self._store(min(scored, key=lambda run: run.objective))


@dataclass(frozen=True)
class PlaneRows:
    """Rows in the hyperplane of the simplex: P is about 1/K + q R basis' for some rotation R."""

    q: Array
    """Coordinates within the hyperplane, (N, K - 1)."""
    basis: Array
    """Orthonormal directions of the hyperplane, (K, K - 1)."""
    scale: float


def normalized(S: Any) -> Any:
    """D^-1/2 S D^-1/2."""
    degrees = np.asarray(S.sum(axis=1)).ravel()
    root = diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    return csr_array(root @ S @ root)


def leading_rows(S: Any, K: int, rng: np.random.RandomState) -> Array:
    """M (N, K) such that M M' is the best positive semidefinite approximation of S of rank K."""
    n = S.shape[0]
    if n <= max(DENSE_POINTS, 3 * K):
        values, vectors = eigh(S.toarray(), subset_by_index=(n - K, n - 1))
    else:
        values, vectors = eigsh(S, K, which="LA", v0=rng.standard_normal(n))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def flatten(M: Array) -> PlaneRows:
    """Scale and project the rows into a hyperplane as far from the origin as the simplex is.

    The plane {x : m'x = 1} that fits the rows best in the least-squares sense lies 1 / |m| from the origin, the
    simplex 1 / sqrt(K): the rows grow by sqrt(c) = |m| / sqrt(K).
    """
    n, K = M.shape
    m = lstsq(M, np.ones(n))[0]
    scale = float(m @ m) / K
    q = np.sqrt(scale) * (M @ null_space(m[None, :]))
    return PlaneRows(q, null_space(np.ones((1, K))), scale)


def first_corners(flat: PlaneRows, rng: np.random.RandomState) -> Array:
    """A first rotation: rows in directions unlike each other go to the corners."""
    K = flat.basis.shape[0]
    rows = np.column_stack([flat.q, np.full(flat.q.shape[0], 1 / np.sqrt(K))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = (rows @ first_rotation(rows, rng)).argmax(axis=1)
    return nearest_rotation(flat.q, one_hot(labels, K, flat.q.dtype) @ flat.basis)


def rotate(flat: PlaneRows, R: Array, max_iter: int, tol: float) -> SoftClusters:
    """Alternate projection onto the simplex and least-squares rotation.

    The objective here is the squared distance between the projected and the rotated rows; it never grows.
    """
    threads = effective_threads(None)
    P, residual = np.empty(0), np.inf
    for n_iter in range(1, max_iter + 1):
        aim = 1 / flat.basis.shape[0] + flat.q @ R @ flat.basis.T
        P = aim.copy()
        _native.project_rows(P, threads)
        old, residual = residual, float(np.square(P - aim).sum())
        if old - residual <= tol * residual or residual < np.finfo(P.dtype).eps * P.size:
            return SoftClusters(P, residual, n_iter, True)
        R = nearest_rotation(flat.q, P @ flat.basis)
    return SoftClusters(P, residual, max_iter, False)


def decomposition_error(S: Any, P: Array, scale: float) -> float:
    """|S - P P' / c|^2 without the dense product."""
    cross = float((P * (S @ P)).sum())
    return float(np.square(S.data).sum()) - 2 * cross / scale + float(np.square(P.T @ P).sum()) / scale**2
