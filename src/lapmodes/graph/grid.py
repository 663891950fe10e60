"""From an image to its pixel graph: each pixel is linked with the pixels around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._records import Array

FOUR = ((-1, 0), (0, -1), (0, 1), (1, 0))
EIGHT = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
"""Steps to the neighbours, in the order of their pixel numbers: rows of the matrix come out sorted."""


def grid_graph(features: Any, width: float, *, n_neighbors: int = 8) -> Any:
    """Heat affinity between neighbouring pixels: exp(-|f_m - f_n|^2 / (2 width^2)).

    Parameters
    ----------
    features : array-like of shape (height, width) or (height, width, n_features)
        What pixels are compared by: an intensity, or several numbers. float32 stays float32.
    width : float
        Width of the heat kernel; ``numpy.inf`` gives all edges weight 1.
    n_neighbors : {8, 4}, default=8
        8 links each pixel with all pixels around it, 4 with those beside, above and below it.

    Returns
    -------
    CSR matrix of shape (n_pixels, n_pixels)
        Symmetric; pixels are numbered row by row. To be passed as ``fit(features.reshape(n_pixels, -1), graph=W)``.

    Examples
    --------
    >>> from lapmodes.graph.grid import grid_graph
    >>> grid_graph([[0.0, 0.0], [1.0, 1.0]], width=1.0, n_neighbors=4).toarray().round(2)
    array([[0.  , 1.  , 0.61, 0.  ],
           [1.  , 0.  , 0.  , 0.61],
           [0.61, 0.  , 0.  , 1.  ],
           [0.  , 0.61, 1.  , 0.  ]])
    """
    f = _checked(features)
    if n_neighbors not in (4, 8):
        raise ValueError(f"The 'n_neighbors' parameter of grid_graph must be 4 or 8. Got {n_neighbors!r} instead.")
    if not width > 0:
        raise ValueError(f"The 'width' parameter of grid_graph must be a float above 0. Got {width!r} instead.")
    steps = EIGHT if n_neighbors == 8 else FOUR
    h, w = f.shape[:2]
    weights = np.zeros((h, w, len(steps)), dtype=f.dtype)
    inside = np.zeros((h, w, len(steps)), dtype=bool)
    for slot, (down, right) in enumerate(steps):
        here = _overlap(h, down), _overlap(w, right)
        there = _overlap(h, -down), _overlap(w, -right)
        difference = (f[here] - f[there]) / f.dtype.type(width)
        weights[(*here, slot)] = np.exp(-0.5 * np.einsum("...d,...d->...", difference, difference))
        inside[(*here, slot)] = True
    return _as_csr(weights, inside, [down * w + right for down, right in steps])


def _checked(features: Any) -> Array:
    f = np.asarray(features)
    f = f if f.dtype in (np.float32, np.float64) else f.astype(np.float64)
    if f.ndim == 2:
        f = f[:, :, None]
    if f.ndim != 3 or f.size == 0:
        raise ValueError(f"'features' must have shape (height, width) or (height, width, n_features). Got {f.shape}.")
    if not np.isfinite(f).all():
        raise ValueError("'features' must be finite. Got NaN or infinity.")
    return f


def _overlap(size: int, step: int) -> slice:
    """The places from which a step stays inside."""
    return slice(max(0, -step), size - max(0, step))


def _as_csr(weights: Array, inside: Array, offsets: list[int]) -> Any:
    """The matrix whose row n has weights[n, slot] at column n + offsets[slot], where that is inside."""
    n = weights.shape[0] * weights.shape[1]
    inside = inside.reshape(n, -1)
    indptr = np.zeros(n + 1, dtype=np.int32 if weights.size < 2**31 else np.int64)
    np.cumsum(inside.sum(axis=1), out=indptr[1:])
    columns = np.arange(n, dtype=indptr.dtype)[:, None] + np.array(offsets, dtype=indptr.dtype)
    return csr_array((weights.reshape(n, -1)[inside], columns[inside], indptr), shape=(n, n))
