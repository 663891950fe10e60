"""Spectral start: K-means on the leading eigenvectors of the normalised affinity (Ng, Jordan & Weiss)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg, splu

from .._records import MANY_POINTS, Array, Graph

DENSE_POINTS = 1000
LONG_HOPS = 12


def spectral_labels(graph: Graph, K: int, rng: np.random.RandomState) -> Array:
    """Labels from the K smoothest directions of the graph."""
    from sklearn.cluster import KMeans

    U = smooth_vectors(graph, K, rng)
    length = np.linalg.norm(U, axis=1, keepdims=True)
    U = U / np.where(length > 0, length, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicated rows of U: the estimator reports empty clusters itself
        labels: Array = KMeans(K, n_init=10, random_state=rng).fit_predict(U)
    return labels


def smooth_vectors(graph: Graph, K: int, rng: np.random.RandomState) -> Array:
    """The K leading eigenvectors of D^-1/2 W D^-1/2, (N, K)."""
    S = _normalised(graph)
    n = S.shape[0]
    if n <= max(DENSE_POINTS, 3 * K):
        return np.asarray(eigh(S.toarray(), subset_by_index=(n - min(K, n), n - 1))[1])
    if n <= MANY_POINTS and _is_long(S):
        vectors = _shift_invert(S, K, rng)
        if vectors is not None:
            return vectors
    guess = rng.standard_normal((n, K + 4))
    guess[:, 0] = np.sqrt(graph.degrees)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a loose eigenbasis is good enough for a start
        values, vectors = lobpcg(S, guess, largest=True, tol=1e-5, maxiter=200)
    return np.asarray(vectors[:, np.argsort(values)[::-1][:K]])


def smooth_values(graph: Graph, K: int, rng: np.random.RandomState) -> Array:
    """The K largest eigenvalues of D^-1/2 W D^-1/2, in falling order."""
    U = smooth_vectors(graph, K, rng)
    values = np.einsum("nk,nk->k", U, _normalised(graph) @ U) / np.einsum("nk,nk->k", U, U)
    return np.clip(np.sort(values)[::-1], -1, 1)


def _normalised(graph: Graph) -> Any:
    """D^-1/2 W D^-1/2 in double precision."""
    degrees = graph.degrees.astype(np.float64)
    root = diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    return csr_array(root @ graph.affinity.astype(np.float64) @ root)


def _is_long(S: Any) -> bool:
    """Whether some points are many hops apart: such graphs factorise cheaply and iterate slowly, others the reverse."""
    hops = dijkstra(S, directed=False, unweighted=True, indices=0)
    return bool(hops[np.isfinite(hops)].max() >= LONG_HOPS)


def _shift_invert(S: Any, K: int, rng: np.random.RandomState) -> Array | None:
    """Exact eigenvectors by factorising (1 + eps) I - S; None where the iteration fails."""
    n = S.shape[0]
    shift = 1 + 1e-5
    factor = splu(csc_array(shift * eye_array(n) - S), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    try:
        vectors = eigsh(inverse, K, which="LA", v0=rng.standard_normal(n), tol=1e-8)[1]
    except ArpackError:
        return None
    return np.asarray(vectors)
