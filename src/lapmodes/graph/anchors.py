"""Anchor graphs: a sparse affinity through few anchor points (Liu, He & Chang 2010)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.utils import check_array

from .. import _native
from .._records import Array

CHUNK_ROWS = 4096
EMBEDDING_STEPS = 200
N_NEAREST = 3
"""Anchors that each point is tied to, unless another number is asked for."""


@dataclass(frozen=True)
class Anchors:
    """Anchor points and what ties the training points to them: the rule behind an anchor graph, kept for new points."""

    places: Array
    """(n_anchors, n_features)."""
    mass: Array
    """Column sums of Z, the training points' weights; 1 where no point is tied to an anchor."""
    half: Any
    """H = Z diag(mass)^-1/2, CSR of shape (n_train, n_anchors); the affinity is H H'."""
    n_nearest: int
    """Anchors that each point is tied to."""

    def between_training(self) -> Any:
        """The affinity between the training points."""
        return _product(self.half, self.half)

    def to_training(self, X: Any) -> Any:
        """The affinity from new points to the training points, (n_new, n_train)."""
        Z = anchor_weights(X, self.places.astype(np.float64), self.n_nearest)
        H = csr_array(Z @ diags_array(1 / np.sqrt(self.mass)))
        return _product(H.astype(self.half.dtype), self.half)


def anchor_graph(X: Any, n_anchors: int, n_nearest: int = N_NEAREST, random_state: Any = None) -> Any:
    """Affinity between points that share anchors, in time linear in the number of points.

    Each point is written as a convex combination of its nearest anchors (centroids of K-means), with the weights
    ``Z`` that reconstruct it best; then ``W = Z diag(Z'1)^-1 Z'``. W is symmetric, non-negative and positive
    semidefinite, and its rows sum to 1. Its diagonal counts where an algorithm looks at it; Laplacians do not.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The points.
    n_anchors : int
        Number of anchors; more make a finer graph.
    n_nearest : int, default=3
        Anchors that each point is tied to.
    random_state : int, RandomState or None, default=None
        Seed of K-means.

    Returns
    -------
    CSR matrix of shape (n_samples, n_samples)
        To be passed as ``fit(X, graph=W)``.

    References
    ----------
    .. [1] W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable semi-supervised learning",
       ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes.graph.anchors import anchor_graph
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> W = anchor_graph(X, 20, random_state=0)
    >>> bool(np.allclose(W.sum(axis=1), 1))
    True
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    _check_counts(X.shape[0], n_anchors, n_nearest)
    return find_anchors(X, n_anchors, n_nearest, random_state).between_training()


def find_anchors(X: Any, n_anchors: int, n_nearest: int, random_state: Any) -> Anchors:
    """Centroids of K-means as anchors, and the ties of the rows of X to them."""
    from sklearn.cluster import MiniBatchKMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct points than anchors is no harm
        kmeans = MiniBatchKMeans(n_anchors, n_init=1, random_state=random_state).fit(X)
    places = kmeans.cluster_centers_
    Z = anchor_weights(X, places.astype(np.float64), n_nearest)
    mass = np.asarray(Z.sum(axis=0)).ravel()
    mass = np.where(mass > 0, mass, 1.0)
    return Anchors(places, mass, csr_array(Z @ diags_array(1 / np.sqrt(mass))).astype(X.dtype), n_nearest)


def usual_anchors(X: Any, random_state: Any) -> Anchors:
    """Anchors for affinity='anchor': one for every four points, and 10 sqrt(n) of them where those are fewer."""
    n = X.shape[0]
    n_anchors = max(1, min(n // 4, round(10 * n**0.5)))
    return find_anchors(X, n_anchors, min(N_NEAREST, n_anchors), random_state)


def _product(left: Any, right: Any) -> Any:
    W = csr_array(left @ right.T)
    W.sort_indices()
    return W


def anchor_weights(X: Any, anchors: Array, n_nearest: int) -> Any:
    """Z (N, n_anchors): the weights of each point's nearest anchors, on the probability simplex."""
    n, m = X.shape[0], anchors.shape[0]
    gram = anchors @ anchors.T
    indices = np.empty((n, n_nearest), dtype=np.int32)
    weights = np.empty((n, n_nearest))
    for start in range(0, n, CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        x = X[rows].astype(np.float64)
        inner = np.asarray(x @ anchors.T)
        sqnorm = np.asarray((x.multiply(x) if issparse(x) else x * x).sum(axis=1)).ravel()
        near = np.argpartition(np.diag(gram) - 2 * inner, n_nearest - 1, axis=1)[:, :n_nearest]
        indices[rows], weights[rows] = near, _embed(gram, inner, sqnorm, near)
    indptr = np.arange(0, n * n_nearest + 1, n_nearest)
    return csr_array((weights.ravel(), indices.ravel(), indptr), shape=(n, m))


def _embed(gram: Array, inner: Array, sqnorm: Array, near: Array) -> Array:
    """Local anchor embedding: minimise |x - sum_j z_j u_j|^2 over z on the simplex, for every point at once."""
    cross = np.take_along_axis(inner, near, axis=1)
    # As the weights sum to 1, the distance is z'Gz with G the inner products of the offsets u_j - x.
    G = gram[near[:, :, None], near[:, None, :]] - cross[:, :, None] - cross[:, None, :] + sqnorm[:, None, None]
    bound = np.trace(G, axis1=1, axis2=2)[:, None]
    step = 1 / np.where(bound > 0, bound, 1)
    z = np.full(near.shape, 1 / near.shape[1])
    ahead, t, threads = z, 1.0, _native.max_threads()
    for _ in range(EMBEDDING_STEPS):
        new = ahead - step * np.einsum("nij,nj->ni", G, ahead)
        _native.project_rows(new, threads)
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        ahead, z, t = new + (t - 1) / t_next * (new - z), new, t_next
    return z


def _check_counts(n: int, n_anchors: int, n_nearest: int) -> None:
    if not 1 <= n_anchors <= n:
        raise ValueError(
            f"The 'n_anchors' parameter of anchor_graph must be an int from 1 to {n}. Got {n_anchors} instead."
        )
    if not 1 <= n_nearest <= n_anchors:
        raise ValueError(
            f"The 'n_nearest' parameter of anchor_graph must be an int from 1 to n_anchors={n_anchors}. "
            f"Got {n_nearest} instead."
        )
