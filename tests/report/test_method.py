from __future__ import annotations

from lapmodes import LaplacianKModes
from lapmodes.report.method import HIDDEN, MEANING


def test_every_parameter_is_explained():
    assert set(LaplacianKModes().get_params()) - set(HIDDEN) == set(MEANING)
