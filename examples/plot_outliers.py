"""
Outliers do not move a mode
===========================

Two moons lie among 200 outliers. The paper follows the solution from a wide kernel to a narrow one (a homotopy), and
so finds both moons. Each outlier belongs to one of the clusters, but the modes stay on the moons, and the density shows
which points lie alone. ``fit_path`` yields a fitted model for each step.
"""

import matplotlib.pyplot as plt
import numpy as np

from lapmodes import fit_path
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.plotting import plot_clusters, plot_crowding, plot_path

X, y = make_moons_with_outliers(random_state=0)
paper = {"lam": 1.0, "affinity": "heat", "n_neighbors": 5, "init": "k-means"}
models = list(fit_path(X, 2, bandwidth=np.geomspace(5, 0.1, 10), random_state=0, **paper))

figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
plot_clusters(models[-1], X, panels[0]).set_title("Clusters and their modes")
plot_crowding(models[-1], X, panels[1]).set_title("Density around each point")
plot_path(models, panels[2]).set_title("Points that change along the path")
plt.show()
