from __future__ import annotations

import pytest

from lapmodes.paper import homotopy
from lapmodes.paper.homotopy import Pair
from lapmodes.paper.results import Setting


def test_both_ways_separate_three_blobs_from_every_start(small_problems):
    result = homotopy.run(Setting(quick=True))
    rows = result.tables[1].rows
    assert len(rows) == homotopy.QUICK_STARTS * len(homotopy.LAMS)
    assert all(float(cell) == pytest.approx(100) for row in rows for cell in row[2:])
    assert not any(claim.holds for claim in result.claims)  # nothing can be raised above 100


@pytest.mark.parametrize(("accuracy", "nmi", "holds"), [(71.0, 81.0, True), (71.0, 80.0, False), (69.0, 85.0, False)])
def test_the_claim_needs_a_gain_in_both_means(accuracy, nmi, holds):
    lam = homotopy.LAMS[0]
    pairs = [Pair(lam, seed, (60.0, 70.0), (70.0, 80.0), ((65.0, 75.0), (accuracy, nmi))) for seed in range(3)]
    claim = homotopy.claim(pairs, lam)
    assert claim.holds == holds
    assert f"{accuracy - 70:+.2f} ACC, {nmi - 80:+.2f} NMI over 3 starts" in claim.measured
