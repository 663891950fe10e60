"""What all real data go through before they are handed out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._records import Array
from .._validation import is_int, parameter_error


def prepared(X: Any, unit_norm: bool, dtype: Any) -> Any:
    """X in the precision asked for, bytes scaled to [0, 1], rows scaled to unit length if asked for."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise parameter_error("the fetchers", "dtype", "float32 or float64", dtype)
    scaled = X.astype(dtype)
    if X.dtype == np.uint8:
        scaled /= 255
    if unit_norm:
        from sklearn.preprocessing import normalize

        normalize(scaled, copy=False)
    return scaled


def sample_per_class(y: Array, per_class: int, random_state: Any) -> Array:
    """Rows of a random sample with equally many of each class, in their order."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if not is_int(per_class, 1) or per_class > smallest:
        raise parameter_error("the fetchers", "per_class", f"None or an int from 1 to {smallest}", per_class)
    rng = np.random.default_rng(random_state)
    chosen = [rng.choice(np.flatnonzero(y == label), per_class, replace=False) for label in np.unique(y)]
    return np.sort(np.concatenate(chosen))
