"""Warm refits: certified, on the same graph, and in agreement with fits that know the same from the start."""

from __future__ import annotations

import numpy as np
import pytest

from lapmodes import KModes, LaplacianKModes, fit_path
from lapmodes.explore.refit import merge_clusters, refit
from lapmodes.metrics import adjusted_rand


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(40, 3)) + place for place in np.eye(3) * 7])


@pytest.fixture(scope="module")
def model(rows):
    return LaplacianKModes(3, random_state=0, n_jobs=1).fit(rows)


def certified(model):
    """The gap is small, and the objective is what the assignments give."""
    L = np.diag(np.asarray(model.graph_.sum(axis=1)).ravel()) - model.graph_.toarray()
    Z = np.asarray(model.assignments_)
    X, C = model.training_points_, model.cluster_centers_
    B = np.exp(-((X[:, None] - C) ** 2).sum(axis=2) / (2 * model.bandwidth_**2))
    P = 0 if model.prior_ is None else model.prior_weight * np.asarray(model.prior_)
    G = 2 * model.lam_ * (L @ Z) - B - P
    gap = np.sum(G * Z) - np.sum(G.min(axis=1))
    energy = model.lam_ * np.sum(Z * (L @ Z)) - np.sum((B + P) * Z)
    assert gap <= 2e-4 * len(X) * (1 + (0 if model.prior_ is None else model.prior_weight))
    assert np.isclose(energy, model.objective_, rtol=1e-6)


@pytest.mark.parametrize("change", [{"lam": 0.5}, {"bandwidth": 2.0}, {"prior_weight": 0.5}, {}])
def test_a_refit_is_certified(model, change):
    again = refit(model, **change)
    certified(again)
    assert again.graph_ is model.graph_
    assert again.status_ == "converged"


def test_a_notch_is_a_step_of_the_path(rows):
    start = {"affinity": "heat", "init": "k-means", "random_state": 0, "n_jobs": 1}
    steps = list(fit_path(rows, 3, lam=0.1, bandwidth=[3.0, 2.0], **start))
    again = refit(steps[0], bandwidth=2.0)
    assert np.array_equal(again.labels_, steps[1].labels_)
    assert np.isclose(again.objective_, steps[1].objective_, rtol=1e-6)


def test_known_rows_are_held_and_can_be_let_go(rows, model):
    known = np.full(120, -1)
    known[:5] = model.labels_[60]
    held = refit(model, partial_labels=known)
    assert (held.labels_[:5] == model.labels_[60]).all()
    assert (held.labels_[40:] == model.labels_[40:]).all()
    free = refit(held, partial_labels=np.full(120, -1))
    assert np.array_equal(free.labels_, model.labels_)


def test_linked_rows_go_together(model):
    a, b = 0, 60
    linked = refit(model, must_link=[[a, b]])
    assert linked.labels_[a] == linked.labels_[b]
    assert linked.graph_[a, b] > model.graph_.max()


def test_rows_left_out_have_no_say(rows):
    far = np.concatenate([rows, [[200.0, 200, 200], [201.0, 200, 200]]])
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(far)
    mask = np.arange(122) >= 120
    again = refit(model, leave_out=mask)
    assert again.training_points_.shape == (120, 3)
    assert again.labels_.shape == (122,)
    certified_rows = refit(again, lam=2 * again.lam_)
    assert certified_rows.training_points_.shape == (120, 3)
    assert again.predict(rows).shape == (120,)
    nearest = np.argmin(((rows - far[120]) ** 2).sum(axis=1))
    assert again.labels_[120] == again.labels_[nearest]


def test_equal_rows_are_one_point_until_all_are_left_out(rows):
    twice = np.concatenate([rows, rows[:1], rows[:1]])
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(twice)
    assert model.training_points_.shape[0] == 120
    some, every = np.zeros(122, dtype=bool), np.zeros(122, dtype=bool)
    some[0], every[[0, 120, 121]] = True, True
    assert refit(model, leave_out=some).training_points_.shape[0] == 120
    assert refit(model, leave_out=every).training_points_.shape[0] == 119


def test_a_merge_joins_two_clusters_and_no_others(model):
    again = merge_clusters(model, 0, 2)
    joined = np.where(np.isin(model.labels_, [0, 2]), 0, 1)
    assert again.n_clusters_ == 2
    assert adjusted_rand(joined, again.labels_) == 1
    certified(again)


def test_held_rows_follow_a_merge(model):
    known = np.full(120, -1)
    known[0], known[60] = model.labels_[60], model.labels_[60]
    held = refit(model, partial_labels=known)
    again = merge_clusters(held, int(model.labels_[0]), int(model.labels_[119]))
    assert again.labels_[0] == again.labels_[60]


def test_the_refitted_model_can_be_saved_and_maps_new_rows(tmp_path, rows, model):
    from lapmodes import load

    again = refit(merge_clusters(model, 0, 1), leave_out=np.arange(120) < 3)
    again.cluster_names_ = ("one", "two")
    again.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert np.array_equal(loaded.labels_, again.labels_)
    assert np.array_equal(loaded.predict(rows), again.predict(rows))
    assert loaded.cluster_names_ == ("one", "two")


def test_special_cases_can_be_refitted(rows):
    model = KModes(3, bandwidth=2.0, random_state=0).fit(rows)
    assert type(refit(model, bandwidth=2.5)) is KModes


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda model: merge_clusters(model, 0, 3), "from 0 to 2"),
        (lambda model: merge_clusters(model, 1, 1), "itself"),
        (lambda model: refit(model, partial_labels=np.full(120, 7)), "partial_labels"),
        (lambda model: refit(model, partial_labels=[0]), "partial_labels"),
        (lambda model: refit(model, leave_out=np.arange(120) > 0), "Leave out fewer"),
    ],
)
def test_what_is_wrong_is_said(model, act, said):
    with pytest.raises(ValueError, match=said):
        act(model)


def test_sparse_assignments_hold_no_rows(rows):
    model = LaplacianKModes(3, random_state=0, sparse_assignments=True, n_jobs=1).fit(rows)
    assert merge_clusters(model, 0, 1).n_clusters_ == 2
    with pytest.raises(ValueError, match="sparse_assignments"):
        refit(model, partial_labels=np.full(120, -1))
