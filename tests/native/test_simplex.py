from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import project

from lapmodes import _native


def projected(V, threads=1):
    out = np.array(V, order="C")
    _native.project_rows(out, threads)
    return out


@settings(max_examples=300)
@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.floats(-1e3, 1e3)))
def test_agrees_with_sorting(V):
    Z = projected(V)
    np.testing.assert_allclose(Z, [project(v) for v in V], atol=1e-12)


@settings(max_examples=300)
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 3), st.integers(1, 30)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_any_finite_row_lands_on_the_simplex(V):
    Z = projected(V)
    k = V.shape[1]
    assert (Z >= 0).all()
    assert np.abs(Z.sum(axis=1, dtype=np.float64) - 1).max() <= 4 * np.finfo(np.float32).eps * k


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]),
        ([1e308, -1e308, 0.0], [1, 0, 0]),
        ([1e-310, 0.0], [0.5, 0.5]),
        ([1e300, 1e300], [0.5, 0.5]),
        ([-1e300, -1e300, -2e300], [0.5, 0.5, 0]),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([7.0], [1.0]),
        ([-np.finfo(float).max], [1.0]),
        ([-np.finfo(float).max] * 3, [1 / 3] * 3),
    ],
)
def test_extreme_rows(row, expected):
    np.testing.assert_allclose(projected([row])[0], expected, atol=1e-15)


def test_projection_is_idempotent():
    Z = projected(np.random.default_rng(0).normal(size=(50, 7)))
    np.testing.assert_allclose(projected(Z), Z, atol=1e-15)


def test_threads_do_not_change_a_bit():
    V = np.random.default_rng(0).normal(size=(5000, 13))
    np.testing.assert_array_equal(projected(V, 1), projected(V, 3))
