"""Other algorithms at the right number of clusters: `PEERS[name](X, K, seed) -> labels`.

    from peers import PEERS, missing
    labels = PEERS["ward"](X, 3, 0)

Each gets what it is known for: restarts where it has them, and a search for K where it has no such parameter. Points
that a density method leaves out as noise go with their nearest clustered neighbour, because everybody else is scored
on all points. Above `SAMPLE_ROWS` points, Ward, spectral clustering and HDBSCAN see a sample, and the other points
follow their nearest neighbour in it. Genie (AGPL), Leiden (GPL) and EVoC are optional: without its package a peer is
left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

Array = np.ndarray[Any, Any]
Peer = Callable[[Array, int, int], Array]
SAMPLE_ROWS = 10_000
SEARCHES = 20
"""Resolutions that Leiden tries to reach K."""
SIZES = (0.2, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003)
"""Least cluster sizes that HDBSCAN tries to reach K, as shares of the points."""


def k_means(X: Array, K: int, seed: int) -> Array:
    """K-means, the best of ten."""
    return np.asarray(KMeans(K, n_init=10, random_state=seed).fit_predict(X))


def mixture(X: Array, K: int, seed: int) -> Array:
    """Gaussians with full covariances, the best of five; a firmer floor of the variances where that fails."""
    scaled = (X - X.mean(axis=0)) / (X.std() or 1.0)
    for floor in (1e-6, 1e-3):
        try:
            return np.asarray(GaussianMixture(K, n_init=5, reg_covar=floor, random_state=seed).fit_predict(scaled))
        except ValueError:
            continue
    return k_means(X, K, seed)


def ward(X: Array, K: int, seed: int) -> Array:
    """Ward's linkage."""
    return _on_sample(lambda some: AgglomerativeClustering(K).fit_predict(some), X, seed)


def spectral(X: Array, K: int, seed: int) -> Array:
    """scikit-learn's spectral clustering of the graph of ten neighbours."""
    model = SpectralClustering(K, affinity="nearest_neighbors", n_neighbors=10, random_state=seed)
    return _on_sample(model.fit_predict, X, seed)


def hdbscan(X: Array, K: int, seed: int) -> Array:
    """HDBSCAN with the least cluster size whose number of clusters is nearest to K."""

    def best(some: Array) -> Array:
        sizes = {max(5, round(share * len(some))) for share in SIZES}
        tries = [HDBSCAN(min_cluster_size=size, min_samples=5, copy=True).fit_predict(some) for size in sorted(sizes)]
        return min(tries, key=lambda labels: abs(labels.max() + 1 - K))

    return _on_sample(lambda some: _without_noise(some, best(some)), X, seed)


def genie(X: Array, K: int, seed: int) -> Array:
    """Genie with its default Gini limit."""
    from genieclust import Genie

    return np.asarray(Genie(K).fit_predict(np.ascontiguousarray(X)))


def leiden(X: Array, K: int, seed: int) -> Array:
    """Leiden on the graph of 15 neighbours, its resolution searched for the number of communities nearest to K."""
    import igraph
    import leidenalg

    near = kneighbors_graph(X, min(15, len(X) - 1)).tocoo()
    graph = igraph.Graph(n=len(X), edges=np.column_stack([near.row, near.col])).simplify()
    low, high, found = np.log(1e-3), np.log(1e2), {}
    for _ in range(SEARCHES):
        middle = (low + high) / 2
        labels = leidenalg.find_partition(
            graph, leidenalg.RBConfigurationVertexPartition, resolution_parameter=float(np.exp(middle)), seed=seed
        ).membership
        count = max(labels) + 1
        found[abs(count - K)] = labels
        if count == K:
            break
        low, high = (middle, high) if count < K else (low, middle)
    return np.asarray(found[min(found)])


def evoc(X: Array, K: int, seed: int) -> Array:
    """EVoC, told K, and of its layers the one whose number of clusters is nearest to K; it compares directions."""
    from evoc import EVoC

    centred = np.ascontiguousarray(X - X.mean(axis=0), dtype=np.float32)
    width = min(X.shape[1], 8)  # its start fails where it wants more directions than there are
    model = EVoC(approx_n_clusters=K, node_embedding_dim=width, random_state=seed)
    layers = [model.fit_predict(centred), *model.cluster_layers_]
    best = min((np.asarray(layer) for layer in layers), key=lambda layer: abs(layer.max() + 1 - K))
    return _without_noise(X, best)


EVERY: dict[str, tuple[Peer, str]] = {
    "k-means": (k_means, "sklearn"),
    "mixture": (mixture, "sklearn"),
    "ward": (ward, "sklearn"),
    "spectral": (spectral, "sklearn"),
    "hdbscan": (hdbscan, "sklearn"),
    "genie": (genie, "genieclust"),
    "leiden": (leiden, "leidenalg"),
    "evoc": (evoc, "evoc"),
}
PEERS: dict[str, Peer] = {name: peer for name, (peer, package) in EVERY.items() if find_spec(package)}


def missing() -> str:
    """A sentence about the peers that are left out, or nothing."""
    absent = {name: package for name, (_, package) in EVERY.items() if name not in PEERS}
    names = ", ".join(f"{name} (pip install {package})" for name, package in absent.items())
    return f"Left out, as the package is not installed: {names}." if absent else ""


def run(name: str, X: Array, K: int, seed: int = 0) -> Array:
    """The labels of a peer, without its warnings; one cluster where it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return PEERS[name](X, K, seed)
        except Exception as error:  # of many packages
            print(f"    {name} failed: {error}", flush=True)
            return np.zeros(len(X), dtype=int)


def _without_noise(X: Array, labels: Array) -> Array:
    """Noise (-1) goes with its nearest neighbour that has a cluster."""
    noise = labels < 0
    if not noise.any() or noise.all():
        return np.maximum(labels, 0)
    near = NearestNeighbors(n_neighbors=1).fit(X[~noise]).kneighbors(X[noise], return_distance=False).ravel()
    labels = labels.copy()
    labels[noise] = labels[~noise][near]
    return labels


def _on_sample(cluster: Callable[[Array], Array], X: Array, seed: int) -> Array:
    """Labels of a sample where there are many points; the others follow their nearest neighbour in it."""
    if len(X) <= SAMPLE_ROWS:
        return np.asarray(cluster(X))
    labels = np.full(len(X), -1)
    some = np.random.default_rng(seed).choice(len(X), SAMPLE_ROWS, replace=False)
    labels[some] = cluster(X[some])
    return _without_noise(X, labels)
