"""
Where would a new point go?
===========================

The assignment of a new point has a closed form: it combines the assignments of its neighbours with the kernel at the
modes. The map shows it for every place of the plane. The density of each cluster says how much to trust it there.
"""

import matplotlib.pyplot as plt

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.plotting import plot_density, plot_map

X, y = make_moons_with_outliers(800, n_outliers=0, random_state=0)
model = LaplacianKModes(2, bandwidth=0.15, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
plot_map(model, X, left).set_title("Assignment of new points")
plot_density(model, X, ax=right).set_title("Density of each cluster")
plt.show()
