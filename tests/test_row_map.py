"""The order of many rows: near ones get near numbers, and nobody sees it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapmodes import LaplacianKModes, load
from lapmodes.graph import locality
from lapmodes.graph.neighbors import NeighborIndex


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(locality, "MANY_POINTS", 0)


@pytest.mark.parametrize("dimensions", [3, 20])
def test_neighbours_get_near_numbers(always, dimensions):
    X = make_blobs(6000, dimensions, centers=30, random_state=0)[0]
    order = locality.local_order(X)
    assert np.array_equal(np.sort(order), np.arange(6000))
    before, after = (
        np.median(np.abs(NeighborIndex(rows, 1).query_self(5).indices - np.arange(6000)[:, None]))
        for rows in (X, X[order])
    )
    assert after < before / 5


def test_few_or_sparse_rows_stay_as_they_are():
    from scipy.sparse import csr_array

    assert locality.local_order(np.zeros((100, 3))) is None
    assert locality.local_order(csr_array((100_000, 3))) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_is_not_seen(always, monkeypatch, weighted, tmp_path):
    X, y = make_blobs(600, 3, centers=4, random_state=1)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 600).astype(float) if weighted else None
    partial = np.where(rng.random(600) < 0.1, y, -1)
    links = np.array([[0, 1], [5, 9]])
    model = LaplacianKModes(4, random_state=0).fit(X, partial, sample_weight=weight, must_link=links)
    monkeypatch.setattr(locality, "MANY_POINTS", 10**9)
    plain = LaplacianKModes(4, random_state=0).fit(X, partial, sample_weight=weight, must_link=links)
    assert (model._trained.kept is None) is False and (model.labels_ == plain.labels_).all()
    np.testing.assert_allclose(model.assignments_, plain.assignments_, atol=0.02)
    np.testing.assert_allclose(model.graph_.toarray(), plain.graph_.toarray(), rtol=1e-12)
    assert (model.exemplars_ == plain.exemplars_).all()
    new = X + 0.1
    np.testing.assert_allclose(model.predict_proba(new), plain.predict_proba(new), atol=0.02)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").predict_proba(new), model.predict_proba(new))
