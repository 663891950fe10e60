"""Density modes: the K hills of the neighbour density that rise highest above their passes, weighed by mass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _native
from .._records import Array, Neighbors, Tree
from ..graph.spanning import stable_order

MASS_POWER = 0.5
"""A hill of m points counts sqrt(m) times its prominence: the noise of a hill's height falls like 1 / sqrt(m)."""


def density_mode_labels(
    near: Neighbors, tree: Tree, numbers: Sequence[int], sizes: Array | None = None, dimensions: int = 1
) -> list[Array]:
    """Labels of the most prominent hills of the density, for each of the numbers of hills.

    The log density is minus the log of the root mean square distance to the neighbours. Hills meet at the highest edge
    between them (of the neighbour graph and the spanning tree), whose height is that of its lower end, or less where
    the edge is long. Where points stand for several each, they would be nearer to each other if all were there.
    """
    height = log_density(near.distances)
    # In place and one at a time, as there is an entry for each edge: how far saddles lie below zero.
    start, end, length = near.edges()
    start = np.concatenate([start, tree.start])
    end = np.concatenate([end, tree.end])
    depth = _log(np.concatenate([length, tree.length], dtype=np.float64))
    del length
    if sizes is not None:
        around = (sizes + sizes[near.indices].sum(axis=1)) / (near.indices.shape[1] + 1)
        nearer = np.log(around) / dimensions
        height += nearer
        depth -= np.minimum(nearer[start], nearer[end])
    low = -height
    np.maximum(depth, low[start], out=depth)
    np.maximum(depth, low[end], out=depth)
    order = stable_order(depth.astype(near.distances.dtype, copy=False))
    start = start[order]
    end = end[order]
    saddle = np.negative(depth[order], out=depth)
    found = [np.empty(height.size, dtype=np.int32) for _ in numbers]
    for K, labels in zip(numbers, found, strict=True):
        _native.density_modes(start, end, saddle, height, sizes, K, MASS_POWER, labels)
    return found


def log_density(distances: Array) -> Array:
    """Minus the log of the root mean square distance to the neighbours."""
    return -0.5 * _log(np.square(distances, dtype=np.float64).mean(axis=1))


def _log(values: Array) -> Array:
    """The logarithm, in place; zero distances (duplicates) count as the smallest positive one over a thousand."""
    least = values.min(initial=np.inf, where=values > 0)
    np.maximum(values, least * 1e-3 if np.isfinite(least) else 1.0, out=values)
    return np.asarray(np.log(values, out=values))
