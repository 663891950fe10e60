"""How well `lapmodes.metrics.model_score` chooses parameters: what the choice costs against the best of the grid.

    python benchmarks/model_score.py

For each set, and for the score and both of its factors: the parameters that it chooses on two folds, and how much lower
the adjusted Rand index of their predictions is than that of the best parameters in the grid.
"""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from lapmodes import LaplacianKModes
from lapmodes._rows import modularity
from lapmodes.datasets import make_spirals

NUMBERS = [{"n_clusters": k} for k in range(2, 13)]
OTHERS = [{"n_neighbors": n, "lam": lam} for n in (4, 10, 25) for lam in ("auto", 0.01, 10.0)]


def data_sets():
    """(name, X, y) of each set."""
    scaled = StandardScaler().fit_transform
    yield "blobs", *make_blobs(400, centers=5, random_state=1)
    yield "unequal blobs", *make_blobs(400, cluster_std=[1, 2.5, 0.5], random_state=170)
    yield "moons", *make_moons(400, noise=0.06, random_state=0)
    yield "circles", *make_circles(400, noise=0.05, factor=0.5, random_state=0)
    yield "spirals", *make_spirals(450, n_spirals=3, random_state=0)
    yield "iris", *load_iris(return_X_y=True)
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        yield name, scaled(X), y
    X, y = load_digits(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(X))[:700]
    yield "digits", X[some], y[some]


def factors(model, X):
    """(Modularity, reproducibility) of a fitted model on new rows, and its labels."""
    from sklearn.neighbors import kneighbors_graph

    labels = model.predict(X)
    near = kneighbors_graph(X, 10)
    again = clone(model).fit_predict(X)
    return modularity(near.maximum(near.T).tocsr(), labels), max(adjusted_rand_score(labels, again), 0.0), labels


def measure(X, y, grid):
    """For each entry of the grid: modularity, reproducibility, their product, and the truth, over two folds."""
    rows = []
    for parameters in grid:
        found = []
        for train, test in KFold(2, shuffle=True, random_state=0).split(X):
            model = LaplacianKModes(**{"n_clusters": len(np.unique(y)), "random_state": 0, **parameters}).fit(X[train])
            separated, reproducible, labels = factors(model, X[test])
            found.append((separated, reproducible, separated * reproducible, adjusted_rand_score(y[test], labels)))
        rows.append(np.mean(found, axis=0))
    return np.array(rows).T


def main():
    names = ("modularity alone", "reproducibility alone", "model_score")
    losses = {title: [] for title in ("number of clusters", "neighbours and lam")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, y in data_sets():
            for title, grid in zip(losses, (NUMBERS, OTHERS), strict=True):
                *scores, truth = measure(X, y, grid)
                losses[title].append([truth.max() - truth[score.argmax()] for score in scores])
                said = ", ".join(f"{each} {loss:.2f}" for each, loss in zip(names, losses[title][-1], strict=True))
                print(f"{name}, {title}: loss of {said}; chosen {grid[scores[-1].argmax()]}", flush=True)
    for title, found in losses.items():
        print(f"mean over {len(found)} sets, {title}:", dict(zip(names, np.mean(found, axis=0).round(3), strict=True)))


if __name__ == "__main__":
    main()
