"""Figure 4: an occluder in front of a textured background, by Laplacian K-modes and by normalised cut.

Both see the same graph: each pixel is linked with the eight around it, with heat weights of width sigma on its
features (column, row, intensity). sigma is also the bandwidth of Laplacian K-modes. Which of them finds the
occluder, and over how wide a range of sigma?
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import DegenerateWarning, LaplacianKModes
from .._records import Array
from ..baselines import NormalizedCut
from ..graph.grid import grid_graph
from ..image import draw_borders, pixel_features
from ..plotting import FRAME, PALETTE, _matplotlib, cluster_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_SEGMENTS = 5
LAM = 0.1
SPATIAL_SCALE = 1.0
"""Length of the image's longer side in the units of sigma; black to white is 1, too."""
SIGMAS = tuple(np.geomspace(0.003, 1, 21).tolist())
SHOWN_SIGMA = 0.2
"""The sigma whose segmentations the paper shows."""
NAMES = {"laplacian_kmodes": "Laplacian K-modes", "normalized_cut": "Normalised cut"}
COLORS = dict(zip(NAMES, PALETTE, strict=False))


@dataclass(frozen=True)
class SweepPoint:
    """Errors of both algorithms at one sigma: the share of pixels on the wrong side of the occluder's outline."""

    sigma: float
    laplacian_kmodes: float
    normalized_cut: float


def segment_both(
    image: Any, sigma: float, *, n_init: int = 5, regularization: float = 0.0, random_state: Any = 0
) -> dict[str, Array]:
    """Labels of both algorithms on the same graph.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Grey, from 0 to 1.
    sigma : float
        Width of the heat kernel and bandwidth.
    n_init : int, default=5
        K-means starts of Laplacian K-modes; the one with the lowest objective is kept.
    regularization : float, default=0
        Of normalised cut. That of its authors' release, 0.5, makes it fail at small sigma, too.
    random_state : int, RandomState or None, default=0
        Seed of both algorithms.

    Returns
    -------
    dict of str to ndarray of shape (height, width)
        Labels from 0 to 4, for 'laplacian_kmodes' and 'normalized_cut'.
    """
    features = pixel_features(image, spatial_scale=SPATIAL_SCALE)
    shape = features.shape[:2]
    X, W = features.reshape(-1, features.shape[2]), grid_graph(features, sigma)
    models: dict[str, Any] = {
        "laplacian_kmodes": LaplacianKModes(
            N_SEGMENTS, lam=LAM, bandwidth=sigma, init="k-means", n_init=n_init, random_state=random_state
        ),
        "normalized_cut": NormalizedCut(N_SEGMENTS, regularization=regularization, random_state=random_state),
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
    >>> from lapmodes.experiments.figure4 import occluder_error
    >>> occluder_error(np.array([[0, 1, 1, 2]]), np.array([[False, True, True, True]]))
    0.25
    """
    found = labels == np.bincount(labels[mask]).argmax()
    return float(np.mean(found != mask))


def sigma_sweep(image: Any, mask: Array, sigmas: Iterable[float] = SIGMAS, **options: Any) -> list[SweepPoint]:
    """The error of both algorithms at each sigma.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Grey, from 0 to 1.
    mask : ndarray of bool of shape (height, width)
        True on the occluder.
    sigmas : iterable of float
        In units in which black to white is 1, and so is the longer side of the image.
    **options
        `n_init`, `regularization` and `random_state` of :func:`segment_both`.

    Returns
    -------
    list of SweepPoint

    Examples
    --------
    >>> from lapmodes.datasets import make_occluder
    >>> from lapmodes.experiments.figure4 import sigma_sweep
    >>> [point] = sigma_sweep(*make_occluder(random_state=0), [0.1], n_init=1)
    >>> point.laplacian_kmodes
    0.0
    """
    points = []
    for sigma in sigmas:
        labels = segment_both(image, sigma, **options)
        points.append(SweepPoint(float(sigma), **{name: occluder_error(each, mask) for name, each in labels.items()}))
    return points


def perfect_range(points: Sequence[SweepPoint], algorithm: str) -> tuple[float, float] | None:
    """Ends of the widest run of sigmas, in ratio, at all of which an algorithm makes no error; None if it never does.

    Parameters
    ----------
    points : sequence of SweepPoint, sigmas increasing
        A sweep.
    algorithm : {'laplacian_kmodes', 'normalized_cut'}
        Whose errors.

    Returns
    -------
    tuple of float (lowest, highest), or None

    Examples
    --------
    >>> from lapmodes.experiments.figure4 import SweepPoint, perfect_range
    >>> sweep = [SweepPoint(0.1, 0.0, 0.2), SweepPoint(0.2, 0.0, 0.0), SweepPoint(0.4, 0.1, 0.3)]
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


def draw(
    image: Any, mask: Array, points: Sequence[SweepPoint], labels: dict[str, Array], sigma: float = SHOWN_SIGMA
) -> Figure:
    """The paper's figure: the image, the errors over sigma, and the segmentations at one sigma.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Grey, from 0 to 1.
    mask : ndarray of bool of shape (height, width)
        True on the occluder.
    points : sequence of SweepPoint
        From :func:`sigma_sweep`.
    labels : dict of str to ndarray of shape (height, width)
        From :func:`segment_both`.
    sigma : float, default=0.2
        At which the labels were found.

    Returns
    -------
    matplotlib Figure
    """
    figure = _matplotlib("figure").Figure(figsize=(13.4, 3.4), layout="constrained")
    panels = figure.subplots(1, 4, width_ratios=[1, 1.3, 1, 1])
    panels[0].set_title("Image", fontsize=12)
    _draw_errors(panels[1], points, sigma)
    for ax, algorithm in zip(panels[2:], ("normalized_cut", "laplacian_kmodes"), strict=True):
        wrong = round(occluder_error(labels[algorithm], mask) * mask.size)
        ax.set_title(NAMES[algorithm], fontsize=12)
        ax.set_xlabel(f"$\\sigma$ = {sigma:g}: {wrong} of {mask.size} pixels wrong")
    for ax, over in zip(panels[[0, 2, 3]], (None, labels["normalized_cut"], labels["laplacian_kmodes"]), strict=True):
        ax.imshow(image, cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        if over is not None:
            ax.imshow(cluster_colors(N_SEGMENTS)[over], alpha=0.45)
            draw_borders(ax, over)
    return figure


def _draw_errors(ax: Axes, points: Sequence[SweepPoint], sigma: float) -> None:
    """Both curves; bars below them show where the segmentation is perfect."""
    sigmas = [point.sigma for point in points]
    top = 100 * max(max(getattr(point, algorithm) for point in points) for algorithm in NAMES) or 1.0
    for height, (algorithm, name) in zip((-0.05, -0.09), NAMES.items(), strict=True):
        errors = [100 * getattr(point, algorithm) for point in points]
        ax.semilogx(sigmas, errors, "o-", color=COLORS[algorithm], markersize=4, label=name)
        if perfect := perfect_range(points, algorithm):
            ax.plot(perfect, [height * top] * 2, color=COLORS[algorithm], linewidth=4)
    ax.axvline(sigma, color=FRAME, linestyle=":", zorder=0)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_title("Pixels wrong (%); bars: none wrong", fontsize=12)
    ax.set_xlabel(r"$\sigma$")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
