"""An order of the rows in which near ones have near numbers: work on their graph then stays in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial import cKDTree

from .._records import Array
from .cells import Cells
from .neighbors import TREE_DIMENSIONS

MANY_POINTS = 50_000
"""Below this, all that is known of the points fits into the cache in any order."""
LEAF_ROWS = 256


def local_order(X: Any, seed: int = 0) -> Array | None:
    """The rows by the cells of a partition of space; None where that would save little."""
    if issparse(X) or X.shape[0] <= MANY_POINTS:
        return None
    if X.shape[1] <= TREE_DIMENSIONS:
        return np.asarray(cKDTree(X, leafsize=LEAF_ROWS, balanced_tree=False).indices)
    return Cells.of(X, seed).rows.order.astype(np.intp)
