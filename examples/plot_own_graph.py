"""
Bring your own graph
====================

Where somebody has already linked alike points (single cells, users, web pages), pass the affinity as ``graph``. Here
points of a ring are linked along it, and the clusters are stretches of the ring.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import kneighbors_graph

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_clusters, plot_sizes

rng = np.random.default_rng(0)
angle = np.sort(rng.uniform(0, 2 * np.pi, 600))
X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.06 * rng.standard_normal((600, 2))
links = kneighbors_graph(np.column_stack([np.cos(angle), np.sin(angle)]), 8)
model = LaplacianKModes(6, bandwidth=0.3, random_state=0).fit(X, graph=links.maximum(links.T))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_clusters(model, X, left).set_title("Clusters on a given graph")
plot_sizes(model, right).set_title("Sizes")
plt.show()
