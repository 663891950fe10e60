"""Rows of many dimensions along their principal axes: used where the axes show who is near, and only there."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lapmodes.graph import neighbors
from lapmodes.graph.cells import CellSearch
from lapmodes.graph.neighbors import NeighborIndex
from lapmodes.graph.projection import Projection


def low_rank(n=4000, d=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) + 0.01 * rng.standard_normal((n, d))
    return X.astype(np.float32)


def test_axes_are_taken_where_they_show_who_is_near():
    assert Projection.worthwhile(low_rank(), 1, 0) is not None
    assert Projection.worthwhile(np.random.default_rng(0).standard_normal((4000, 200)), 1, 0) is None
    assert Projection.worthwhile(low_rank(d=100), 1, 0) is None


@pytest.mark.parametrize("new", [False, True])
def test_neighbours_are_measured_in_all_dimensions(monkeypatch, new):
    monkeypatch.setattr(neighbors, "EXACT_WORK", 0)
    X = low_rank()
    Q = X[:300] + np.float32(0.01)
    found = NeighborIndex(X, 2).query(Q, 6) if new else NeighborIndex(X, 2).query_self(6)
    rows = Q if new else X
    D = cdist(rows, X)
    if not new:
        np.fill_diagonal(D, np.inf)
    truth = np.argsort(D, axis=1)[:, :6]
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(truth, found.indices, strict=True)])
    assert recall > 0.97 and abs(recall - found.recall) < 0.02
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-4)


def test_the_search_is_along_the_axes():
    search = CellSearch(low_rank(), 1)
    assert search._compared.shape[1] == 64 and search._X.shape[1] == 200
