"""Paths in (lam, bandwidth): a fitted model for each step, each warm-started from the one before."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.utils.validation import check_is_fitted

import lapmodes
from lapmodes import LaplacianKModes, fit_path

PAPER = {"init": "k-means", "random_state": 0}


@pytest.mark.parametrize("widths", [[2.0, 1.0, 0.5], [0.5, 1.0, 2.0]], ids=["narrower", "wider"])
def test_one_fitted_model_a_step_in_any_direction(blobs, widths):
    path = list(fit_path(blobs[0], 3, lam=0.1, bandwidth=widths, **PAPER))
    assert [(model.lam_, model.bandwidth_) for model in path] == [(0.1, width) for width in widths]
    assert [(model.lam, model.bandwidth) for model in path] == [(0.1, width) for width in widths]
    for model in path:
        check_is_fitted(model)
        assert model.status_ == "converged"


def test_sequences_are_gone_through_together(blobs):
    path = list(fit_path(blobs[0], 3, lam=[0, 0.1], bandwidth=[np.inf, 0.5], **PAPER))
    assert [(model.lam_, model.bandwidth_) for model in path] == [(0, np.inf), (0.1, 0.5)]


def test_the_models_of_a_path_are_whole(blobs, tmp_path):
    """Each answers, is saved and is cloned like a model that was fitted by itself, and none changes with later steps."""
    X, _ = blobs
    path = fit_path(X, 3, lam=0.1, bandwidth=[2.0, 1.0, 0.5], **PAPER)
    first = next(path)
    before = first.labels_.copy(), first.predict_proba(X[:20] + 0.1), first.cluster_centers_.copy()
    last = list(path)[-1]
    assert abs(last.cluster_centers_ - first.cluster_centers_).max() > 1e-3
    for one, two in zip(
        before, (first.labels_, first.predict_proba(X[:20] + 0.1), first.cluster_centers_), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    last.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(lapmodes.load(tmp_path / "model.npz").predict_proba(X), last.predict_proba(X))


def test_a_step_is_the_fit_from_the_step_before(blobs):
    X, _ = blobs
    first, second = fit_path(X, 3, lam=0.1, bandwidth=[1.5, 0.7], **PAPER)
    start = first.cluster_centers_, first.assignments_
    again = LaplacianKModes(3, lam=0.1, bandwidth=0.7, init=start).fit(X)
    np.testing.assert_allclose(second.assignments_, again.assignments_, atol=1e-12)
    np.testing.assert_allclose(second.cluster_centers_, again.cluster_centers_, atol=1e-12)


def test_a_step_that_changes_nothing_rests_at_once(blobs):
    first, second = fit_path(blobs[0], 3, lam=0.1, bandwidth=[0.8, 0.8], **PAPER)
    assert second.n_iter_ <= 2
    assert second.objective_ <= first.objective_ + first.gap_


def test_a_path_of_one_step_is_the_fit():
    X = np.random.default_rng(0).normal(size=(150, 2))
    for parameters in ({}, {"lam": 0.3, "bandwidth": 0.5, "init": "k-means"}, {"bandwidth": "entropic"}):
        (model,) = fit_path(X, 3, random_state=0, **parameters)
        fitted = LaplacianKModes(3, random_state=0, **parameters).fit(X)
        np.testing.assert_array_equal(model.assignments_, fitted.assignments_)
        assert (model.lam_, model.status_) == (fitted.lam_, fitted.status_)
        assert (model.prior_ is None) == (fitted.prior_ is None)


def test_steps_are_solved_only_when_asked_for(blobs):
    seen = []
    watch = {"verbose": lambda phase, *_: seen.append(phase)}
    path = fit_path(blobs[0], 3, lam=0.1, bandwidth=[2, 1, 0.5], tol=0, max_iter=1, **PAPER, **watch)
    assert seen == []
    with pytest.warns(ConvergenceWarning):
        next(path)
    assert seen.count("alternate") == 1


def test_a_callable_may_end_the_path(blobs):
    stop = {"verbose": lambda phase, *_: phase == "alternate"}
    path = list(fit_path(blobs[0], 3, lam=0.1, bandwidth=[2, 1, 0.5], tol=0, **PAPER, **stop))
    assert [model.status_ for model in path] == ["stopped"]


def test_a_path_that_ends_without_smoothing_still_has_its_graph(blobs):
    X, _ = blobs
    first, _, last = fit_path(X, 3, lam=[1.0, 0.1, 0.0], bandwidth=0.7, **PAPER)
    assert np.any((first.assignments_ > 0) & (first.assignments_ < 1))
    assert np.all((last.assignments_ == 0) | (last.assignments_ == 1))
    assert last.graph_.nnz == first.graph_.nnz > 0
    nearest = np.linalg.norm(X[:, None] - last.cluster_centers_, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(last.predict(X), nearest)


def test_densities_follow_the_bandwidth_of_the_step(blobs):
    finite, infinite = fit_path(blobs[0], 3, lam=0.1, bandwidth=[0.5, np.inf], **PAPER)
    assert np.isfinite(finite.density(blobs[0], log=True)).all()
    assert not hasattr(infinite, "density")


def test_counted_path_leads_from_k_means_to_the_target(blobs):
    X, _ = blobs
    path = list(fit_path(X, 3, lam=0.2, bandwidth=0.5, n_steps=6, **PAPER))
    assert len(path) == 6
    assert (path[0].lam_, path[0].bandwidth_) == (0, np.inf)
    assert (path[-1].lam_, path[-1].bandwidth_) == (pytest.approx(0.2), pytest.approx(0.5))
    lams, widths = ([getattr(model, name) for model in path[1:]] for name in ("lam_", "bandwidth_"))
    np.testing.assert_allclose(np.diff(np.log(lams)), np.log(100) / 4)
    assert widths[0] == pytest.approx(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
    assert np.ptp(np.diff(np.log(widths))) < 1e-9


def test_counted_path_with_a_width_for_each_point(blobs):
    *_, middle, last = fit_path(blobs[0], 3, bandwidth="entropic", n_steps=3, random_state=0)
    assert middle.bandwidth_.shape == last.bandwidth_.shape == (180,)
    ratio = middle.bandwidth_ / last.bandwidth_
    assert np.ptp(ratio) < 1e-9 and ratio[0] > 1


def test_a_path_takes_what_fit_takes(blobs):
    X, _ = blobs
    W = kneighbors_graph(X, 6)
    distances, indices = NearestNeighbors(n_neighbors=20).fit(X).kneighbors()
    weight = np.linspace(0.5, 1.5, len(X)) * (np.arange(len(X)) % 9 > 0)
    shared = {"lam": 0.1, "bandwidth": 0.7, **PAPER}
    for given in ({"graph": W.maximum(W.T)}, {"neighbors": (indices, distances)}, {"sample_weight": weight}):
        (model,) = fit_path(X, 3, **shared, **given)
        fitted = LaplacianKModes(3, **shared).fit(X, **given)
        np.testing.assert_array_equal(model.assignments_, fitted.assignments_)
        assert abs(model.graph_ - fitted.graph_).max() == 0


def test_names_of_features_are_kept(blobs):
    import pandas as pd

    frame = pd.DataFrame(blobs[0], columns=["a", "b"])
    for model in fit_path(frame, 3, lam=0.1, bandwidth=[1.0, 0.5], **PAPER):
        assert list(model.feature_names_in_) == ["a", "b"]
        model.predict(frame)  # without a warning about names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": [1, 2], "bandwidth": [1, 2, 3]}, "same length.*Got 2 and 3"),
        ({"lam": []}, "at least one value"),
        ({"n_init": 3}, "follows one start"),
        ({"n_clusters": -3}, "'n_clusters' parameter of fit_path"),
        ({"lam": -1.0}, "'lam' parameter of fit_path.*at least 0"),
        ({"bandwidth": [1.0, -1.0]}, "'bandwidth' parameter of fit_path"),
        ({"lam": [1.0, -1.0, 1.0], "bandwidth": 1.0}, "'lam' parameter of fit_path.*Got -1.0"),
        ({"bandwidth": ["wide", 1.0]}, "'bandwidth' parameter of fit_path.*Got 'wide'"),
        ({"n_steps": 1}, "'n_steps' parameter of fit_path.*int of at least 2"),
        ({"n_steps": 2.5}, "'n_steps' parameter"),
        ({"n_steps": 4, "lam": [0.1, 0.2]}, "'n_steps' parameter.*a single 'lam'"),
    ],
)
def test_bad_paths_are_refused_before_anything_is_done(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_path(blobs[0], **{"n_clusters": 3, **arguments})
