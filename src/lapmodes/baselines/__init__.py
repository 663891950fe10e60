"""The algorithms that the paper compares with, behind one face: `fit(X, graph=None)`, `labels_`, `n_iter_`."""

from .data_cluster_data import DataClusterData
from .graph_nmf import GraphNMF
from .kmeans import KMeans
from .kmedoids import KMedoids
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
