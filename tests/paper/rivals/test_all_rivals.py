"""What all rivals have in common."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.baselines import (
    DataClusterData,
    GaussianMeanShift,
    GraphNMF,
    KMeans,
    KMedoids,
    LeftStochastic,
    NormalizedCut,
)

CLASSES = [DataClusterData, GaussianMeanShift, GraphNMF, KMeans, KMedoids, LeftStochastic, NormalizedCut]
ON_GRAPHS = [DataClusterData, GraphNMF, LeftStochastic, NormalizedCut]


def made(cls, *args, **kwargs):
    if cls is KMedoids:
        pytest.importorskip("kmedoids")
    return cls(*args, **{"random_state": 0, **kwargs})


@pytest.fixture
def positive_blobs(blobs):
    X, y = blobs
    return X - X.min(axis=0) + 0.1, y


@pytest.fixture
def moons():
    t = np.linspace(0, np.pi, 100)
    upper = np.column_stack([np.cos(t), np.sin(t)])
    return np.vstack([upper, [1, 0.3] - upper]) + 2, np.repeat([0, 1], 100)


@pytest.mark.parametrize("cls", CLASSES)
def test_three_blobs_are_found(cls, positive_blobs):
    X, y = positive_blobs
    model = made(cls, 3)
    assert adjusted_rand_score(y, model.fit_predict(X)) > 0.95
    assert model.labels_.shape == y.shape
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("cls", [DataClusterData, LeftStochastic, NormalizedCut])
def test_two_moons_are_separated(cls, moons):
    X, y = moons
    assert adjusted_rand_score(y, made(cls, 2).fit_predict(X)) == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_fits_repeat_and_leave_parameters_alone(cls, positive_blobs):
    X, _ = positive_blobs
    model = made(cls, 3)
    before = model.get_params()
    first = model.fit(X).labels_
    assert np.array_equal(first, clone(model).fit(X).labels_)
    assert model.get_params() == before


@pytest.mark.parametrize("cls", [each for each in CLASSES if each is not GaussianMeanShift])
def test_sparse_points_give_the_same_as_dense_ones(cls, positive_blobs):
    X, _ = positive_blobs
    dense, sparse = made(cls, 3).fit(X), made(cls, 3).fit(sp.csr_array(X))
    assert adjusted_rand_score(dense.labels_, sparse.labels_) == 1
    assert sparse.objective_ == pytest.approx(dense.objective_)


@pytest.mark.parametrize("cls", [GaussianMeanShift, KMeans, KMedoids])
def test_centers_have_the_shape_of_points(cls, blobs):
    assert made(cls, 3).fit(blobs[0]).cluster_centers_.shape == (3, 2)


@pytest.mark.parametrize("cls", [DataClusterData, LeftStochastic, NormalizedCut])
def test_a_given_graph_replaces_the_neighbours(cls, positive_blobs):
    X, y = positive_blobs
    other = np.random.default_rng(0).permutation(y)
    W = sp.csr_array((other[:, None] == other).astype(float))
    assert adjusted_rand_score(other, made(cls, 3).fit(X, graph=W).labels_) == 1


@pytest.mark.parametrize("cls", ON_GRAPHS)
def test_bad_graphs_are_refused(cls, positive_blobs):
    X, _ = positive_blobs
    with pytest.raises(TypeError, match=r"'graph' must be a scipy\.sparse matrix"):
        made(cls, 3).fit(X, graph=np.eye(180))
    with pytest.raises(ValueError, match="symmetric"):
        made(cls, 3).fit(X, graph=sp.csr_array(np.triu(np.ones((180, 180)))))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("bad", [0, -1, 2.5, "three", True])
def test_bad_numbers_of_clusters_are_refused(cls, bad):
    with pytest.raises(ValueError, match=rf"The 'n_clusters' parameter of {cls.__name__} must be .* Got .* instead"):
        cls(bad).fit(np.ones((5, 2)))


@pytest.mark.parametrize("cls", CLASSES)
def test_more_clusters_than_points_are_refused(cls):
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        cls(4).fit(np.eye(3))


@pytest.mark.parametrize(
    ("cls", "parameter", "value"),
    [
        (DataClusterData, "alpha", 0.5),
        (DataClusterData, "init", "spectral"),
        (DataClusterData, "init", ()),
        (GaussianMeanShift, "bandwidth", 0.0),
        (GaussianMeanShift, "tol", -1.0),
        (GraphNMF, "lam", -1.0),
        (GraphNMF, "lam", np.nan),
        (KMeans, "init", "ncut"),
        (KMedoids, "metric", None),
        (LeftStochastic, "normalize", "yes"),
        (NormalizedCut, "n_neighbors", 0),
    ],
)
def test_other_bad_parameters_are_refused(cls, parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of {cls.__name__} must be"):
        cls(**{parameter: value}).fit(np.ones((20, 2)))


@pytest.mark.parametrize("cls", CLASSES)
def test_one_cluster_is_allowed(cls, positive_blobs):
    assert not made(cls, 1).fit(positive_blobs[0]).labels_.any()


@pytest.mark.parametrize("affinity", ["heat", "self-tuning", "entropic", "anchor", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("cls", ON_GRAPHS)
def test_any_affinity_will_do(cls, affinity, positive_blobs):
    X, y = positive_blobs
    assert adjusted_rand_score(y, made(cls, 3, affinity=affinity).fit_predict(X)) > 0.9


@pytest.mark.parametrize("cls", ON_GRAPHS)
def test_affinity_is_that_of_the_estimator(cls, positive_blobs):
    X, _ = positive_blobs
    W = LaplacianKModes(3, affinity="self-tuning", n_neighbors=5, random_state=0).fit(X).graph_
    assert made(cls, 3, affinity="self-tuning").fit(X).objective_ == pytest.approx(
        made(cls, 3).fit(X, graph=W).objective_
    )


@pytest.mark.parametrize("cls", ON_GRAPHS)
def test_unknown_affinity_is_named(cls, blobs):
    with pytest.raises(ValueError, match=r"'affinity' parameter of .* must be a callable or one of 'binary'"):
        made(cls, 3, affinity="precomputed").fit(blobs[0])
