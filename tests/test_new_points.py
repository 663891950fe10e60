"""What a fitted model says of points: the mapping, densities, outliers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, _predict, fit_path, load
from lapmodes._rows import as_dense
from lapmodes.datasets import make_spirals
from lapmodes.metrics import outlier_scores


def test_given_graph_and_its_mapping(blobs):
    X, y = blobs
    W = kneighbors_graph(X, 6)
    model = LaplacianKModes(3, random_state=0).fit(X, graph=W.maximum(W.T))
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X, graph=W), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_training_points_get_their_training_answer(sparse, dtype, tmp_path):
    """Also from a file, in another format, and among new points; points beside them get nearly the same."""
    X = make_spirals(random_state=0)[0].astype(dtype)
    model = LaplacianKModes(5, random_state=0, sparse_assignments=sparse).fit(sp.csr_array(X) if sparse else X)
    own = as_dense(model.assignments_)
    model.save(tmp_path / "model.npz")
    for each in (model, load(tmp_path / "model.npz")):
        np.testing.assert_array_equal(each.predict(X), model.labels_)
        np.testing.assert_array_equal(as_dense(each.predict_proba(sp.csr_array(X[::-7]))), own[::-7])
    mixed = X.copy()
    mixed[::2] += 1e-4
    near = as_dense(model.predict_proba(mixed))
    np.testing.assert_array_equal(near[1::2], own[1::2])
    assert (near[::2] != own[::2]).any()
    assert np.mean(near.argmax(axis=1) == model.labels_) > 0.98


def test_chunks_do_not_change_the_mapping(monkeypatch):
    X, _ = make_spirals(random_state=0)
    model = LaplacianKModes(5, random_state=0).fit(X)
    whole = model.predict_proba(X)
    monkeypatch.setattr("lapmodes._predict.CHUNK_ROWS", 97)
    np.testing.assert_array_equal(model.predict_proba(X), whole)


def test_densities_are_normalised_and_mix_to_the_score():
    X, _ = make_spirals(300, n_spirals=2, random_state=0)
    model = LaplacianKModes(2, bandwidth=0.5, random_state=0).fit(X)
    axis = np.linspace(-18, 18, 300)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    P = model.density(grid)
    np.testing.assert_allclose(P.sum(axis=0) * (axis[1] - axis[0]) ** 2, 1, rtol=1e-3)
    share = model.assignments_.mean(axis=0)
    np.testing.assert_allclose(np.exp(model.score_samples(grid[::97])), P[::97] @ share, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.density(grid[:5], log=True)), P[:5])


def test_parameters_changed_after_fit_do_not_change_the_model(blobs):
    X, _ = blobs
    model = LaplacianKModes(3, random_state=0).fit(X)
    before = model.predict_proba(X)
    model.set_params(n_clusters=6, metric="cosine", laplacian="normalized", n_neighbors=3)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_memory_mapped_single_precision_is_neither_copied_nor_held_at_once(tmp_path, blobs, monkeypatch):
    np.save(tmp_path / "x.npy", np.tile(blobs[0].astype(np.float32), (500, 1)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    fitted = LaplacianKModes(3, random_state=0).fit(mapped[: len(blobs[0])])
    assert np.shares_memory(fitted._trained.X, mapped)
    fitted.save(tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    monkeypatch.setattr("lapmodes._predict.CHUNK_ROWS", 100)
    monkeypatch.setattr("lapmodes._predict.CHUNK_ENTRIES", 300)
    for method in (model.predict, model.predict_proba, model.score_samples):
        method(mapped[:10])  # what is imported or made at the first call is not the point
        tracemalloc.start()
        answer = method(mapped)
        beyond = tracemalloc.get_traced_memory()[1] - answer.nbytes
        tracemalloc.stop()
        assert beyond < 1.5 * mapped.nbytes  # a copy in double precision would be 2
        np.testing.assert_array_equal(answer[: len(blobs[0])], answer[-len(blobs[0]) :])


def test_sparse_text_and_mixed_formats():
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng, y = np.random.default_rng(0), np.repeat([0, 1], 20)
    words = (["red", "apple", "pie", "tart", "sweet", "crust"], ["fast", "car", "engine", "wheel", "road", "brake"])
    X = TfidfVectorizer().fit_transform([" ".join(rng.permutation(words[k])[: rng.integers(2, 6)]) for k in y])
    *_, last = fit_path(X, 2, n_steps=3, init="k-means", random_state=0)
    for model in (KModes(2, random_state=0).fit(X), LaplacianKMeans(2, random_state=0).fit(X), last):
        assert adjusted_rand_score(y, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(X.toarray()), model.predict(X))
    dense = LaplacianKModes(2, lam=0.1, random_state=0).fit(X.toarray())
    np.testing.assert_array_equal(dense.predict(X), dense.predict(X.toarray()))


@pytest.fixture(scope="module")
def unlike_blobs():
    """Three clusters of unlike widths with 100 points each, and a model of them."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 100)
    X = rng.normal(size=(300, 2)) * np.repeat([[0.1], [1.0], [3.0]], 100, axis=0) + 20 * np.eye(3, 2)[y]
    return X, y, LaplacianKModes(3, random_state=0).fit(X)


