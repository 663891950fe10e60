"""Spectral start: K-means on the leading eigenvectors of the normalised affinity (Ng, Jordan & Weiss)."""

from __future__ import annotations

import warnings

import numpy as np

from .._records import Array, Graph
from ..graph.laplacian import smooth_vectors


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
