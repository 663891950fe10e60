from __future__ import annotations

import numpy as np
import pytest

from lapmodes import LaplacianKModes


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)) + np.repeat([[0, 0, 0, 0], [6, 0, 0, 0], [0, 6, 6, 0]], 30, axis=0)


@pytest.fixture(scope="session")
def model(rows):
    return LaplacianKModes(3, random_state=0, n_jobs=1).fit(rows)
