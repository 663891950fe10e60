"""Figure 1: one digit, turned. Its mean is no digit, a mode of its density is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist

from .. import LaplacianKModes
from .._records import Array
from .data import make_rotated_digit
from .results import Claim, ImageRow, Picture, Result, Setting, Table, image_grid
from .rivals import GaussianMeanShift, KMeans

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NARROW = 0.4
"""Narrow bandwidth in units of the distance between neighbouring images."""
TRIED = 200
"""Number of bandwidths tried for the smallest that gives a single mode."""
NEAR, FAR = 0.2, 2.0
"""Limits of the claims: the mode's distance as part of the mean's, and the wide mode's in units of the narrow ones'."""
INTRODUCTION = """Seven images of a handwritten 1, turned step by step: one cluster that is a curve in the space of \
pixels. Its mean averages all directions and looks like none of them. Mean-shift gives a single mode only with a wide \
kernel, and that mode is a blur, too; with a narrow kernel every image is a mode, and so a cluster of its own. \
Laplacian K-modes with K = 1 (which is K-modes) uses the narrow kernel and still gives one mode: a digit.

The paper turned a digit of USPS; this one is scikit-learn's, enlarged. The wide bandwidth is the smallest that gives \
mean-shift a single mode, the best it can do; the narrow one is 0.4 of the distance between neighbouring images."""


@dataclass(frozen=True)
class Found:
    """The centroids that an algorithm found, and how far each is from the nearest image."""

    name: str
    centroids: Array
    distances: Array


def run(setting: Setting) -> Result:
    """Find the centroids; the same in a quick run."""
    X, _ = make_rotated_digit()
    found = centroids(X)
    mean, wide, narrow, mode = found
    return Result(
        "figure1",
        "Figure 1: a turned digit, its mean and its mode",
        INTRODUCTION,
        tables=[distances_table(found)],
        pictures=[
            Picture(
                "figure1",
                "The images, and the centroids that four algorithms find; d is the distance to the nearest image.",
                "Seven turned ones; below them a blurred mean, a blurred mean-shift mode, and a sharp mode of "
                "Laplacian K-modes; the seven modes of mean-shift with a narrow kernel.",
                draw(X, found),
            )
        ],
        claims=[
            Claim(
                f"The mode of Laplacian K-modes is less than {NEAR:g} times as far from the nearest image as the mean.",
                f"{mode.distances[0]:.2f} for the mode, {mean.distances[0]:.2f} for the mean; neighbouring images are "
                f"{np.sort(cdist(X, X), axis=1)[:, 1].min():.2f} apart.",
                bool(mode.distances[0] < NEAR * mean.distances[0]),
            ),
            Claim(
                "With the smallest bandwidth that gives a single mode, mean-shift's mode is more than "
                f"{FAR:g} times as far from the nearest image as any of its modes with the narrow bandwidth, "
                "which gives more than one.",
                f"{wide.distances[0]:.2f} away with one mode; {narrow.distances.max():.2f} at most with "
                f"{len(narrow.centroids)} modes.",
                bool(wide.distances[0] > FAR * narrow.distances.max() and len(narrow.centroids) > 1),
            ),
        ],
    )


def centroids(X: Array) -> list[Found]:
    """Of K-means, mean-shift with a wide and with a narrow kernel, and Laplacian K-modes."""
    narrow = NARROW * float(np.median(np.sort(cdist(X, X), axis=1)[:, 1]))
    mode = LaplacianKModes(1, lam=1.0, bandwidth=narrow, affinity="heat", n_neighbors=2, init="k-means", random_state=0)
    models: dict[str, Any] = {
        "K-means": KMeans(1, random_state=0).fit(X),
        "Mean-shift, wide kernel": single_mode(X, narrow),
        "Mean-shift, narrow kernel": GaussianMeanShift(bandwidth=narrow).fit(X),
        "Laplacian K-modes": mode.fit(X),
    }
    centers = {name: model.cluster_centers_ for name, model in models.items()}
    return [Found(name, C, cdist(C, X).min(axis=1)) for name, C in centers.items()]


def single_mode(X: Array, narrow: float) -> GaussianMeanShift:
    """Mean-shift with the smallest bandwidth, to a few percent, that gives one mode."""
    widths = np.geomspace(narrow, 2 * float(cdist(X, X).max()), TRIED)
    models = (GaussianMeanShift(bandwidth=float(width)).fit(X) for width in widths)
    return next(model for model in models if model.n_modes_ == 1)


def distances_table(found: Sequence[Found]) -> Table:
    """How valid the centroids are."""
    rows = [
        [each.name, len(each.centroids), f"{each.distances.min():.3f}", f"{each.distances.max():.3f}"] for each in found
    ]
    header = ["algorithm", "centroids", "nearest image of the best", "nearest image of the worst"]
    return Table("figure1", "Distance from centroids to the nearest image.", header, rows)


def draw(X: Array, found: Sequence[Found]) -> Figure:
    """The images, the centroids, the many modes."""
    side = int(np.sqrt(X.shape[1]))
    mean, wide, narrow, mode = found
    one_each = {"K-means": mean, "mean-shift": wide, "Laplacian\nK-modes": mode}
    notes = [f"{name}\nd = {each.distances[0]:.2f}" for name, each in one_each.items()]
    single = np.concatenate([each.centroids for each in one_each.values()])
    rows = [
        ImageRow("data", X.reshape(-1, side, side)),
        ImageRow("one centroid", single.reshape(-1, side, side), notes),
        ImageRow(
            "mean-shift with\na narrow kernel",
            narrow.centroids.reshape(-1, side, side),
            [f"d = {distance:.2f}" for distance in narrow.distances],
        ),
    ]
    return image_grid(rows, side=1.15)
