from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lapmodes.graph.neighbors import NeighborIndex


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact(d, sparse, dtype):
    X = np.random.default_rng(0).normal(size=(200, d)).astype(dtype)
    found = NeighborIndex(sp.csr_array(X) if sparse else X, 2).query_self(6)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :6], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, axis=1), found.distances, rtol=1e-5)


def test_a_point_is_never_its_own_neighbour_even_among_duplicates():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    found = NeighborIndex(X, 1).query_self(5)
    assert not (found.indices == np.arange(100)[:, None]).any()
    assert (found.distances == 0).all()


def test_no_more_neighbours_than_points():
    found = NeighborIndex(np.arange(4.0)[:, None], 1).query_self(10)
    assert found.indices.shape == (4, 3)


def test_query_counts_its_steps():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    done = []
    NeighborIndex(X, 2).query(X, 1, lambda n: done.append(n))
    assert sum(done) == 20_000 and len(done) > 1
