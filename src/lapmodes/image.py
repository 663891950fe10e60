"""Segmentation of images: pixels are points, neighbouring pixels are linked, segments have soft borders."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import maximum_filter
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from . import DegenerateWarning, LaplacianKModes
from ._records import Array
from ._rows import as_dense
from .graph.grid import grid_graph
from .plotting.style import cluster_colors, get_axes, import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPATIAL_SCALE = 0.15
FULL_SIZE_PIXELS = 6000
"""Pixels up to which an image is segmented at once; a larger one starts from the segments of its half."""
COLOR_SPACES = ("lab", "rgb", "gray")
LINE, CASING = (255, 255, 255), (16, 16, 16)
"""Colours of a border: a white line within a dark one is seen on any ground."""
SMALL, LARGE = 800, 1600
"""Longest side below which a picture is enlarged for its borders, and beyond which they get thicker."""
WHITE = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535, np.dtype(bool): 1}
"""The largest value of a pixel, by the type that holds it."""
LUMINANCE_WEIGHTS = (0.2126, 0.7152, 0.0722)
# Linear sRGB to CIE XYZ, each row divided by its sum: white is (1, 1, 1).
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [*LUMINANCE_WEIGHTS], [0.0193, 0.1192, 0.9505]])
RGB_TO_XYZ /= RGB_TO_XYZ.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Segmentation:
    """Segments of an image."""

    labels: Array
    """The segment of each pixel, (height, width)."""
    assignments: Array
    """A soft map of each segment, (height, width, n_segments); they sum to 1 at each pixel."""
    modes: Array
    """The typical pixel of each segment in the features of :func:`pixel_features`, (n_segments, n_features)."""
    model: LaplacianKModes
    """The fitted model; its samples are the pixels, row by row."""


def pixel_features(image: Any, *, spatial_scale: float = SPATIAL_SCALE, color_space: str = "lab") -> Array:
    """Position and colour of each pixel in common units.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Grey or sRGB; integers up to 255 (uint8) or 65535 (uint16), or floats from 0 to 1.
    spatial_scale : float, default=0.15
        Length of the longer side. Black to white is 1, so that with 0.15 a step across the whole image counts as
        much as a small difference in lightness. 0 leaves the position out of account.
    color_space : {'lab', 'rgb', 'gray'}, default='lab'
        'lab' is CIELAB, in which distances are as the eye sees them, divided by 100. Grey images stay grey.

    Returns
    -------
    ndarray of float32 of shape (height, width, n_features)
        Column, row, then one intensity or three colours.

    Examples
    --------
    >>> from lapmodes.image import pixel_features
    >>> pixel_features([[0.0, 1.0]], spatial_scale=0.5).tolist()
    [[[0.0, 0.0, 0.0], [0.25, 0.0, 1.0]]]
    """
    if color_space not in COLOR_SPACES:
        raise ValueError(f"'color_space' must be 'lab', 'rgb' or 'gray'. Got {color_space!r} instead.")
    if not 0 <= spatial_scale < np.inf:
        raise ValueError(f"'spatial_scale' must be a finite float of at least 0. Got {spatial_scale!r} instead.")
    pixels = _unit_range(image)
    rows, columns = np.indices(pixels.shape[:2]) * (spatial_scale / max(pixels.shape[:2]))
    return np.dstack([columns, rows, _color(pixels, color_space)]).astype(np.float32)


def segment(
    image: Any,
    n_segments: int = 6,
    *,
    lam: float = 3.0,
    bandwidth: float = 0.15,
    edge_width: float | None = None,
    spatial_scale: float = SPATIAL_SCALE,
    color_space: str = "lab",
    init: Any = "k-means",
    tol: float = 0.05,
    random_state: Any = None,
    **parameters: Any,
) -> Segmentation:
    """Segment an image by Laplacian K-modes on its pixels.

    Large images are worked on from coarse to fine: the segments of the image at half its size start those of the
    image. A photograph of 321 x 481 pixels takes some seconds.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        As in :func:`pixel_features`.
    n_segments : int, default=6
        Number of segments. A segment is all that looks alike and may lie in several places.
    lam : float or 'auto', default=3
        Smoothness of the segments.
    bandwidth : float, default=0.15
        Width of the kernel around each mode, in units of the features.
    edge_width : float or None, default=None
        Steps between neighbouring pixels that are larger than this count as edges, across which segments are not
        smoothed. None: the root mean square of all steps. Each pixel is linked with the eight around it.
    spatial_scale, color_space
        As in :func:`pixel_features`.
    init : str, array or tuple, default='k-means'
        Start of the coarsest image, as in :class:`~lapmodes.LaplacianKModes`. A tuple (modes, assignments) starts
        the image itself.
    tol : float, default=0.05
        The alternation rests when no mode moves by more than `tol` bandwidths.
    random_state : int, RandomState or None, default=None
        Seed of the start.
    **parameters
        Further parameters of :class:`~lapmodes.LaplacianKModes`, such as `n_init`, `n_jobs` and `verbose`.

    Returns
    -------
    Segmentation
        `labels`, soft `assignments`, `modes` and the fitted `model`.

    Examples
    --------
    >>> from lapmodes.datasets import make_occluder
    >>> from lapmodes.image import segment
    >>> image, mask = make_occluder(random_state=0)
    >>> found = segment(image, 2, random_state=0)
    >>> found.labels.shape, found.assignments.shape
    ((30, 30), (30, 30, 2))
    """
    features = pixel_features(image, spatial_scale=spatial_scale, color_space=color_space)
    model = LaplacianKModes(
        n_segments, lam=lam, bandwidth=bandwidth, init=init, tol=tol, random_state=random_state, **parameters
    )
    model = fit_pixels(model, features, edge_width)
    shape = features.shape[:2]
    labels, assignments = model.labels_.reshape(shape), as_dense(model.assignments_).reshape(*shape, n_segments)
    return Segmentation(labels, assignments, model.cluster_centers_, model)


def fit_pixels(model: LaplacianKModes, features: Array, edge_width: float | None) -> LaplacianKModes:
    """Fit a model to the pixels, from coarse to fine."""
    h, w, d = features.shape
    if h * w > FULL_SIZE_PIXELS and not isinstance(model.init, tuple):
        coarse = clone(model)
        if not isinstance(model.lam, str):
            coarse.set_params(lam=model.lam / 4)  # the same blur in pixels that are twice as large
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, DegenerateWarning):  # the full image has the last word
                warnings.simplefilter("ignore", category)
            coarse = fit_pixels(coarse, _halved(features), edge_width)
        model = clone(model).set_params(init=(coarse.cluster_centers_, _doubled(as_dense(coarse.assignments_), h, w)))
    width = _mean_step(features) if edge_width is None else edge_width
    return model.fit(features.reshape(h * w, d), graph=grid_graph(features, width))


def plot_segmentation(image: Any, segmentation: Segmentation, ax: Axes | None = None) -> Axes:
    """The image with the borders of its segments, and the mode of each segment at the pixel nearest to it.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        The image that was segmented.
    segmentation : Segmentation
        Its segments.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from lapmodes.datasets import make_occluder
    >>> from lapmodes.image import plot_segmentation, segment
    >>> image, mask = make_occluder(random_state=0)
    >>> ax = plot_segmentation(image, segment(image, 2, random_state=0))
    """
    pixels, ax = _unit_range(image), get_axes(ax)
    if pixels.shape[:2] != segmentation.labels.shape:
        raise ValueError(
            f"'image' must be the image that was segmented, of shape {segmentation.labels.shape}. "
            f"Got {pixels.shape[:2]} instead."
        )
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=1)
    draw_borders(ax, segmentation.labels)
    rows, columns = np.unravel_index(segmentation.model.exemplars_, segmentation.labels.shape)
    colors = cluster_colors(segmentation.modes.shape[0])
    ax.scatter(columns, rows, s=90, c=colors, marker=">", edgecolors="white", linewidths=1.3, zorder=3)
    ax.set_axis_off()
    return ax


def draw_borders(ax: Axes, labels: Array) -> None:
    """Lines between different labels, seen on dark and on light ground."""
    lines = import_matplotlib("collections").LineCollection
    for color, width in (("black", 2.2), ("white", 1.0)):
        ax.add_collection(lines(borders(labels), colors=color, linewidths=width, capstyle="round"))


def with_borders(image: Any, labels: Array) -> Array:
    """The image as uint8 colours with a line along every border; a small one is enlarged so that lines stay thin."""
    longest = max(labels.shape)
    scale, thickness = max(1, round(SMALL / longest)), max(1, round(longest / LARGE))
    shown, large = (each.repeat(scale, axis=0).repeat(scale, axis=1) for each in (_rgb(image), labels))
    edge = np.zeros(large.shape, dtype=bool)
    for one, other in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        differs = large[one] != large[other]
        edge[one] |= differs
        edge[other] |= differs
    for color, size in ((CASING, 4 * thickness - 1), (LINE, 2 * thickness - 1)):
        shown[maximum_filter(edge, size)] = color
    return shown


def mean_colors(image: Any, labels: Array, n_segments: int) -> Array:
    """The mean colour of each segment as uint8, (n_segments, 3)."""
    colors, flat = _rgb(image).reshape(-1, 3).astype(np.float64), labels.ravel()
    counts = np.maximum(np.bincount(flat, minlength=n_segments), 1)
    means = [np.bincount(flat, each, minlength=n_segments) / counts for each in colors.T]
    return np.stack(means, axis=1).round().astype(np.uint8)


def borders(labels: Array) -> Array:
    """The sides of pixels between different labels as lines, (n_lines, 2, 2), in (column, row) coordinates."""
    row, column = np.nonzero(labels[:, :-1] != labels[:, 1:])
    upright = np.stack([column + 0.5, row - 0.5, column + 0.5, row + 0.5], axis=-1)
    row, column = np.nonzero(labels[:-1] != labels[1:])
    level = np.stack([column - 0.5, row + 0.5, column + 0.5, row + 0.5], axis=-1)
    return np.concatenate([upright, level]).reshape(-1, 2, 2)


def _unit_range(image: Any) -> Array:
    """Pixels as floats from 0 to 1."""
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3) or pixels.size == 0:
        raise ValueError(
            f"'image' must have shape (height, width) or (height, width, 3). Got {pixels.shape} instead; "
            "leave out an alpha channel."
        )
    if pixels.dtype in WHITE:
        return pixels / WHITE[pixels.dtype]
    if not (pixels.dtype.kind in "fiu" and np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 1):
        raise ValueError(
            f"'image' must hold uint8, uint16, or finite numbers from 0 to 1. Got {pixels.dtype} instead; "
            "divide by the largest possible value."
        )
    return pixels.astype(np.float64)


def _rgb(image: Any) -> Array:
    """Pixels as three colours of uint8."""
    pixels = np.round(255 * _unit_range(image)).astype(np.uint8)
    return np.dstack([pixels] * 3) if pixels.ndim == 2 else pixels


def _color(pixels: Array, color_space: str) -> Array:
    """Grey stays grey; sRGB becomes what was asked for, with black to white of length 1."""
    if pixels.ndim == 2 or color_space == "rgb":
        return pixels
    if color_space == "gray":
        return pixels @ np.array(LUMINANCE_WEIGHTS)
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    t = linear @ RGB_TO_XYZ.T
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([1.16 * y - 0.16, 5 * (x - y), 2 * (y - z)], axis=-1)


def _halved(features: Array) -> Array:
    """Means of 2 x 2 pixels; an odd row or column at the end counts twice."""
    h, w, d = features.shape
    even = np.pad(features, ((0, h % 2), (0, w % 2), (0, 0)), mode="edge")
    return np.asarray(even.reshape((h + 1) // 2, 2, (w + 1) // 2, 2, d).mean(axis=(1, 3)))


def _doubled(Z: Array, h: int, w: int) -> Array:
    """Assignments of the halved image, handed to all pixels they were made from."""
    maps = Z.reshape((h + 1) // 2, (w + 1) // 2, -1).repeat(2, axis=0).repeat(2, axis=1)
    return maps[:h, :w].reshape(h * w, -1)


def _mean_step(features: Array) -> float:
    """Root mean square of the distances between neighbours; 1 where all pixels are alike."""
    squares = [np.square(np.diff(features, axis=axis)).sum(axis=-1, dtype=np.float64).ravel() for axis in (0, 1)]
    return float(np.sqrt(np.concatenate(squares).mean())) or 1.0
