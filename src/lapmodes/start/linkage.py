"""Genie: single linkage on a spanning tree that keeps the sizes of clusters even (Gagolewski et al. 2016)."""

from __future__ import annotations

import numpy as np

from .. import _native
from .._records import Array, Tree


def even_linkage_labels(tree: Tree, K: int, most_uneven: float, sizes: Array | None = None) -> Array:
    """K clusters; while the Gini index of the sizes is above `most_uneven`, a smallest cluster must be joined.

    Each point counts as much as `sizes` say, or one.
    """
    labels = np.empty(tree.length.size + 1, dtype=np.int32)
    _native.even_linkage(tree.start, tree.end, sizes, K, most_uneven, labels)
    return labels
