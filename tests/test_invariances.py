"""What must not change a fit, and by how much: threads, formats, precision, weights, order, scale and rotation."""

from __future__ import annotations

import multiprocessing
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes
from lapmodes.datasets import make_spirals


@pytest.mark.parametrize("seed", range(4))
def test_labels_survive_scaling_and_rotation_though_distances_tie(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, 2)) * 4)  # one heap of lattice points: no clear clusters, many equal distances
    angle = 0.3
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one, *others = (LaplacianKModes(4, random_state=0).fit(each).labels_ for each in (X, 1e6 * X, 1e-6 * X, X @ turn))
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_threads_do_not_change_a_bit():
    X, _ = make_spirals(random_state=0)
    one, two = (LaplacianKModes(5, n_jobs=n, random_state=0).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.assignments_, two.assignments_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    np.testing.assert_array_equal(one.predict_proba(X[:50]), two.predict_proba(X[:50]))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_dense_and_sparse_agree(container):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(150, 20))) * (rng.random((150, 20)) < 0.3) + 2 * np.repeat(np.eye(20)[:3], 50, axis=0)
    dense, sparse = (LaplacianKModes(3, lam=0.1, bandwidth=1.0, random_state=0).fit(M) for M in (X, container(X)))
    np.testing.assert_allclose(dense.assignments_, sparse.assignments_, atol=1e-7)
    np.testing.assert_allclose(dense.cluster_centers_, sparse.cluster_centers_, atol=1e-7)
    for method in ("predict_proba", "transform", "score_samples", "density"):
        np.testing.assert_allclose(getattr(dense, method)(X[:9]), getattr(sparse, method)(container(X[:9])), atol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.7, "entropic"])
def test_single_precision_agrees_with_double(blobs, bandwidth):
    X, _ = blobs
    single, double = (
        LaplacianKModes(3, bandwidth=bandwidth, tol=1e-5, random_state=0).fit(X.astype(t)) for t in ("f4", "f8")
    )
    assert single.assignments_.dtype == single.cluster_centers_.dtype == np.float32
    assert single.predict_proba(X[:5].astype("f4")).dtype == np.float32
    np.testing.assert_allclose(single.assignments_, double.assignments_, atol=1e-3)


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    X, copies = rng.normal(size=(40, 2)), rng.integers(0, 4, 40)
    for bandwidth in (0.8, np.inf):
        shared = {"bandwidth": bandwidth, "init": X[:3] + 0.1, "tol": 1e-8}
        weighted = KModes(3, **shared).fit(X, sample_weight=copies)
        copied = KModes(3, **shared).fit(np.repeat(X, copies, axis=0))
        np.testing.assert_allclose(weighted.cluster_centers_, copied.cluster_centers_, atol=1e-6)
        assert weighted.objective_ * copies[copies > 0].mean() == pytest.approx(copied.objective_)


@pytest.mark.parametrize("parameters", [{"lam": 0.1, "bandwidth": 0.7}, {}, {"bandwidth": np.inf}, {"lam": 0}])
@pytest.mark.parametrize("laplacian", ["unnormalized", "normalized"])
def test_weight_zero_has_no_influence_and_scale_none(blobs, parameters, laplacian):
    X, y = blobs
    weight = np.ones(len(X))
    weight[::7] = 0
    keep = weight > 0
    make = lambda: LaplacianKModes(3, **parameters, laplacian=laplacian, init="k-means", random_state=0)  # noqa: E731
    weighted = make().fit(X, sample_weight=weight)
    absent = make().fit(X[keep])
    scaled = make().fit(X, sample_weight=1e3 * weight)
    for other in (absent, scaled):
        np.testing.assert_allclose(weighted.cluster_centers_, other.cluster_centers_, atol=1e-12)
        assert weighted.lam_ == pytest.approx(other.lam_)
        np.testing.assert_allclose(weighted.predict_proba(X), other.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(weighted.assignments_[keep], absent.assignments_)
    assert adjusted_rand_score(y, weighted.labels_) == 1
    assert weighted.graph_.shape == (180, 180)
    np.testing.assert_array_equal(weighted.graph_.sum(axis=1)[~keep], 0)
    np.testing.assert_array_equal(keep[weighted.exemplars_], True)


def test_labels_follow_permutation_scale_and_shift():
    X, _ = make_spirals(600, n_spirals=3, random_state=0)
    base = LaplacianKModes(3, random_state=0).fit(X)
    order = np.random.default_rng(0).permutation(len(X))
    for other, labels in ((1e6 * X, base.labels_), (1e-6 * X, base.labels_), (X + 100, base.labels_)):
        assert adjusted_rand_score(LaplacianKModes(3, random_state=0).fit_predict(other), labels) == 1
    assert adjusted_rand_score(LaplacianKModes(3, random_state=0).fit_predict(X[order]), base.labels_[order]) == 1


def test_cosine_sees_directions_only(blobs):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = (np.eye(3)[y] + 0.1 * rng.normal(size=(120, 3))) * rng.uniform(0.1, 10, 120)[:, None]
    model = LaplacianKModes(3, metric="cosine", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(3 * X), model.predict(X))


def test_far_from_the_origin_in_many_dimensions():
    X = np.random.default_rng(0).normal(size=(100, 20))
    near, far = (LaplacianKModes(3, random_state=0).fit(X + shift) for shift in (0, 1e7))
    assert abs((near.graph_ > 0).astype(int) - (far.graph_ > 0).astype(int)).sum() == 0


def test_read_only_and_memory_mapped_input(tmp_path, blobs):
    X, _ = blobs
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    a, b = LaplacianKModes(3, random_state=0).fit(mapped), LaplacianKModes(3, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.predict_proba(mapped), b.predict_proba(X))


def test_given_graph_is_left_alone_and_may_be_read_only(blobs):
    W = kneighbors_graph(blobs[0], 5)
    W = sp.csr_array(W.maximum(W.T))
    W.indices[:2] = W.indices[:2][::-1].copy()
    W = sp.csr_array((W.data, W.indices, W.indptr), shape=W.shape)
    before = W.indices.copy()
    for part in (W.data, W.indices, W.indptr):
        part.setflags(write=False)
    LaplacianKModes(3, random_state=0).fit(blobs[0], graph=W)
    np.testing.assert_array_equal(W.indices, before)


def test_built_and_given_graphs_map_alike_under_weights(blobs):
    X, _ = blobs
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    W = kneighbors_graph(X, 5)
    shared = {"lam": 0.1, "bandwidth": 0.7, "init": "k-means", "random_state": 0}
    built = LaplacianKModes(3, affinity="binary", n_neighbors=5, **shared).fit(X, sample_weight=weight)
    given = LaplacianKModes(3, **shared).fit(X, sample_weight=weight, graph=W.maximum(W.T))
    cross = NearestNeighbors(n_neighbors=5).fit(X).kneighbors_graph(X + 0.1)
    np.testing.assert_allclose(given.predict_proba(X + 0.1, graph=cross), built.predict_proba(X + 0.1), atol=1e-12)


def test_fit_in_a_forked_child_after_a_threaded_fit():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LaplacianKMeans(4, lam=0, n_jobs=2, random_state=0).fit(X)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_fit_in_child, (X,)).get(timeout=60) == 4


def _fit_in_child(X):
    return len(np.unique(LaplacianKMeans(4, lam=0, n_jobs=2, random_state=0).fit(X).labels_))