def test_outlier_score_ranks_far_points_last(unlike_blobs):
    X, y, model = unlike_blobs
    own, new = model.outlier_score(X), model.outlier_score(np.array([[90.0, 0.0], [0.0, -80.0], [20.0, 2.0]]))
    assert ((own >= 0) & (own <= 1)).all()
    assert (new > 0.9999).all()  # the last one is beside the dense cluster, and nearer to it than members of others
    for k in range(3):
        assert own[y == k].min() < 0.05 and own[y == k].max() > 0.9
    order = np.random.default_rng(1).permutation(300)
    again = LaplacianKModes(3, random_state=0).fit(1e3 * X[order])
    np.testing.assert_allclose(again.outlier_score(1e3 * X), own, atol=1e-3)


def test_outlier_score_is_by_the_distance_from_the_tenth_other_point(unlike_blobs):
    X, _, model = unlike_blobs
    tenth = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 10]  # itself is the first
    np.testing.assert_allclose(outlier_scores(model.assignments_, -np.log(tenth)), model.outlier_score(X), atol=1e-9)
    new = X[:50] + 0.01
    tenth_of_new = np.sort(np.linalg.norm(new[:, None] - X, axis=2), axis=1)[:, 9]
    members = [-np.log(tenth[model.labels_ == k]) for k in range(3)]
    expected = outlier_scores(model.predict_proba(new), -np.log(np.maximum(tenth_of_new, tenth.min())), members)
    np.testing.assert_allclose(model.outlier_score(new), expected, atol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_outlier_score_is_calibrated_in_every_cluster(d):
    rng, sizes, widths = np.random.default_rng(d), (200, 600, 2000), np.array([0.2, 1.0, 5.0])
    centers = np.pad([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0]], ((0, 0), (0, d - 2)))

    def draw(counts):
        k = np.repeat(np.arange(3), counts)
        return centers[k] + widths[k, None] * rng.normal(size=(len(k), d)), k

    above = []
    for _ in range(4):
        X, y = draw(sizes)
        model = KModes(3, init=centers, bandwidth=5.0, n_jobs=1).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.99
        new, k = draw(1500)
        score = model.outlier_score(new)
        above.append([[(score[k == each] > limit).mean() for limit in (0.95, 0.99)] for each in range(3)])
    rates = np.mean(above, axis=0)
    assert ((rates[:, 0] > 0.03) & (rates[:, 0] < 0.07)).all(), rates
    assert ((rates[:, 1] > 0.003) & (rates[:, 1] < 0.02)).all(), rates


