from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from reference import energy, errors, kernel
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapmodes import DegenerateWarning, KModes, LaplacianKMeans, LaplacianKModes, load
from lapmodes.datasets import make_moons_with_outliers, make_spirals

SPIRALS = {"lam": 100, "bandwidth": 0.2, "affinity": "heat", "n_neighbors": 5, "init": "k-means"}

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "a neighbour graph on repeated points has other neighbours, and "
    "random starts draw other seeds; see test_weights_are_copies for what does hold",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_estimator_sparse_array": "the check takes anything with predict_proba for a classifier and reads its "
    "classifier tags, which a clusterer has not; see test_dense_and_sparse_agree",
    "check_estimator_sparse_matrix": "as for sparse arrays",
}


@parametrize_with_checks(
    [
        LaplacianKModes(),
        LaplacianKModes(bandwidth="adaptive", affinity="entropic", laplacian="normalized"),
        KModes(),
        LaplacianKMeans(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_five_spirals_from_k_means_at_the_papers_setting():
    wrong = []
    for seed in range(20):
        X, y = make_spirals(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateWarning)  # one draw has an arm cut off from its mode
            model = LaplacianKModes(5, **SPIRALS, random_state=0).fit(X)
        wrong.append(errors(y, model.labels_))
        assert model.gap_ <= 1e-4 * abs(model.objective_) * 1.1
    assert np.count_nonzero(np.array(wrong) == 0) >= 19


@pytest.mark.parametrize("seed", range(5))
def test_noisy_moons_by_homotopy(seed):
    X, y = make_moons_with_outliers(random_state=seed)
    path = [(1.0, sigma) for sigma in np.geomspace(5, 0.1, 10)]
    model = LaplacianKModes(
        2, lam=1.0, bandwidth=0.1, path=path, affinity="heat", n_neighbors=5, init="k-means", random_state=0
    ).fit(X)
    assert errors(y[y < 2], model.labels_[y < 2]) == 0
    inliers, moon = X[y < 2], y[y < 2]
    distance = np.linalg.norm(model.cluster_centers_[:, None] - inliers[None], axis=2)
    assert sorted(moon[distance.argmin(axis=1)]) == [0, 1]
    assert distance.min(axis=1).max() < 0.05
    assert len(model.path_) == 10 and model.bandwidth_ == pytest.approx(0.1)


def test_defaults_find_moons_and_blobs(blobs):
    X, y = make_moons_with_outliers(n_outliers=0, random_state=0)
    assert adjusted_rand_score(y, LaplacianKModes(2, random_state=0).fit_predict(X)) > 0.99
    X, y = blobs
    assert adjusted_rand_score(y, LaplacianKModes(3, random_state=0).fit_predict(X)) == 1


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


@pytest.mark.parametrize("anchor", ["auto", 0.5])
@pytest.mark.parametrize("balance", [0.0, 2.0])
def test_objective_and_gap_are_what_they_say(blobs, anchor, balance):
    X, _ = blobs
    model = LaplacianKModes(3, anchor=anchor, balance=balance, random_state=0).fit(X)
    d = model.graph_.sum(axis=1)
    L = np.diag(d) - model.graph_.toarray() + balance * np.outer(d, d) / d.sum()
    B = kernel(X, model.cluster_centers_, model.bandwidth_) + model.anchor_ * model.votes_
    assert model.objective_ == pytest.approx(energy(L, B, model.lam_, model.assignments_))
    G = 2 * model.lam_ * (L @ model.assignments_) - B
    assert model.gap_ <= np.sum(G * model.assignments_) - G.min(axis=1).sum() + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_labels_survive_scaling_and_rotation_though_distances_tie(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, 2)) * 4)  # one heap of lattice points: no clear clusters, many equal distances
    angle = 0.3
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one, *others = (LaplacianKModes(4, random_state=0).fit(each).labels_ for each in (X, 1e6 * X, 1e-6 * X, X @ turn))
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_balance_keeps_clusters_alive_at_large_lam(blobs):
    X, y = blobs
    rule = {"lam": 100.0, "bandwidth": 0.7, "affinity": "adaptive", "n_neighbors": 70, "init": X[[0, 70, 130]]}
    with pytest.warns(DegenerateWarning):
        assert np.unique(LaplacianKModes(3, **rule).fit(X).labels_).size < 3
    model = LaplacianKModes(3, balance=1.0, **rule).fit(X)
    assert errors(y, model.labels_) == 0
    assert errors(y, model.predict(X)) == 0


@pytest.mark.parametrize("init", ["k-means", "k-means++", "random", "spectral"])
@pytest.mark.parametrize("affinity", ["binary", "heat", "adaptive", "entropic"])
@pytest.mark.parametrize("bandwidth", [0.7, "auto", "adaptive", np.inf])
def test_every_combination_runs(blobs, init, affinity, bandwidth):
    X, _ = blobs
    model = LaplacianKModes(3, affinity=affinity, bandwidth=bandwidth, init=init, random_state=0, n_init=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(X)
    assert np.abs(model.assignments_.sum(axis=1) - 1).max() < 1e-14
    P = model.predict_proba(X[:10] + 0.01)
    assert np.abs(P.sum(axis=1) - 1).max() < 1e-14


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


@pytest.mark.parametrize("bandwidth", [0.7, "adaptive"])
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


def test_given_graph_and_its_mapping(blobs):
    X, y = blobs
    from sklearn.neighbors import kneighbors_graph

    W = kneighbors_graph(X, 6)
    model = LaplacianKModes(3, random_state=0).fit(X, graph=W.maximum(W.T))
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X, graph=W), model.labels_)


