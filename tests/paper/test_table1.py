import sys

import numpy as np
import pytest

from lapmodes.paper import table1
from lapmodes.paper.results import Setting
from lapmodes.paper.table1 import (
    Timing,
    centroid_gap,
    density_peaks,
    make_arc_and_blob,
    points_in_other_hulls,
    unfitted_models,
)


@pytest.fixture(scope="module")
def arc():
    return make_arc_and_blob(random_state=1)


@pytest.fixture(scope="module")
def models(arc):
    pytest.importorskip("kmedoids")
    return {name: model.fit(arc[0]) for name, model in unfitted_models().items()}


@pytest.mark.parametrize("row", table1.CHECKS)
def test_cells_agree_on_other_data_than_the_tables(row, models, arc):
    measured = [table1.CHECKS[row](name, models[name], arc[0])[0] for name in table1.ALGORITHMS]
    assert tuple(measured) == table1.PUBLISHED[row]


def test_convex_clusters_have_no_points_in_other_hulls():
    X = np.random.default_rng(0).normal(size=(200, 2))
    halves = (X[:, 0] > 0).astype(int)
    assert points_in_other_hulls(halves, X) == 0
    ring = (np.linalg.norm(X, axis=1) > 1).astype(int)
    assert points_in_other_hulls(ring, X) > 20


def test_moved_centroid_is_neither_valid_nor_a_peak(arc):
    X, _ = arc
    model = unfitted_models()["K-modes"].fit(X)
    assert centroid_gap(model, X) < 1 and density_peaks(model, X)
    model.cluster_centers_ = model.cluster_centers_ + 0.3
    assert not density_peaks(model, X)
    model.cluster_centers_ = model.cluster_centers_ + 30
    assert centroid_gap(model, X) > 10


def test_exponent_of_known_work(monkeypatch):
    """A clock that the model itself moves on, so that nothing depends on the machine."""

    class Square:
        clock = 0.0

        def fit(self, X, graph=None):
            Square.clock += 3.0 * len(X) ** 2

    monkeypatch.setattr(table1, "process_time", lambda: Square.clock)
    assert Timing(Square(), 500, 2000).exponent() == pytest.approx(2)


def test_claim_names_the_cells_that_disagree(monkeypatch):
    pytest.importorskip("kmedoids")
    monkeypatch.setattr(Timing, "exponent", lambda self: 1.5)
    result = table1.run(Setting(quick=True))
    compact, checks = result.tables
    assert len(checks.rows) == 30 and len(compact.rows) == 5
    (claim,) = result.claims
    assert not claim.holds  # a made-up exponent of 1.5 is not that of K-means
    assert "Cost per iteration of K-means: N^1.50" in claim.measured
    assert "Density" not in claim.measured


def test_without_kmedoids_its_column_is_left_out_with_a_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    monkeypatch.setattr(Timing, "exponent", lambda self: 1.5)
    result = table1.run(Setting(quick=True))
    compact, checks = result.tables
    assert compact.header == ["", *(name for name in table1.ALGORITHMS if name != "K-medoids")]
    assert all(len(row) == 6 for row in compact.rows) and len(checks.rows) == 25
    assert "K-medoids is left out." in result.introduction and "lapmodes[baselines]" in result.introduction
