"""
A report for somebody else
==========================

``write_report`` makes one HTML file that explains a clustering to a reader who has never heard of the algorithm. It
needs no network. The picture shows two of its parts: the sizes of the clusters, and their modes. The columns have
different units, so they are standardised first.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_modes, plot_sizes
from lapmodes.report import write_report

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
model = LaplacianKModes(3, random_state=0).fit(X)
write_report("wine.html", model, X, feature_names=wine.feature_names, title="Three kinds of wine")
print("Open wine.html")

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
plot_sizes(model, left).set_title("Sizes")
plot_modes(model, ax=right, feature_names=wine.feature_names).set_title("Modes, in standard deviations")
plt.show()
