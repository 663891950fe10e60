"""
A report for somebody else
==========================

One HTML file that explains a clustering to a reader who has never heard of the algorithm: no network, light and dark.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from lapmodes import LaplacianKModes
from lapmodes.report import write_report

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
model = LaplacianKModes(3, random_state=0).fit(X)
write_report("wine.html", model, X, feature_names=wine.feature_names, title="Three kinds of wine")
print("Open wine.html")
