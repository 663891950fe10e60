"""
Clusters of any shape
=====================

Here are five intertwined spirals. K-means and K-modes cut them into wedges, because each point goes to the nearest
centre.
Laplacian K-modes asks neighbours to agree, so a cluster follows its spiral, and the mode (triangle) still lies where
that spiral is densest.
"""

import matplotlib.pyplot as plt
import numpy as np

from lapmodes import KModes, LaplacianKModes
from lapmodes.datasets import make_spirals
from lapmodes.metrics import clustering_accuracy
from lapmodes.plotting import plot_clusters

X, y = make_spirals(random_state=0)
common = {"init": "k-means", "random_state": 0}
models = {
    "K-means": KModes(5, bandwidth=np.inf, **common),
    "K-modes": KModes(5, bandwidth=0.2, **common),
    "Laplacian K-modes": LaplacianKModes(5, lam=100, bandwidth=0.2, affinity="heat", n_neighbors=5, **common),
}

figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X)
    plot_clusters(model, X, ax)
    ax.set(title=f"{name}: {clustering_accuracy(y, model.labels_):.0%} right", xticks=[], yticks=[])
plt.show()
