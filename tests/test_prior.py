"""One objective: no parameter changes what another one means, and only the consensus brings a prior."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import best_assignments, energy, kernel
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers

SETS = {
    "iris": (load_iris, 3),
    "wine": (load_wine, 3),
    "digits": (load_digits, 10),
    "moons with outliers": (lambda return_X_y: make_moons_with_outliers(random_state=0), 2),
}


pytestmark = pytest.mark.filterwarnings("ignore:Column .* decides all distances")


@pytest.fixture(scope="module", params=SETS)
def default(request):
    """Points, classes, and the default's model of them."""
    load, K = SETS[request.param]
    X, y = load(return_X_y=True)
    first = np.unique(X, axis=0, return_index=True)[1]  # given neighbours are of all samples, others of distinct ones
    X, y = X[first], y[first]
    return X, y, LaplacianKModes(K, random_state=0).fit(X)


def resolved(model):
    """What a user may type back, one parameter after the other, and all together."""
    values = {
        "bandwidth": model.bandwidth_,
        "lam": model.lam_,
        "init": "consensus",
        "affinity": "self-tuning",
        "prior_weight": 2.0,
    }
    return [{name: value} for name, value in values.items()] + [values]


def test_typing_back_what_was_resolved_gives_the_same_model(default):
    X, _, model = default
    for typed in resolved(model):
        again = LaplacianKModes(model.n_clusters, random_state=0, **typed).fit(X)
        np.testing.assert_array_equal(again.assignments_, model.assignments_, err_msg=str(typed))
        np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_, err_msg=str(typed))


def test_typing_back_a_lam_that_was_lowered_gives_the_same_model():
    X, _ = make_blobs(60, centers=3, cluster_std=[0.3, 0.5, 1.5], random_state=5)
    shared = {"init": "k-means++", "random_state": 11}
    model = LaplacianKModes(3, **shared).fit(X)
    assert model.lam_ < 0.9 / model.graph_.sum(axis=1).mean(), "at one over the mean degree a cluster died"
    again = LaplacianKModes(3, lam=model.lam_, **shared).fit(X)
    np.testing.assert_array_equal(again.assignments_, model.assignments_)


@pytest.mark.parametrize("init", ["k-means", "k-means++", "random", "spectral", "modes", "assignments"])
def test_only_the_consensus_brings_a_prior(blobs, init):
    X, y = blobs
    starts = {"modes": X[[0, 70, 130]], "assignments": (None, np.eye(3)[y])}
    for weight in (2.0, 50.0):
        model = LaplacianKModes(3, init=starts.get(init, init), prior_weight=weight, random_state=0).fit(X)
        assert model.prior_ is None
        B = kernel(X, model.cluster_centers_, model.bandwidth_)
        L = np.diag(model.graph_.toarray().sum(axis=1)) - model.graph_.toarray()
        assert model.objective_ == pytest.approx(energy(L, B, model.lam_, model.assignments_))


def test_the_consensus_brings_a_prior_whatever_else_is_typed(blobs):
    X, _ = blobs
    W = kneighbors_graph(X, 6)
    for parameters, given in (
        ({}, {}),
        ({"lam": 0.1, "bandwidth": 0.5, "affinity": "heat", "n_neighbors": 5}, {}),
        ({"lam": 0.0, "init": "consensus"}, {}),
        ({"bandwidth": np.inf}, {}),
        ({}, {"graph": W.maximum(W.T)}),
    ):
        prior = LaplacianKModes(3, random_state=0, **parameters).fit(X, **given).prior_
        assert prior.shape == (len(X), 3) and (prior >= 0).all()
        np.testing.assert_allclose(prior.sum(axis=1), 1)


def test_without_a_graph_there_is_no_consensus_and_no_prior(blobs):
    for model in (LaplacianKModes(3, lam=0), KModes(3), LaplacianKMeans(3, lam=0)):
        model.set_params(random_state=0).fit(blobs[0])
        assert model.prior_ is None
        np.testing.assert_array_equal(
            model.labels_, type(model)(**model.get_params() | {"init": "k-means"}).fit(blobs[0]).labels_
        )


@pytest.mark.parametrize("weight", [0.0, 0.3, 2.0])
def test_assignments_with_a_prior_are_those_of_an_interior_point_solver(weight):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = LaplacianKModes(3, prior_weight=weight, tol=1e-7, random_state=0).fit(X)
    B = kernel(X, model.cluster_centers_, model.bandwidth_)
    B += 0 if weight == 0 else weight * model.prior_
    assert (model.prior_ is None) == (weight == 0)
    L = np.diag(model.graph_.toarray().sum(axis=1)) - model.graph_.toarray()
    exact = best_assignments(sp.csr_array(L), B, model.lam_)
    assert energy(L, B, model.lam_, model.assignments_) <= energy(L, B, model.lam_, exact) + model.gap_ + 1e-9
    np.testing.assert_allclose(model.assignments_, exact, atol=1e-3)


def test_a_heavy_prior_is_the_consensus_alone():
    X = np.random.default_rng(0).normal(size=(150, 2))
    model = LaplacianKModes(3, prior_weight=1e6, random_state=0).fit(X)
    clear = np.sort(model.prior_, axis=1)[:, -1] - np.sort(model.prior_, axis=1)[:, -2] > 1e-3
    np.testing.assert_array_equal(model.labels_[clear], model.prior_[clear].argmax(axis=1))


