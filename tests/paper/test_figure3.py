from dataclasses import replace

import numpy as np
import pytest

from lapmodes.datasets import make_moons_with_outliers
from lapmodes.paper import figure3
from lapmodes.paper.results import Setting


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure3, "QUICK", 2)
        return figure3.run(Setting(quick=True))


def test_claims_hold(result):
    assert [claim.holds for claim in result.claims] == [True] * 4
    assert "no wrong point on 2 of 2 draws" in result.claims[0].measured


def test_one_wrong_inlier_on_one_draw_refutes_the_claim():
    X, y = make_moons_with_outliers(random_state=0)
    right = figure3.cluster(X, y)
    draws = [right[1]] * 9 + [replace(right[1], accuracy=799 / 800)]
    first, *others = figure3.claims(X, right, draws)
    assert not first.holds and "9 of 10 draws; lowest accuracy 0.9988" in first.measured
    assert all(claim.holds for claim in others)


def test_four_panels(result):
    (picture,) = result.pictures
    assert [ax.get_title() for ax in picture.figure.axes][1] == "Laplacian K-modes"
    assert len(picture.figure.axes) == 4


def test_rank_of_a_mode_is_low_away_from_the_data():
    X, y = make_moons_with_outliers(random_state=0)
    model = figure3.cluster(X, y)[1].model
    assert figure3.mode_ranks(model, X).min() > 0.9
    model.cluster_centers_ = np.full((2, 2), 10.0)
    assert figure3.mode_ranks(model, X).max() < 0.1
