"""
A report for somebody else
==========================

``write_report`` makes one HTML file that explains a clustering to a reader who has never heard of the algorithm. It
needs no network. The picture shows three of its parts: the map, the sizes of the clusters, and their modes. The
columns have different units, so they are standardised first.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_clusters, plot_modes, plot_sizes
from lapmodes.report import write_report

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
model = LaplacianKModes(3, random_state=0).fit(X)
with TemporaryDirectory() as folder:
    page = Path(folder) / "wine.html"
    write_report(page, model, X, feature_names=wine.feature_names, title="Three kinds of wine")
    print(f"The page has {page.stat().st_size / 1e6:.1f} megabytes.")

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
plot_clusters(model, X, left).set_title("Map")
plot_sizes(model, middle).set_title("Sizes")
plot_modes(model, ax=right, feature_names=wine.feature_names).set_title("Modes, in standard deviations")
plt.show()
