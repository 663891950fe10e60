"""The row map: what it takes it spreads again, and nobody sees the order of the rows or that some were left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reference import random_affinity
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from lapmodes import LaplacianKModes, _row_map, load
from lapmodes._records import Neighbors
from lapmodes._row_map import RowMap, first_equal_rows, local_order
from lapmodes._rows import as_dense
from lapmodes._validation import Given
from lapmodes.graph.neighbors import make_index


def some_map(rng, n, *, left_out, ordered):
    """A map of random points, the weights behind it, and the points."""
    X = rng.normal(size=(n, 2))
    weight = rng.random(n) * (rng.random(n) < 0.6) if left_out else rng.random(n) + 0.1
    weight[0] = 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_row_map, "ORDERED_ROWS", 0 if ordered else 10**9)
        patch.setattr(_row_map, "LEAF_ROWS", 4)
        return RowMap.of(X, Given(sample_weight=weight), 1), weight, X


MAPS = {"seed": st.integers(0, 2**32 - 1), "n": st.integers(1, 60), "left_out": st.booleans(), "ordered": st.booleans()}


@given(**MAPS)
def test_what_is_taken_is_spread_again(seed, n, left_out, ordered):
    rng = np.random.default_rng(seed)
    rows, weight, X = some_map(rng, n, left_out=left_out, ordered=ordered)
    kept = weight > 0
    values, numbers = rng.random((n, 3)), np.arange(n)
    np.testing.assert_array_equal(rows.spread(rows.take(values))[kept], values[kept])
    np.testing.assert_array_equal(rows.take(rows.spread(rows.take(values))), rows.take(values))
    taken = rows.take(numbers)
    np.testing.assert_array_equal(np.sort(taken), np.flatnonzero(kept))
    assert (rows.take(weight) > 0).all()
    # a sample that was left out gets the value of the nearest one that was not
    D = np.where(kept, cdist(X, X), np.inf)
    source = rows.spread(taken)
    np.testing.assert_allclose(D[numbers, source], D.min(axis=1))
    few = sp.csr_array(values)
    np.testing.assert_array_equal(rows.spread(rows.take(few)).toarray(), rows.spread(rows.take(values)))
    assert rows.take(None) is None and rows.spread(None) is None


@given(**MAPS)
def test_graphs_are_taken_and_spread_alike(seed, n, left_out, ordered):
    rng = np.random.default_rng(seed)
    rows, weight, _ = some_map(rng, n, left_out=left_out, ordered=ordered)
    W, kept = random_affinity(rng, n), weight > 0
    inner = rows.take_given(Given(graph=W), float).graph
    taken = rows.take(np.arange(n))
    np.testing.assert_array_equal(inner.toarray(), W.toarray()[np.ix_(taken, taken)])
    whole = rows.spread_graph(inner)
    np.testing.assert_array_equal(whole.toarray(), W.toarray() * np.outer(kept, kept))
    assert whole.has_sorted_indices
    np.testing.assert_array_equal(rows.take_columns(W).toarray(), W.toarray()[:, taken])


def test_pairs_keep_their_points_and_lose_those_left_out():
    rng = np.random.default_rng(0)
    rows, weight, _ = some_map(rng, 50, left_out=True, ordered=True)
    pairs, known = rng.integers(0, 50, size=(40, 2)), rng.integers(-1, 3, 50)
    given_rows = rows.take_given(Given(sample_weight=weight, known=known, must_link=pairs), float)
    there = (weight[pairs] > 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    assert 0 < there.sum() < 40
    np.testing.assert_array_equal(rows.take(np.arange(50))[given_rows.must_link], pairs[there])
    np.testing.assert_array_equal(given_rows.known, rows.take(known))
    np.testing.assert_array_equal(given_rows.sample_weight, rows.take(weight))


def test_rows_stay_where_there_are_few_or_their_order_was_given(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert RowMap.of(X, Given(), 1).sample_of is None
    monkeypatch.setattr(_row_map, "ORDERED_ROWS", 10)
    assert RowMap.of(X, Given(), 1).sample_of is not None
    near = Neighbors(np.zeros((100, 1), int), np.zeros((100, 1)))
    for rows, given_too in (
        (sp.csr_array(X), Given()),
        (X, Given(graph=sp.csr_array((100, 100)))),
        (X, Given(neighbors=near)),
    ):
        assert RowMap.of(rows, given_too, 1).sample_of is None


@pytest.mark.parametrize("dimensions", [3, 20])
def test_neighbours_get_near_numbers(dimensions):
    X = make_blobs(6000, dimensions, centers=30, random_state=0)[0]
    order = local_order(X)
    assert np.array_equal(np.sort(order), np.arange(6000))
    before, after = (
        np.median(np.abs(make_index(rows, 1).query_self(5).indices - np.arange(6000)[:, None]))
        for rows in (X, X[order])
    )
    assert after < before / 5


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_is_not_seen(monkeypatch, weighted, tmp_path):
    X, y = make_blobs(600, 3, centers=4, random_state=1)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 600).astype(float) if weighted else None
    partial = np.where(rng.random(600) < 0.1, y, -1)
    links = np.array([[0, 1], [5, 9]])
    fits = []
    for many in (0, 10**9):
        monkeypatch.setattr(_row_map, "ORDERED_ROWS", many)
        fit = {"partial_labels": partial, "sample_weight": weight, "must_link": links}
        fits.append(LaplacianKModes(4, random_state=0).fit(X, **fit))
    model, plain = fits
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.assignments_, plain.assignments_, atol=0.02)
    np.testing.assert_allclose(model.graph_.toarray(), plain.graph_.toarray(), rtol=1e-12)
    np.testing.assert_array_equal(model.exemplars_, plain.exemplars_)
    new = X + 0.1
    np.testing.assert_allclose(model.predict_proba(new), plain.predict_proba(new), atol=0.02)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").predict_proba(new), model.predict_proba(new))


def test_samples_without_weight_are_not_there():
    """A fit with zero weights is the fit without these samples; they get what the nearest of the others got."""
    X, _ = make_blobs(200, 2, centers=3, random_state=0)
    kept = np.random.default_rng(0).random(200) < 0.7
    model = LaplacianKModes(3, random_state=0).fit(X, sample_weight=kept.astype(float))
    fewer = LaplacianKModes(3, random_state=0).fit(X[kept], sample_weight=np.ones(kept.sum()))
    np.testing.assert_array_equal(model.labels_[kept], fewer.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, fewer.cluster_centers_)
    assert model.objective_ == fewer.objective_
    nearest = cdist(X[~kept], X[kept]).argmin(axis=1)
    np.testing.assert_array_equal(model.assignments_[~kept], fewer.assignments_[nearest])
    assert kept[model.exemplars_].all()


# Equal samples are one row.

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5])


@given(st.data(), st.integers(1, 40), st.integers(1, 3), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_equal_samples_are_found(data, n, d, sparse, dtype):
    X = np.array(data.draw(st.lists(st.lists(VALUES, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=dtype)
    labels = (
        np.array(data.draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n))) if data.draw(st.booleans()) else None
    )
    rows = X
    if sparse:  # zeros may be stored
        rows = sp.csr_array((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, d))
    keys = [(*(X[i] + 0.0).tolist(), None if labels is None else labels[i]) for i in range(n)]
    expected = np.array([keys.index(key) for key in keys])
    found = first_equal_rows(rows, 1, labels)
    np.testing.assert_array_equal(np.arange(n) if found is None else found, expected)


def test_unequal_samples_with_equal_keys_stay_apart(monkeypatch):
    X = np.array([[0.0], [1.0], [0.0], [2.0], [1.0]])
    monkeypatch.setattr(_row_map, "row_keys", lambda X, threads: np.zeros(len(X), dtype=np.uint64))
    found = first_equal_rows(X, 1)
    np.testing.assert_array_equal(X[found], X)
    finder = _row_map.RowFinder(X, 1)
    asked, rows = finder.find(np.array([[2.0], [7.0], [0.0]]), 1)
    np.testing.assert_array_equal(X[rows], np.array([[2.0], [7.0], [0.0]])[asked])


def repeated(seed):
    """Rounded heaps, their distinct rows in the order in which they come up, and how often each does."""
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.normal(size=(300, 2)) + 10 * np.eye(3, 2)[rng.integers(0, 3, 300)], 0) / 2
    first, counts = np.unique(X, axis=0, return_index=True, return_counts=True)[1:]
    order = np.argsort(first)
    return X, X[first[order]], counts[order], first[order]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"laplacian": "normalized"},
        {"bandwidth": "entropic", "affinity": "entropic"},
        {"bandwidth": np.inf},
        {"sparse_assignments": True},
        {"init": "k-means", "lam": 1.0, "affinity": "heat"},
    ],
)
def test_copies_are_weights(parameters):
    """A fit to repeated samples is the fit to each of them once, with its number as its weight."""
    X, distinct, counts, first = repeated(0)
    assert len(distinct) < 200
    one = LaplacianKModes(3, random_state=0, **parameters).fit(X)
    two = LaplacianKModes(3, random_state=0, **parameters).fit(distinct, sample_weight=counts)
    np.testing.assert_array_equal(one.labels_[first], two.labels_)
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-6, atol=1e-9)
    assert one.objective_ == pytest.approx(two.objective_ * len(X) / len(distinct), rel=1e-9)
    new = X + 0.03
    np.testing.assert_allclose(as_dense(one.predict_proba(new)), as_dense(two.predict_proba(new)), atol=1e-6)


def test_equal_samples_have_one_answer_and_one_place_in_the_graph(tmp_path):
    X, distinct, _, first = repeated(1)
    model = LaplacianKModes(3, random_state=0).fit(X)
    place = [distinct.tolist().index(row) for row in X.tolist()]
    np.testing.assert_array_equal(model.assignments_, model.assignments_[first][place])
    linked = np.flatnonzero(np.diff(model.graph_.indptr))
    np.testing.assert_array_equal(linked, first)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").assignments_, model.assignments_)


def test_equal_samples_with_different_labels_stay_apart():
    X, *_ = repeated(2)
    X, known = np.concatenate([X, X[:2]]), np.full(302, -1)
    known[[0, 300]] = 0, 1
    model = LaplacianKModes(3, random_state=0).fit(X, partial_labels=known, must_link=[[0, 5], [1, 301]])
    np.testing.assert_array_equal(model.labels_[[0, 300]], [0, 1])
    assert model.labels_[1] == model.labels_[301]
