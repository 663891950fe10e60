"""The search among pairs of groups: lists equal those of all distances, for any grouping, order and thread count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lapmodes.graph.groups import Groups, Shortlists, every_pair, nearest, picked, search


def brute(Q, X, k, own=False):
    D = cdist(Q.astype(float), X.astype(float))
    if own:
        np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 60),
    d=st.integers(1, 40),
    groups=st.integers(1, 5),
    threads=st.integers(1, 3),
    single=st.booleans(),
    shift=st.sampled_from([0.0, 1e3]),
)
def test_lists_are_those_of_all_distances(seed, n, d, groups, threads, single, shift):
    rng = np.random.default_rng(seed)
    X = (shift + rng.standard_normal((n, d))).astype(np.float32 if single else np.float64)
    rows = Groups.of(X, [part for part in np.array_split(rng.permutation(n), groups) if part.size])
    lists = Shortlists.empty(n, 3, X.dtype)
    search(rows, rows, every_pair(rows, rows), lists, threads, lambda share: None)
    np.testing.assert_allclose(np.sqrt(lists.sqdist), brute(X, X, 3, own=True), rtol=1e-4 if single else 1e-9)
    assert not (lists.index == np.arange(n)[:, None]).any()


def test_guests_and_hosts_are_offered_to_each_other():
    X = np.random.default_rng(0).standard_normal((40, 5))
    hosts = Groups.of(X, [np.arange(20)])
    guests = Groups.of(X, [np.arange(20, 40)])
    lists = Shortlists.empty(40, 4, X.dtype)
    search(guests, hosts, np.zeros((1, 2), dtype=int), lists, 1, lambda share: None)
    np.testing.assert_allclose(np.sqrt(lists.sqdist[20:]), brute(X[20:], X[:20], 4))
    np.testing.assert_allclose(np.sqrt(lists.sqdist[:20]), brute(X[:20], X[20:], 4))


@pytest.mark.parametrize("d", [3, 64, 300])
def test_other_points_may_be_the_same(d):
    X = np.random.default_rng(0).standard_normal((50, d)).astype(np.float32)
    queries, rows = Groups.consecutive(X.copy()), Groups.consecutive(X)
    assert (nearest(queries, rows, every_pair(queries, rows), 1, 2)[:, 0] == np.arange(50)).all()


def test_equals_are_listed_by_number():
    X = np.zeros((30, 4))
    rows = Groups.of(X, [np.arange(30)[::-1].copy()])
    lists = Shortlists.empty(30, 3, X.dtype)
    search(rows, rows, every_pair(rows, rows), lists, 2, lambda share: None)
    assert (lists.index[5] == [0, 1, 2]).all() and (lists.index[1] == [0, 2, 3]).all()


@pytest.mark.parametrize("further", [False, True])
def test_the_nearest_candidates_are_picked(further):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 90)).astype(np.float32)
    candidates = np.array(
        [rng.choice(np.delete(np.arange(80), i), 9, replace=False) for i in range(80)], dtype=np.int32
    )
    lists = picked(X, X, candidates, 4, 2, further=further)
    for i in range(80):
        those = set(candidates[i].tolist()) | (
            set(candidates[candidates[i]].ravel().tolist()) - {i} if further else set()
        )
        among = sorted(those, key=lambda j: np.square(X[i] - X[j]).sum())
        assert lists.index[i].tolist() == among[:4]


def test_candidates_must_exist():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="rows of X"):
        picked(X, X, np.full((3, 1), 7, dtype=np.int32), 1, 1)
