"""
Outliers do not move a mode
===========================

Two moons with 200 outliers. Following the solution from a wide kernel to a narrow one (a homotopy) finds both moons;
the outliers end up in some cluster, but the modes stay on the moons, and the density says which points lie alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.plotting import plot_clusters, plot_crowding, plot_path

X, y = make_moons_with_outliers(random_state=0)
path = [(1.0, float(width)) for width in np.geomspace(5, 0.1, 10)]
model = LaplacianKModes(
    2, lam=1, bandwidth=0.1, path=path, affinity="heat", n_neighbors=5, init="k-means", random_state=0
).fit(X)

figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
plot_clusters(model, X, panels[0]).set_title("Clusters and their modes")
plot_crowding(model, X, panels[1]).set_title("Density around each point")
plot_path(model, panels[2]).set_title("Points that change along the path")
plt.show()
