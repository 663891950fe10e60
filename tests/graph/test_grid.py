from __future__ import annotations

import numpy as np
import pytest

from lapmodes.graph.grid import grid_graph


@pytest.mark.parametrize(("n_neighbors", "reach"), [(4, 1.0), (8, np.sqrt(2))])
def test_agrees_with_a_loop_over_pairs(n_neighbors, reach):
    rng = np.random.default_rng(0)
    f = rng.random((5, 7, 3))
    W = grid_graph(f, 0.4, n_neighbors=n_neighbors).toarray()
    place = np.argwhere(np.ones((5, 7)))
    flat = f.reshape(35, 3)
    for m in range(35):
        for n in range(35):
            near = m != n and np.linalg.norm(place[m] - place[n]) <= reach + 1e-9
            expected = np.exp(-np.square(flat[m] - flat[n]).sum() / (2 * 0.4**2)) if near else 0
            assert W[m, n] == pytest.approx(expected)


def test_a_single_row_and_infinite_width():
    W = grid_graph(np.zeros((1, 4), dtype=np.float32), np.inf)
    assert W.dtype == np.float32
    np.testing.assert_array_equal(W.toarray(), np.eye(4, k=1) + np.eye(4, k=-1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(4), 1.0), "must have shape"),
        ((np.full((2, 2), np.nan), 1.0), "must be finite"),
        ((np.zeros((2, 2)), 0.0), "'width' parameter"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        grid_graph(*arguments)
    with pytest.raises(ValueError, match="must be 4 or 8"):
        grid_graph(np.zeros((2, 2)), 1.0, n_neighbors=6)
