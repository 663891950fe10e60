"""
Modes that look like data
=========================

The mean of many handwritten digits is a blur, because it averages over styles. A mode is the densest place of its
cluster, so it looks like a digit that somebody wrote; the narrower the kernel, the more so. The bandwidth was picked
among five after seeing their results, so this picture shows the idea and does not compare accuracies.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from lapmodes import LaplacianKModes
from lapmodes.plotting import montage, plot_modes

X = load_digits().data
model = LaplacianKModes(10, bandwidth=8, random_state=0).fit(X)
kmeans = KMeans(10, n_init=10, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
left.imshow(montage(kmeans.cluster_centers_.reshape(-1, 8, 8)), cmap="gray")
left.set_axis_off()
left.set_title("K-means, centres")
plot_modes(model, (8, 8), right)
right.set_title("Laplacian K-modes, modes")
plt.show()
