"""Orders of many numbers: as NumPy's, equals as they come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapmodes._order import stable_order


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_order_is_numpys(dtype, data):
    width = 32 if dtype == np.float32 else 64
    values = data.draw(arrays(dtype, st.integers(0, 60), elements=st.floats(width=width, allow_nan=False)))
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))


def test_equals_stay_in_order():
    values = np.random.default_rng(0).integers(-3, 3, 5000).astype(np.float32)
    values[::7] *= -0.0
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
