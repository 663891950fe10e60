"""Rows of assignments: dense and sparse answer alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from lapmodes import _rows
from lapmodes.metrics import assignment_entropy


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    Z = np.round(rng.dirichlet(np.full(6, 0.2), 50), 1)
    Z[3] = [0, 0.5, 0, 0.5, 0, 0]
    return Z


def sparse(Z):
    return _rows.as_rows(Z, float, sparse=True)


def test_questions_have_the_same_answer(rows):
    few = sparse(rows)
    assert (few.data != 0).all() and few.has_canonical_format
    questions = (_rows.largest_columns, _rows.largest_values, _rows.column_sums, _rows.as_dense, assignment_entropy)
    for question in questions:
        np.testing.assert_allclose(question(few), question(rows), err_msg=question.__name__)
    factor = np.arange(50.0)
    np.testing.assert_allclose(_rows.scaled_rows(few, factor).toarray(), _rows.scaled_rows(rows, factor))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_either_kind_become_the_other(rows, dtype):
    for each in (rows, sp.csr_array(rows), sp.coo_array(rows), rows.T.copy().T):
        dense, few = (_rows.as_rows(each, dtype, sparse=kind) for kind in (False, True))
        assert dense.dtype == few.dtype == dtype and dense.flags.c_contiguous
        np.testing.assert_array_equal(dense, rows.astype(dtype))
        np.testing.assert_array_equal(few.toarray(), dense)


def test_one_hot_rows(rows):
    labels = _rows.largest_columns(rows)
    strided = np.column_stack([labels, labels + 1]).astype(np.int32)[:, 0]  # as a column of another array
    for each in (labels, strided):
        few = _rows.one_hot(each, 6, np.float32, sparse=True)
        np.testing.assert_array_equal(_rows.one_hot(each, 6, np.float32), np.eye(6)[labels])
        np.testing.assert_array_equal(few.toarray(), np.eye(6)[labels])
        assert all(part.flags.c_contiguous for part in _rows.row_arrays(few))


def test_rows_are_replaced(rows):
    at, new = np.arange(50) % 7 == 3, np.roll(rows, 1, axis=1)[np.arange(50) % 7 == 3]
    found = _rows.replaced_rows(sparse(rows), at, sparse(new))
    np.testing.assert_array_equal(found.toarray(), _rows.replaced_rows(rows, at, new))
    np.testing.assert_array_equal(found.toarray()[at], new)
    np.testing.assert_array_equal(found.toarray()[~at], rows[~at])


def test_equality_and_empty_rows(rows):
    few = sparse(rows)
    other = few.copy()
    assert _rows.same_rows(few, other)
    other.data[0] += 0.1
    assert not _rows.same_rows(few, other)
    empty = sp.csr_array((3, 4))
    assert _rows.largest_columns(empty).tolist() == [0, 0, 0]
    assert _rows.largest_values(empty).tolist() == [0, 0, 0]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), one=st.integers(1, 20), two=st.integers(1, 20))
def test_agreement_is_the_adjusted_rand_index(seed, n, one, two):
    """With many clusters, few of whose pairs have points in common, as with few."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, one, n), rng.integers(0, two, n)
    assert _rows.adjusted_rand(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
    assert _rows.adjusted_rand(a, a) == pytest.approx(1)
    table = _rows.contingency(a, b, 20)
    np.testing.assert_array_equal(table[np.ix_(np.unique(a), np.unique(b))], contingency_matrix(a, b))
    assert table.sum() == n