def test_classes_given_as_y_never_become_constraints(default):
    X, y, model = default
    for given in (y, np.where(np.arange(len(y)) % 3 == 0, y, -1), np.full(len(y), -1), ["any"] * len(y)):
        again = LaplacianKModes(model.n_clusters, random_state=0)
        np.testing.assert_array_equal(again.fit_predict(X, given), model.labels_)


def test_partial_labels_are_held_and_help(default):
    X, y, model = default
    K = model.n_clusters
    known = np.where((np.arange(len(y)) % 3 == 0) & (y < K), y, -1)
    held = LaplacianKModes(K, random_state=0).fit(X, partial_labels=known)
    np.testing.assert_array_equal(held.labels_[known >= 0], known[known >= 0])
    np.testing.assert_array_equal(held.assignments_[known >= 0], np.eye(K)[known[known >= 0]])
    others = (known < 0) & (y < K)
    assert adjusted_rand_score(y[others], held.labels_[others]) >= adjusted_rand_score(y[others], model.labels_[others])


def test_partial_labels_that_know_nothing_change_nothing(default):
    X, y, model = default
    again = LaplacianKModes(model.n_clusters, random_state=0).fit(X, partial_labels=np.full(len(y), -1))
    np.testing.assert_array_equal(again.assignments_, model.assignments_)


@pytest.mark.parametrize("itself", [False, True], ids=["others only", "with the sample itself"])
def test_neighbours_from_elsewhere_give_the_default(default, itself):
    X, _, model = default
    search = NearestNeighbors(n_neighbors=20 + itself).fit(X)
    distances, indices = search.kneighbors(X) if itself else search.kneighbors()
    again = LaplacianKModes(model.n_clusters, random_state=0).fit(X, neighbors=(indices, distances))
    assert again.bandwidth_ == pytest.approx(model.bandwidth_)
    if len(np.unique(X)) == X.max() + 1:  # grey values of the digits: many equal distances, of which others are listed
        assert adjusted_rand_score(model.labels_, again.labels_) > 0.99
    else:
        np.testing.assert_array_equal(again.labels_, model.labels_)
    assert np.mean(again.predict(X) == model.predict(X)) > 0.99


def test_neighbours_may_come_in_any_order_and_precision(blobs):
    X, _ = blobs
    distances, indices = NearestNeighbors(n_neighbors=20).fit(X).kneighbors()
    model = LaplacianKModes(3, random_state=0).fit(X, neighbors=(indices, distances))
    mixed = np.random.default_rng(0).permutation(20)
    pair = indices[:, mixed].astype(np.int64), distances[:, mixed].astype(np.float64)
    again = LaplacianKModes(3, random_state=0).fit(X, neighbors=list(pair))
    np.testing.assert_array_equal(again.assignments_, model.assignments_)


@pytest.mark.parametrize("k", [1, 3, 7, 12])
def test_fewer_neighbours_than_asked_for_make_do(blobs, k):
    X, y = blobs
    distances, indices = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    model = LaplacianKModes(3, random_state=0).fit(X, neighbors=(indices, distances))
    assert np.unique(model.labels_).size == 3
    np.testing.assert_allclose(model.assignments_.sum(axis=1), 1)
    if k >= 7:
        assert adjusted_rand_score(y, model.labels_) == 1


INDICES = np.array([[(i + j) % 12 for j in (1, 2, 3)] for i in range(12)])
LENGTHS = np.tile([1.0, 2.0, 3.0], (12, 1))


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        (3, "'neighbors' must be a tuple \\(indices, distances\\).* Got int"),
        (INDICES, "'neighbors' must be a tuple"),
        ((LENGTHS, INDICES), "Got the distances first: swap the two"),
        ((INDICES[:5], LENGTHS[:5]), "two arrays of shape \\(12, k\\).* Got shapes \\(5, 3\\)"),
        ((INDICES, LENGTHS[:, :2]), "Got shapes \\(12, 3\\) and \\(12, 2\\)"),
        ((INDICES[:, :0], LENGTHS[:, :0]), "Got shapes \\(12, 0\\)"),
        ((INDICES - 1, LENGTHS), "ints from 0 to 11"),
        ((INDICES + 1, LENGTHS), "ints from 0 to 11"),
        ((INDICES.astype(float), LENGTHS), "ints from 0 to 11"),
        ((INDICES, -LENGTHS), "finite and non-negative"),
        ((INDICES, np.where(LENGTHS > 2, np.nan, LENGTHS)), "finite and non-negative"),
        ((INDICES, np.where(LENGTHS > 2, np.inf, LENGTHS)), "finite and non-negative"),
        ((np.arange(12)[:, None], np.zeros((12, 1))), "at least one sample beside each sample itself"),
    ],
)
def test_bad_neighbours_say_what_is_wrong(neighbors, message):
    X = np.arange(24.0).reshape(12, 2)
    with pytest.raises(ValueError, match=message):
        LaplacianKModes(2).fit(X, neighbors=neighbors)
