from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapmodes.solve.members import Members
from lapmodes.solve.modes import shift_modes
from lapmodes.solve.points import as_points


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5000), K=st.integers(1, 12), share=st.floats(0, 1))
def test_lists_hold_the_positive_entries_in_order(seed, n, K, share):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, K)) * (rng.random((n, K)) < share)
    expected = sp.csc_array(Z)
    for members in (Members.of(Z, 2), Members.of(sp.csr_array(Z), 2)):
        np.testing.assert_array_equal(members.indptr, expected.indptr)
        np.testing.assert_array_equal(members.rows, expected.indices)
        np.testing.assert_array_equal(members.values, expected.data)


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=8), D=st.integers(1, 10_000), seed=st.integers(0, 99))
def test_pieces_cover_the_lists_of_active_clusters_once(sizes, D, seed):
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    active = np.random.default_rng(seed).random(len(sizes)) < 0.7
    members = Members(indptr, np.zeros(indptr[-1], np.int32), np.ones(indptr[-1]))
    pieces = members.pieces(active, D)
    seen = [i for _, start, stop in pieces.bounds for i in range(start, stop)]
    assert seen == [i for k in np.flatnonzero(active) for i in range(indptr[k], indptr[k + 1])]
    assert np.all(indptr[pieces.owner] <= pieces.bounds[:, 1])
    assert np.all(pieces.bounds[:, 2] <= indptr[pieces.owner + 1])


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_do_not_change_a_bit(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 24)).astype(np.float32) * (rng.random((20_000, 24)) < 0.4)
    Z = rng.dirichlet(np.full(3, 0.3), 20_000).astype(np.float32)
    X = np.ascontiguousarray(X, dtype=np.float32)
    found = [
        shift_modes(as_points(sp.csr_array(X) if sparse else X, threads), Z, X[:3].copy(), 1.0, tol=1e-6).C
        for threads in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_points_of_negligible_weight_change_nothing():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(3000, 2))
    far = 40 + rng.normal(size=(3000, 2))
    with_far = np.concatenate([near, far])
    C = np.zeros((1, 2))
    one, two = (shift_modes(as_points(X, 1), np.ones((len(X), 1)), C, 1.0, tol=1e-9).C for X in (near, with_far))
    np.testing.assert_allclose(one, two, rtol=1e-12)
