"""
Modes that look like data
=========================

A mean of many handwritten digits is a blur: it averages over styles. A mode is the densest place of its cluster, so it
looks like a digit somebody wrote: the narrower the kernel, the more so.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from lapmodes import LaplacianKModes
from lapmodes.metrics import clustering_accuracy
from lapmodes.plotting import montage, plot_modes

X, y = load_digits(return_X_y=True)
model = LaplacianKModes(10, bandwidth=8, random_state=0).fit(X)
kmeans = KMeans(10, n_init=10, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
left.imshow(montage(kmeans.cluster_centers_.reshape(-1, 8, 8)), cmap="gray")
left.set_axis_off()
left.set_title(f"K-means, centres ({clustering_accuracy(y, kmeans.labels_):.0%} right)")
plot_modes(model, (8, 8), right)
right.set_title(f"Laplacian K-modes, modes ({clustering_accuracy(y, model.labels_):.0%} right)")
plt.show()
