"""Rows of assignments: dense and sparse answer alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes import _rows
from lapmodes._diagnostics import uncertainty


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    Z = np.round(rng.dirichlet(np.full(6, 0.2), 50), 1)
    Z[3] = [0, 0.5, 0, 0.5, 0, 0]
    return Z


def test_questions_have_the_same_answer(rows):
    sparse = _rows.as_sparse(rows, float)
    assert (sparse.data != 0).all()
    for question in (_rows.largest_columns, _rows.largest_values, _rows.column_sums, _rows.as_dense, uncertainty):
        np.testing.assert_allclose(question(sparse), question(rows), err_msg=question.__name__)
    factor = np.arange(50.0)
    np.testing.assert_allclose(_rows.scaled_rows(sparse, factor).toarray(), _rows.scaled_rows(rows, factor))
    assert _rows.scaled_rows(sparse, None) is sparse


def test_rows_are_replaced(rows):
    at, new = np.arange(50) % 7 == 3, np.roll(rows, 1, axis=1)[np.arange(50) % 7 == 3]
    found = _rows.replaced_rows(_rows.as_sparse(rows, float), at, _rows.as_sparse(new, float))
    np.testing.assert_array_equal(found.toarray(), _rows.replaced_rows(rows, at, new))


def test_equality_and_empty_rows(rows):
    sparse = _rows.as_sparse(rows, float)
    other = sparse.copy()
    assert _rows.same_rows(sparse, other)
    other.data[0] += 0.1
    assert not _rows.same_rows(sparse, other)
    empty = sp.csr_array((3, 4))
    assert _rows.largest_columns(empty).tolist() == [0, 0, 0]
    assert _rows.largest_values(empty).tolist() == [0, 0, 0]
