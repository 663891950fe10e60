"""
Soft where it is unclear, hard where it is clear
================================================

Assignments are probabilities with exact zeros: most points belong to one cluster entirely, and only those between
clusters are shared. The uncertainty shows where to look twice. The start is K-means, which brings no prior.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_assignment_matrix, plot_assignments, plot_uncertainty

X, y = make_blobs(900, centers=[[0, 0], [3.2, 0], [1.6, 2.6]], cluster_std=1.0, random_state=0)
model = LaplacianKModes(3, lam=0.1, bandwidth=1.0, init="k-means", random_state=0).fit(X)

figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
plot_assignments(model, X, panels[0]).set_title("Colours mixed by assignment")
plot_uncertainty(model, X, panels[1]).set_title("Uncertainty")
plot_assignment_matrix(model, panels[2]).set_title("All assignments")
plt.show()
