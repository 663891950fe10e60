"""An occluder found by Laplacian K-modes and by normalised cut on the same graph, over a range of sigma."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import DegenerateWarning, LaplacianKModes
from .._progress import Step, no_step
from .._records import Array
from ..baselines import NormalizedCut
from ..graph.grid import grid_graph
from ..image import pixel_features

N_SEGMENTS = 5
LAM = 0.1
SPATIAL_SCALE = 1.0
"""Length of the image's longer side in the units of sigma; black to white is 1, too."""
NAMES = {
    "laplacian_kmodes": "Laplacian K-modes",
    "normalized_cut": "Normalised cut",
    "regularized_cut": "Normalised cut, regularised",
}


@dataclass(frozen=True)
class SweepPoint:
    """Errors at one sigma: the share of pixels on the wrong side of the occluder's outline."""

    sigma: float
    laplacian_kmodes: float
    normalized_cut: float
    regularized_cut: float
    """With the regularisation of its authors' release."""

    @property
    def either_cut(self) -> float:
        """The lower error of the two: normalised cut, tuned with the truth at hand."""
        return min(self.normalized_cut, self.regularized_cut)


def segment_all(image: Any, sigma: float, *, random_state: Any = 0) -> dict[str, Array]:
    """Labels of all three on the same graph.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Grey, from 0 to 1.
    sigma : float
        Width of the heat kernel and bandwidth.
    random_state : int, RandomState or None, default=0
        Seed of the starts: Laplacian K-modes starts from the best of ten runs of K-means, normalised cut keeps the
        best of ten first rotations.

    Returns
    -------
    dict of str to ndarray of shape (height, width)
        Labels from 0 to 4, for each of `NAMES`.
    """
    features = pixel_features(image, spatial_scale=SPATIAL_SCALE)
    shape = features.shape[:2]
    X, W = features.reshape(-1, features.shape[2]), grid_graph(features, sigma)
    models: dict[str, Any] = {
        "laplacian_kmodes": LaplacianKModes(
            N_SEGMENTS, lam=LAM, bandwidth=sigma, init="k-means", random_state=random_state
        ),
        "normalized_cut": NormalizedCut(N_SEGMENTS, regularization=0.0, random_state=random_state),
        "regularized_cut": NormalizedCut(N_SEGMENTS, random_state=random_state),
    }
    with warnings.catch_warnings():
        for category in (DegenerateWarning, ConvergenceWarning):  # at the ends of the range: that is what is measured
            warnings.simplefilter("ignore", category)
        return {name: model.fit(X, graph=W).labels_.reshape(shape) for name, model in models.items()}


def occluder_error(labels: Array, mask: Array) -> float:
    """Share of pixels on the wrong side when the segment that overlaps most with the occluder stands for it.

    Parameters
    ----------
    labels : ndarray of int of shape (height, width)
        Segment of each pixel.
    mask : ndarray of bool of shape (height, width)
        True on the occluder.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from lapmodes.experiments._occluder_sweep import occluder_error
    >>> occluder_error(np.array([[0, 1, 1, 2]]), np.array([[False, True, True, True]]))
    0.25
    """
    found = labels == np.bincount(labels[mask]).argmax()
    return float(np.mean(found != mask))


def sigma_sweep(image: Any, mask: Array, sigmas: Iterable[float], step: Step = no_step) -> list[SweepPoint]:
    """The errors of all three at each sigma.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Grey, from 0 to 1.
    mask : ndarray of bool of shape (height, width)
        True on the occluder.
    sigmas : iterable of float
        In units in which black to white is 1, and so is the longer side of the image.
    step : callable, optional
        Called after each sigma.

    Returns
    -------
    list of SweepPoint

    Examples
    --------
    >>> from lapmodes.datasets import make_occluder
    >>> from lapmodes.experiments._occluder_sweep import sigma_sweep
    >>> [point] = sigma_sweep(*make_occluder(random_state=0), [0.1])
    >>> point.laplacian_kmodes
    0.0
    """
    points = []
    for sigma in sigmas:
        labels = segment_all(image, sigma)
        points.append(SweepPoint(float(sigma), **{name: occluder_error(each, mask) for name, each in labels.items()}))
        step()
    return points


def perfect_range(points: Sequence[SweepPoint], algorithm: str) -> tuple[float, float] | None:
    """Ends of the widest run of sigmas, in ratio, at all of which an algorithm makes no error; None if it never does.

    Parameters
    ----------
    points : sequence of SweepPoint, sigmas increasing
        A sweep.
    algorithm : {'laplacian_kmodes', 'normalized_cut', 'regularized_cut', 'either_cut'}
        Whose errors.

    Returns
    -------
    tuple of float (lowest, highest), or None

    Examples
    --------
    >>> from lapmodes.experiments._occluder_sweep import SweepPoint, perfect_range
    >>> sweep = [SweepPoint(0.1, 0.0, 0.2, 0.2), SweepPoint(0.2, 0.0, 0.0, 0.3), SweepPoint(0.4, 0.1, 0.3, 0.3)]
    >>> perfect_range(sweep, "laplacian_kmodes"), perfect_range(sweep, "normalized_cut")
    ((0.1, 0.2), (0.2, 0.2))
    """
    runs: list[tuple[float, float]] = []
    was_perfect = False
    for point in points:
        perfect = getattr(point, algorithm) == 0
        if perfect:
            runs.append((runs.pop()[0] if was_perfect else point.sigma, point.sigma))
        was_perfect = perfect
    return max(runs, key=lambda run: run[1] / run[0], default=None)


def width(points: Sequence[SweepPoint], algorithm: str) -> float:
    """Ratio of the ends of the perfect range; 1 for a single sigma, 0 for none."""
    ends = perfect_range(points, algorithm)
    return 0.0 if ends is None else ends[1] / ends[0]
