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
    assert "perfect on 2 of 2 draws" in result.claims[0].measured


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
