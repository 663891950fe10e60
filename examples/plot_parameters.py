"""
What smoothness and bandwidth do
================================

``lam`` says how strongly neighbours are drawn together, and ``bandwidth`` how far a mode sees. Without smoothness the
clusters are convex; with enough of it they follow the data. A very wide kernel turns modes into means. The values were
picked after looking, because they show the difference.
"""

import matplotlib.pyplot as plt

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.metrics import clustering_accuracy
from lapmodes.plotting import plot_clusters

X, y = make_moons_with_outliers(500, n_outliers=0, random_state=0)
lams, widths = (0, 0.1, 10), (0.1, 0.3, 2.0)

figure, panels = plt.subplots(3, 3, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
for row, width in zip(panels, widths, strict=True):
    for ax, lam in zip(row, lams, strict=True):
        model = LaplacianKModes(2, lam=lam, bandwidth=width, init="k-means", random_state=0).fit(X)
        plot_clusters(model, X, ax)
        ax.set(xticks=[], yticks=[])
        right = clustering_accuracy(y, model.labels_)
        ax.set_title(f"lam {lam:g}, bandwidth {width:g}: {right:.0%} right", fontsize=10)
plt.show()
