"""
A few labels are enough
=======================

Where the cluster of some points is known, pass it as ``partial_labels``, with -1 for all others. Known points stay in
their cluster, and the clusters have the numbers that were given. Here one point of each ring is known (the stars), and
the inner ring is number 2. A ``y`` that is passed to ``fit`` is always ignored.
"""

import matplotlib.pyplot as plt
import numpy as np

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_clusters

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 900)
ring = np.repeat([2, 1, 0], [150, 300, 450])
radius = 3.0 - ring + 0.08 * rng.standard_normal(900)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

known = np.full(900, -1)
stars = [0, 150, 450]
known[stars] = ring[stars]
free = LaplacianKModes(3, random_state=0).fit(X)
named = LaplacianKModes(3, random_state=0).fit(X, partial_labels=known)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
plot_clusters(free, X, left).set_title("Without labels: any numbering")
plot_clusters(named, X, right).set_title("One label a ring: the inner ring is cluster 2")
right.scatter(*X[stars].T, marker="*", s=260, color="white", edgecolor="black", zorder=5)
for ax in (left, right):
    ax.set_aspect("equal")
plt.show()
