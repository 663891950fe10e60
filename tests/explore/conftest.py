from __future__ import annotations

import numpy as np
import pytest

from lapmodes import LaplacianKModes
from lapmodes.explore.states import Base


@pytest.fixture(scope="session")
def groups():
    """Four groups of 20 rows with three columns, some rows between them."""
    rng = np.random.default_rng(0)
    places = np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0], [3, 3, 5]])
    return rng.normal(size=(80, 3)) * 1.2 + np.repeat(places, 20, axis=0)


@pytest.fixture(scope="session")
def base(groups):
    """Where explorations of the groups begin."""
    return Base(LaplacianKModes(3, random_state=0, n_jobs=1).fit(groups), groups, levels=(2, 3, 4, 5))
