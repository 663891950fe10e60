"""
Bring your own neighbours, or your own graph
============================================

Neighbours from any library go to ``fit(X, neighbors=(indices, distances))``: nothing is searched again, and the result
is that of the default. Where somebody has already linked the points (single cells, users, web pages), pass the
affinity as ``graph``. On the right, points of a ring are linked along it, and the clusters are pieces of the ring.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.plotting import plot_clusters

moons, y = make_moons_with_outliers(600, n_outliers=0, random_state=0)
distances, indices = NearestNeighbors(n_neighbors=20).fit(moons).kneighbors()
searched = LaplacianKModes(2, random_state=0).fit(moons, neighbors=(indices, distances))

rng = np.random.default_rng(0)
angle = np.sort(rng.uniform(0, 2 * np.pi, 600))
ring = np.column_stack([np.cos(angle), np.sin(angle)])
X = ring + 0.06 * rng.standard_normal((600, 2))
links = kneighbors_graph(ring, 8)
linked = LaplacianKModes(6, bandwidth=0.3, random_state=0).fit(X, graph=links.maximum(links.T))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_clusters(searched, moons, left).set_title("Given neighbours")
plot_clusters(linked, X, right).set_title("A given graph")
plt.show()