def test_mapping_of_training_points_nearly_repeats_their_labels():
    X, _ = make_spirals(random_state=0)
    model = LaplacianKModes(5, **SPIRALS, random_state=0).fit(X)
    assert np.mean(model.predict(X) == model.labels_) > 0.98


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


def test_collapse_is_reported(blobs):
    X, _ = blobs
    with pytest.warns(DegenerateWarning, match="ended without any point.*smaller 'lam'"):
        LaplacianKModes(5, lam=10.0, affinity="binary", bandwidth=0.5, random_state=0).fit(X)


def test_no_rest_is_reported(blobs):
    with pytest.warns(ConvergenceWarning, match="did not rest within 1 iterations.*Raise 'max_iter'"):
        LaplacianKModes(3, max_iter=1, init="random", random_state=0).fit(blobs[0])


def test_unreachable_component_follows_its_nearest_point_and_is_reported():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 20, 0.1 * rng.normal(size=(9, 2)) + [12, 12]])
    with pytest.warns(
        DegenerateWarning, match="9 of 109 points lie in parts of the graph that no mode's kernel reaches"
    ):
        model = LaplacianKModes(2, init=X[[0, 50]], bandwidth=1.0, lam=1.0, n_neighbors=5).fit(X)
    assert (model.labels_[100:] == model.labels_[50]).all()


def test_duplicated_points_constant_features_and_few_distinct_points():
    X = np.repeat(np.array([[0.0, 1.0], [5.0, 1.0]]), 40, axis=0)
    assert len(set(LaplacianKModes(2, random_state=0).fit_predict(X))) == 2
    with pytest.warns(DegenerateWarning, match="too few distinct points"):
        LaplacianKModes(4, init="k-means", random_state=0).fit(X)
    assert LaplacianKModes(1).fit(X).labels_.max() == 0