def test_outlier_score_counts_equal_points_as_neighbours_and_weights_as_counts():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2)), [[8.0, 8.0], [-8.0, 8.0]]])
    counts = np.append(np.ones(100, dtype=int), [1, 30])
    repeated = np.repeat(X, counts, axis=0)
    model = KModes(1, random_state=0, n_jobs=1).fit(repeated)
    score = model.outlier_score(X)
    assert score[100] > 0.99 and score[101] < 0.5  # thirty equal points are no outlier, one is
    weighted = KModes(1, random_state=0, n_jobs=1).fit(X, sample_weight=5.0 * counts)
    np.testing.assert_allclose(weighted.outlier_score(X), score, atol=1e-6)


def test_outlier_score_of_every_kind_of_model(unlike_blobs, tmp_path):
    X, _, model = unlike_blobs
    own = model.outlier_score(X)
    sparse = LaplacianKModes(3, random_state=0, sparse_assignments=True).fit(X)
    np.testing.assert_allclose(sparse.outlier_score(X), own, atol=1e-9)
    model.save(tmp_path / "m.npz")
    np.testing.assert_allclose(load(tmp_path / "m.npz").outlier_score(X), own, atol=1e-12)
    given = LaplacianKModes(3, random_state=0).fit(X, graph=model.graph_)
    assert np.corrcoef(given.outlier_score(X, graph=model.graph_), own)[0, 1] > 0.95
    with pytest.raises(ValueError, match="Pass graph="):
        given.outlier_score(X)
    assert LaplacianKMeans(3, random_state=0).fit(X).outlier_score([[0.0, -80.0]])[0] > 0.999


def test_many_members_are_sampled(unlike_blobs, monkeypatch):
    X, _, model = unlike_blobs
    monkeypatch.setattr(_predict, "MANY_POINTS", 200)
    monkeypatch.setattr(_predict, "SAMPLED_MEMBERS", 50)
    sampled = LaplacianKModes(3, random_state=0).fit(X)
    difference = np.abs(sampled.outlier_score(X) - model.outlier_score(X))
    assert 0 < difference.max() < 0.2


@pytest.mark.parametrize("X", [np.zeros((4, 2)), np.arange(6.0).reshape(3, 2), np.eye(15)])
def test_outlier_score_of_a_few_points(X):
    score = KModes(1, bandwidth=1.0, random_state=0).fit(X).outlier_score(np.vstack([X, np.full(X.shape[1], 1e6)]))
    assert ((score >= 0) & (score <= 1)).all() and score[-1] > 0.99 and score[:-1].max() < 0.9


def test_probabilities_are_the_shares_of_the_own_clusters():
    X = np.random.default_rng(0).normal(size=(150, 2))
    dense, sparse = (LaplacianKModes(4, sparse_assignments=each, random_state=0).fit(X) for each in (False, True))
    np.testing.assert_array_equal(dense.probabilities_, dense.assignments_[np.arange(150), dense.labels_])
    np.testing.assert_array_equal(dense.probabilities_, dense.assignments_.max(axis=1))
    np.testing.assert_array_equal(sparse.probabilities_, sparse.assignments_.toarray().max(axis=1))
    assert ((dense.probabilities_ > 0) & (dense.probabilities_ <= 1)).all()


def test_the_model_says_whether_new_points_need_a_graph(blobs):
    X, _ = blobs
    W = kneighbors_graph(X, 6)
    W = W.maximum(W.T)
    assert not LaplacianKModes(3, random_state=0).fit(X).graph_given_
    assert LaplacianKModes(3, random_state=0).fit(X, graph=W).graph_given_
    without = LaplacianKModes(3, lam=0, random_state=0).fit(X, graph=W)
    assert not without.graph_given_ and without.predict(X).shape == (180,)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("d", [1, 2, 20])
@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_outlier_scores_of_few_points(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    scores = LaplacianKModes(1, random_state=0).fit(X).outlier_score(X)
    assert ((scores >= 0) & (scores <= 1)).all()
