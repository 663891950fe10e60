from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.files import FileError, Recipe, Table, learn

SCALINGS = ["none", "standard", "robust", "minmax"]


def rows(n=30, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1, 10, 100, 1000][:d]


@pytest.mark.parametrize("scale", SCALINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_can_be_undone_and_repeated(scale, dtype):
    X = rows().astype(dtype)
    recipe, raw, points = learn(Table(matrix=X), scale=scale)
    assert points.dtype == dtype
    np.testing.assert_allclose(recipe.in_units(points), raw, rtol=1e-4)
    np.testing.assert_array_equal(recipe.apply(Table(matrix=X)), points)
    again = Recipe.from_json(recipe.to_json())
    np.testing.assert_array_equal(again.apply(Table(matrix=X)), points)


def test_standard_scaling_is_sklearns():
    from sklearn.preprocessing import StandardScaler

    X = rows()
    np.testing.assert_allclose(learn(Table(matrix=X), scale="standard")[2], StandardScaler().fit_transform(X))


@pytest.mark.parametrize(("factor", "expected"), [(2, "none"), (100, "standard")])
def test_auto_scaling_looks_at_the_spreads(factor, expected):
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1, factor]
    assert learn(Table(matrix=X))[0].scaling == expected


def test_sparse_rows_stay_sparse():
    X = sp.random_array((20, 9), density=0.3, rng=0, format="csr")
    recipe, _, points = learn(Table(matrix=X), scale="standard")
    assert sp.issparse(points) and points.nnz == X.nnz
    np.testing.assert_allclose(recipe.in_units(points.toarray()), X.toarray(), atol=1e-12)


@given(st.lists(st.one_of(st.none(), st.integers(-1000, 1000)), min_size=4, max_size=30))
def test_imputation_fills_only_gaps(values):
    known = [value for value in values if value is not None]
    table = Table(columns=pa.table({"a": pa.array(values, pa.float64()), "b": np.arange(len(values)) ** 2.0}))
    if len(set(known)) < 2:
        return
    _, raw, _ = learn(table, columns=["a", "b"], impute="median", scale="none")
    expected = [np.median(known) if value is None else value for value in values]
    np.testing.assert_allclose(raw[:, 0], expected)


def test_columns_are_chosen_and_explained():
    n = 20
    columns = {
        "id": np.arange(n),
        "value": np.arange(n) ** 2.0,
        "flag": np.arange(n) % 2 == 0,
        "when": pa.array(np.arange(n), pa.timestamp("s")),
        "word": ["x"] * n,
        "nothing": pa.nulls(n),
        "small": pa.array(np.arange(n)[::-1] * 3 % 16, pa.int8()),
    }
    recipe, _, points = learn(Table(columns=pa.table(columns)), scale="none")
    assert recipe.columns == ("value", "flag", "small")
    assert {name for name, _ in recipe.dropped} == {"id", "when", "word", "nothing"}
    assert set(points[:, 1]) == {0.0, 1.0}
    asked, _, _ = learn(Table(columns=pa.table(columns)), columns=["id", "value"])
    assert asked.columns == ("id", "value")
    with pytest.raises(FileError, match="'word' cannot be used: it holds text"):
        learn(Table(columns=pa.table(columns)), columns=["word"])