def test_n_init_keeps_the_lowest_objective():
    X, _ = make_spirals(400, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model = LaplacianKModes(5, init="random", n_init=6, random_state=0, bandwidth=0.5).fit(X)
        rng = np.random.RandomState(0)
        single = [
            LaplacianKModes(5, init="random", random_state=rng, bandwidth=0.5).fit(X).objective_ for _ in range(6)
        ]
    assert model.objective_ == min(single)


def test_pandas_polars_names_and_output(blobs):
    import pandas as pd
    import polars as pl

    X, _ = blobs
    plain = LaplacianKModes(3, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = LaplacianKModes(3, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert list(model.feature_names_in_) == ["a", "b"]
    table = model.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == ["laplaciankmodes0", "laplaciankmodes1", "laplaciankmodes2"]
    np.testing.assert_allclose(table.to_numpy(), kernel(X, model.cluster_centers_, model.bandwidth_), atol=1e-12)


def test_pipeline_and_metadata_routing(blobs):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = blobs
    weight = np.ones(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = LaplacianKModes(3, random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model).fit(
            X, sample_weight=weight
        )
    assert adjusted_rand_score(y, pipeline[-1].labels_) == 1


def test_progress_callback_verbose_and_early_stop(blobs, capsys):
    seen = []
    LaplacianKModes(3, callback=lambda *step: seen.append(step), init="k-means", verbose=True).fit(blobs[0])
    assert {phase for phase, *_ in seen} == {"neighbours", "start", "alternate"}
    assert seen[0][:3] == ("neighbours", 180, 180)
    assert "alternate" in capsys.readouterr().err
    stopped = LaplacianKModes(3, tol=0, path=4, callback=lambda phase, *_: phase == "alternate").fit(blobs[0])
    assert (stopped.n_iter_, len(stopped.path_)) == (1, 1)


def test_scikit_learn_callbacks(blobs):
    callback = pytest.importorskip("sklearn.callback")

    class Recorder:
        def __init__(self):
            self.ended = []

        def setup(self, estimator, context):
            self.ended.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.ended.append(context.task_name)

        def teardown(self, estimator, context):
            self.ended.append("teardown")

    recorder = Recorder()
    LaplacianKModes(3).set_callbacks(recorder, callback.ProgressBar()).fit(blobs[0])
    assert recorder.ended[0] == "setup" and recorder.ended[-1] == "teardown"
    assert {"neighbours", "start", "alternate", "fit"} <= set(recorder.ended)


def test_read_only_and_memory_mapped_input(tmp_path, blobs):
    X, _ = blobs
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    a, b = LaplacianKModes(3, random_state=0).fit(mapped), LaplacianKModes(3, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.predict_proba(mapped), b.predict_proba(X))


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
        assert beyond < mapped.nbytes
        np.testing.assert_array_equal(answer[: len(blobs[0])], answer[-len(blobs[0]) :])


def test_a_point_that_no_kernel_reaches_at_all_goes_to_the_nearest_mode():
    with pytest.warns(DegenerateWarning, match="2 of 2 points"):
        model = LaplacianKModes(1, bandwidth=1e-3, lam=1.0, init=[[0.5]]).fit([[0.0], [1.0]])
    np.testing.assert_array_equal(model.assignments_, 1)


def test_restarts_are_compared_at_the_same_lam():
    from sklearn.datasets import make_blobs

    X, _ = make_blobs(60, centers=3, cluster_std=[0.3, 0.5, 1.5], random_state=5)
    single = [
        LaplacianKModes(3, init="k-means++", random_state=rng).fit(X)
        for rng in [np.random.RandomState(5)]
        for _ in range(4)
    ]
    best = LaplacianKModes(3, init="k-means++", n_init=4, random_state=5).fit(X)
    assert best.lam_ == max(model.lam_ for model in single)


def test_sparse_text_and_mixed_formats():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["red apple pie", "apple tart", "red apple", "fast car", "car engine", "fast engine"] * 5
    X = TfidfVectorizer().fit_transform(texts)
    y = np.array([0, 0, 0, 1, 1, 1] * 5)
    for model in (
        KModes(2, random_state=0),
        LaplacianKMeans(2, random_state=0),
        LaplacianKModes(2, init="k-means", path=3),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateWarning)
            labels = model.fit_predict(X)
        assert adjusted_rand_score(y, labels) == 1
        np.testing.assert_array_equal(model.predict(X.toarray()), model.predict(X))
    dense = LaplacianKModes(2, lam=0.1, random_state=0).fit(X.toarray())
    np.testing.assert_array_equal(dense.predict(X), dense.predict(X.toarray()))


def test_parameters_changed_after_fit_do_not_change_the_model(blobs):
    X, _ = blobs
    model = LaplacianKModes(3, random_state=0).fit(X)
    before = model.predict_proba(X)
    model.set_params(n_clusters=6, metric="cosine", laplacian="normalized", n_neighbors=3)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_given_graph_is_left_alone_and_may_be_read_only(blobs):
    from sklearn.neighbors import kneighbors_graph

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
    from sklearn.neighbors import kneighbors_graph

    W = kneighbors_graph(X, 5)
    shared = {"lam": 0.1, "bandwidth": 0.7, "init": "k-means", "random_state": 0}
    built = LaplacianKModes(3, affinity="binary", n_neighbors=5, **shared).fit(X, sample_weight=weight)
    given = LaplacianKModes(3, **shared).fit(X, sample_weight=weight, graph=W.maximum(W.T))
    cross = kneighbors_graph(np.vstack([X, X + 0.1]), 6)[180:, :180]
    exact = built._trained.index.query(X + 0.1, 5).indices
    cross = sp.csr_array((np.ones(900), exact.ravel(), np.arange(0, 901, 5)), shape=(180, 180))
    np.testing.assert_allclose(given.predict_proba(X + 0.1, graph=cross), built.predict_proba(X + 0.1), atol=1e-12)


def test_warnings_point_at_the_callers_line(blobs):
    for call in ("fit", "fit_predict", "fit_transform"):
        with pytest.warns(ConvergenceWarning) as caught:
            getattr(LaplacianKModes(3, max_iter=1, init="random", random_state=0), call)(blobs[0])
        assert {warning.filename for warning in caught} == {__file__}


def test_fit_in_a_forked_child_after_a_threaded_fit():
    import multiprocessing

    X = np.random.default_rng(0).normal(size=(20_000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LaplacianKMeans(4, lam=0, n_jobs=2, random_state=0).fit(X)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_fit_in_child, (X,)).get(timeout=60) == 4


def _fit_in_child(X):
    return len(np.unique(LaplacianKMeans(4, lam=0, n_jobs=2, random_state=0).fit(X).labels_))


def test_far_from_the_origin_in_many_dimensions():
    X = np.random.default_rng(0).normal(size=(100, 20))
    near, far = (LaplacianKModes(3, random_state=0).fit(X + shift) for shift in (0, 1e7))
    assert abs((near.graph_ > 0).astype(int) - (far.graph_ > 0).astype(int)).sum() == 0


def rings():
    """A ring around a disc, and a far blob: three shapes that no single rule finds."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * (5 + 0.1 * rng.normal(size=300))[:, None]
    return np.concatenate([ring, rng.normal(size=(200, 2)), rng.normal(size=(60, 2)) * 0.4 + 9]), np.repeat(
        [0, 1, 2], [300, 200, 60]
    )


def test_defaults_find_unlike_shapes():
    X, y = rings()
    assert adjusted_rand_score(y, LaplacianKModes(3, random_state=0).fit(X).labels_) == pytest.approx(1)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_defaults_do_not_depend_on_scale_or_rotation(factor):
    X, _ = rings()
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    plain = LaplacianKModes(3, random_state=0).fit(X).labels_
    assert adjusted_rand_score(plain, LaplacianKModes(3, random_state=0).fit(factor * X @ turn).labels_) == 1


def test_explicit_values_give_the_papers_model():
    X = np.random.default_rng(0).normal(size=(150, 2))
    for parameters in ({"lam": 0.1}, {"bandwidth": 0.5}, {"init": "k-means"}, {"path": 3}):
        model = LaplacianKModes(3, random_state=0, **parameters).fit(X)
        assert model.anchor_ == 0
        assert model.votes_ is None


def test_consensus_works_on_a_given_graph():
    X, _ = rings()
    W = LaplacianKModes(3, random_state=0).fit(X).graph_
    assert np.unique(LaplacianKModes(3, random_state=0).fit(X, graph=W).labels_).size == 3


def test_outlier_score_ranks_far_points_last():
    X, y = rings()
    far = np.array([[30.0, 0.0], [0.0, -25.0]])
    model = LaplacianKModes(3, random_state=0).fit(X)
    own, new = model.outlier_score(X), model.outlier_score(far)
    assert ((own >= 0) & (own <= 1)).all()
    np.testing.assert_allclose(new, 1)
    for k in range(3):
        assert own[y == k].min() < 0.05
    np.testing.assert_allclose(LaplacianKModes(3, random_state=0).fit(1e3 * X).outlier_score(1e3 * X), own, atol=0.01)
