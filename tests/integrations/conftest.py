"""Data for the tests against other packages; everything here runs with ``make integrations`` only."""

import numpy as np
import pytest


@pytest.fixture
def vectors():
    """Three heaps of 40 rows in eight dimensions, and which heap each row is of."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    return 6 * rng.normal(size=(3, 8))[y] + rng.normal(size=(120, 8)), y
