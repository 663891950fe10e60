"""Limits of the model that are known methods, the paper's two examples, and the certificate in every combination."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference import energy, errors, kernel
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from lapmodes import DegenerateWarning, KModes, LaplacianKMeans, LaplacianKModes, fit_path
from lapmodes.datasets import make_moons_with_outliers, make_spirals


def linear_term(model, X):
    """B and what the prior adds, from public attributes."""
    limit = np.isinf(model.bandwidth_).all()
    if limit:
        B = -np.square(X[:, None, :] - model.cluster_centers_[None]).sum(axis=2)
    else:
        B = kernel(X, model.cluster_centers_, model.bandwidth_)
    if model.prior_ is not None:
        unit = np.square(X - X.mean(axis=0)).sum(axis=1).mean() if limit else 1.0
        B = B + model.prior_weight * unit * model.prior_
    return B


def laplacian(model):
    W = model.graph_.toarray()
    d = W.sum(axis=1)
    if model.laplacian == "unnormalized":
        return np.diag(d) - W
    return np.diag((d > 0).astype(float)) - W / np.sqrt(np.outer(d, d), where=np.outer(d, d) > 0, out=np.ones_like(W))


def proven_gap(model, X):
    """(bound on the distance to the best assignments at these modes, objective, what the gap is relative to)."""
    B, L, Z = linear_term(model, X), laplacian(model), model.assignments_
    G = 2 * model.lam_ * (L @ Z) - B
    return np.sum(G * Z) - G.min(axis=1).sum(), energy(L, B, model.lam_, Z), np.abs(B).max(axis=1).sum()


@pytest.mark.parametrize("bandwidth", [0.7, "auto", "entropic", np.inf])
@pytest.mark.parametrize("affinity", ["binary", "heat", "self-tuning", "entropic", "anchor"])
@pytest.mark.parametrize("init", ["consensus", "k-means", "k-means++", "random", "spectral"])
def test_every_combination_is_certified(blobs, init, affinity, bandwidth):
    X, _ = blobs
    laplacian = "normalized" if affinity == "binary" else "unnormalized"
    model = LaplacianKModes(
        3, affinity=affinity, bandwidth=bandwidth, init=init, laplacian=laplacian, random_state=0, n_init=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)  # random starts may leave a cluster empty
        model.fit(X)
    Z = model.assignments_
    assert Z.min() >= 0 and np.abs(Z.sum(axis=1) - 1).max() < 1e-14
    gap, objective, scale = proven_gap(model, X)
    assert model.objective_ == pytest.approx(objective)
    assert gap <= 1e-4 * scale
    assert model.gap_ == pytest.approx(gap, abs=1e-6 * scale)
    P = model.predict_proba(X[:10] + 0.01)
    assert P.min() >= 0 and np.abs(P.sum(axis=1) - 1).max() < 1e-14


@pytest.mark.parametrize("init", ["consensus", "random"])
@pytest.mark.parametrize("bandwidth", [0.7, "entropic"])
def test_modes_are_stationary_points_of_their_densities(blobs, init, bandwidth):
    X, _ = blobs
    model = LaplacianKModes(3, bandwidth=bandwidth, init=init, tol=1e-8, max_iter=1000, random_state=0).fit(X)
    pull = model.assignments_ * kernel(X, model.cluster_centers_, model.bandwidth_)
    pull /= np.square(np.broadcast_to(model.bandwidth_, len(X)))[:, None]
    np.testing.assert_allclose(pull.T @ X / pull.sum(axis=0)[:, None], model.cluster_centers_, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_five_spirals_from_k_means_at_the_papers_setting(seed):
    X, y = make_spirals(random_state=seed)
    model = LaplacianKModes(
        5, lam=100, bandwidth=0.2, affinity="heat", n_neighbors=5, init="k-means", random_state=0
    ).fit(X)
    assert model.status_ == "converged"
    assert errors(y, model.labels_) == 0
    gap, objective, scale = proven_gap(model, X)
    assert model.objective_ == pytest.approx(objective)
    assert gap <= 1e-4 * scale


@pytest.mark.parametrize("seed", range(5))
def test_noisy_moons_by_homotopy(seed):
    X, y = make_moons_with_outliers(random_state=seed)
    widths = np.geomspace(5, 0.1, 10)
    *_, model = fit_path(
        X, 2, lam=1.0, bandwidth=widths, affinity="heat", n_neighbors=5, init="k-means", random_state=0
    )
    assert errors(y[y < 2], model.labels_[y < 2]) == 0
    inliers, moon = X[y < 2], y[y < 2]
    distance = np.linalg.norm(model.cluster_centers_[:, None] - inliers[None], axis=2)
    assert sorted(moon[distance.argmin(axis=1)]) == [0, 1]
    assert distance.min(axis=1).max() < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_no_smoothing_and_infinite_bandwidth_is_k_means(blobs, seed):
    X, _ = blobs
    start = X[np.random.default_rng(seed).choice(len(X), 4, replace=False)]
    theirs = KMeans(4, init=start, n_init=1, tol=0, max_iter=1000).fit(X)
    for ours in (
        LaplacianKModes(4, lam=0, bandwidth=np.inf, init=start),
        KModes(4, bandwidth=np.inf, init=start),
        LaplacianKMeans(4, lam=0, init=start),
    ):
        ours.fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-6)
        assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-6)


def test_no_smoothing_is_k_modes(blobs):
    X, _ = blobs
    model = LaplacianKModes(3, lam=0, bandwidth=0.5, random_state=0, tol=1e-8).fit(X)
    d2 = np.square(X[:, None] - model.cluster_centers_[None]).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, d2.argmin(axis=1))
    weight = model.assignments_ * kernel(X, model.cluster_centers_, 0.5)
    np.testing.assert_allclose(weight.T @ X / weight.sum(axis=0)[:, None], model.cluster_centers_, atol=1e-6)
    assert model.graph_.nnz == 0
    named = KModes(3, bandwidth=0.5, random_state=0, tol=1e-8).fit(X)
    np.testing.assert_array_equal(named.cluster_centers_, model.cluster_centers_)


def test_infinite_bandwidth_is_laplacian_k_means(blobs):
    X, _ = blobs
    named = LaplacianKMeans(3, lam=0.5, random_state=0).fit(X)
    model = LaplacianKModes(3, lam=0.5, bandwidth=np.inf, random_state=0).fit(X)
    np.testing.assert_array_equal(named.assignments_, model.assignments_)
    means = model.assignments_.T @ X / model.assignments_.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-2)


def test_tiny_bandwidth_without_smoothing_puts_modes_on_points(blobs):
    X, _ = blobs
    model = KModes(3, bandwidth=1e-9, random_state=0).fit(X)
    np.testing.assert_allclose(X[model.exemplars_], model.cluster_centers_, atol=1e-12)


def test_large_bandwidth_tends_to_laplacian_k_means(blobs):
    X, _ = blobs
    start, sigma, lam = X[[0, 70, 130]], 1e4, 2.0
    shared = {"affinity": "binary", "init": start, "tol": 1e-9, "n_neighbors": 5}
    limit = LaplacianKMeans(3, lam=lam, **shared).fit(X)
    large = LaplacianKModes(3, lam=lam / (2 * sigma**2), bandwidth=sigma, **shared, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        large.fit(X)
    np.testing.assert_allclose(large.cluster_centers_, limit.cluster_centers_, atol=0.02)
    np.testing.assert_array_equal(large.labels_, limit.labels_)


def test_each_alternation_lowers_the_objective():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = LaplacianKModes(3, bandwidth=0.5, init="k-means", tol=1e-6, random_state=0).fit(X)
    history = model.history_
    assert len(history) == model.n_iter_ > 2
    assert np.all(np.diff(history["objective"]) <= history["gap"][1:])
    assert (history["objective"][-1], history["gap"][-1]) == (pytest.approx(model.objective_), model.gap_)
