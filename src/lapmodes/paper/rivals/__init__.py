"""The algorithms that the paper compares with, all with `fit(X, graph=None)`, `labels_` and `n_iter_`."""

from .data_cluster_data import DataClusterData
from .graph_nmf import GraphNMF
from .kmeans_and_kmedoids import KMeans, KMedoids
from .left_stochastic import LeftStochastic
from .mean_shift import GaussianMeanShift
from .normalized_cut import NormalizedCut

__all__ = [
    "DataClusterData",
    "GaussianMeanShift",
    "GraphNMF",
    "KMeans",
    "KMedoids",
    "LeftStochastic",
    "NormalizedCut",
]
