import pytest

from lapmodes.paper import figure2
from lapmodes.paper.results import Setting


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure2, "QUICK", figure2.Scale(2, (1.0,), (0.1, 0.2)))
        return figure2.run(Setting(quick=True))


def test_claims_hold(result):
    assert [claim.holds for claim in result.claims] == [True, True, True]
    assert "no wrong point on 2 of 2 draws" in result.claims[0].measured


def test_broken_graph_is_shown_beside_the_whole_one(result):
    narrow, right = result.tables[1].rows
    assert float(narrow[1]) < 0.9 < float(right[1])
    titles = [ax.get_title() for ax in result.pictures[1].figure.axes]
    assert titles[1] == "λ = 1, σ = 0.2: 100%"
