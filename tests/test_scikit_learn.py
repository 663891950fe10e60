"""scikit-learn to the letter: callbacks, copies and pickles, HTML, sparse interfaces, routing, foreign arrays."""

from __future__ import annotations

import copy
import pickle
import tomllib
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from reference import kernel
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, Scaler
from lapmodes._persistence import STORED

MODELS = [
    LaplacianKModes(3, random_state=0),
    LaplacianKModes(3, bandwidth="entropic", affinity="entropic", laplacian="normalized", random_state=0),
    LaplacianKModes(3, affinity="anchor", random_state=0),
    LaplacianKModes(3, affinity=lambda d: 1 / (1 + d), random_state=0),
    KModes(3, random_state=0),
    LaplacianKMeans(3, sparse_assignments=True, random_state=0),
]


class Recorder:
    """A callback that keeps what it is told."""

    def __init__(self):
        self.ended, self.models, self.data = [], [], []

    def setup(self, estimator, context):
        self.ended.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        self.data.append((X, y))
        if fitted_estimator is not None:
            self.models.append((context.task_name, fitted_estimator))

    def teardown(self, estimator, context):
        self.ended.append("teardown")


def test_callbacks_see_the_data_and_a_model_after_each_alternation(blobs):
    callback = pytest.importorskip("sklearn.callback")
    X, y = blobs
    recorder = Recorder()
    model = LaplacianKModes(3, tol=1e-12, max_iter=4, init=X[[0, 70, 130]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_callbacks(recorder, callback.ProgressBar()).fit(X, y)
    assert recorder.ended[0] == "setup" and recorder.ended[-1] == "teardown"
    assert {"neighbours", "start", "alternate", "fit"} <= set(recorder.ended)
    assert all(seen[0] is X and seen[1] is y for seen in recorder.data)
    steps = [each for name, each in recorder.models if name == "step"]
    assert [each.n_iter_ for each in steps] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([each.objective_ for each in steps], model.history_["objective"])
    for each in steps:
        assert each.predict_proba(X + 0.01).shape == (180, 3)
    for _, last in recorder.models[-2:]:
        np.testing.assert_array_equal(last.predict(X + 0.01), model.predict(X + 0.01))
    assert not hasattr(clone_of(model), "labels_")


def clone_of(model):
    return sklearn.base.clone(model)


def test_the_scoring_monitor_has_a_score_for_each_step(blobs):
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring="adjusted_rand_score")
    model = LaplacianKModes(3, random_state=0).set_callbacks(monitor).fit(*blobs)
    found = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(found) == model.n_iter_
    assert found[-1]["adjusted_rand_score"] == 1


def test_a_callback_may_end_the_fit(blobs):
    pytest.importorskip("sklearn.callback")

    class Stopper(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            return context.task_name == "step" and fitted_estimator is not None

    model = LaplacianKModes(3, tol=0, random_state=0).set_callbacks(Stopper()).fit(blobs[0])
    assert (model.n_iter_, model.status_) == (1, "stopped")


@pytest.mark.parametrize("model", MODELS, ids=["default", "entropic", "anchor", "function", "k-modes", "k-means"])
@pytest.mark.parametrize("how", ["pickle", "joblib", "deepcopy", "copy"])
def test_copies_answer_as_the_model_does(tmp_path, blobs, model, how):
    X, _ = blobs
    model = clone_of(model).fit(X)
    before = model.predict_proba(X + 0.01)
    model.outlier_score(X[:5])  # everything that is made when it is first asked for is there
    if how != "copy" and how != "deepcopy" and callable(model.affinity):
        with pytest.raises((pickle.PicklingError, AttributeError)):  # as for any lambda
            pickle.dumps(model)
        return
    if how == "pickle":
        back = pickle.loads(pickle.dumps(model))
    elif how == "joblib":
        joblib.dump(model, tmp_path / "model")
        back = joblib.load(tmp_path / "model")
    else:
        back = getattr(copy, how)(model)
    assert vars(back).keys() == vars(model).keys()
    np.testing.assert_array_equal(sp.csr_array(back.predict_proba(X + 0.01)).toarray(), sp.csr_array(before).toarray())
    np.testing.assert_array_equal(back.labels_, model.labels_)
    np.testing.assert_array_equal(back.outlier_score(X[:5]), model.outlier_score(X[:5]))
    back.set_params(n_clusters=2).fit(X)
    assert model.n_clusters_ == 3 and model.n_clusters == 3


def leaves(state):
    """All that is not a container."""
    if isinstance(state, dict):
        state = list(state.values())
    if isinstance(state, (list, tuple)):
        for each in state:
            yield from leaves(each)
    else:
        yield state


@pytest.mark.parametrize("model", [each for each in MODELS if not callable(each.affinity)], ids=repr)
def test_the_state_is_plain(blobs, model):
    """Nothing but values and arrays of numbers or text: what skops, MLflow and the like can look at."""
    model = clone_of(model).fit(blobs[0])
    model.predict(blobs[0] + 0.01)
    state = model.__getstate__()
    for each in leaves(state):
        assert each is None or type(each) in (bool, int, float, str, np.ndarray), type(each)
        assert not isinstance(each, np.ndarray) or each.dtype.kind in "fiubUV", each.dtype
    written = vars(model).keys() - vars(clone_of(model)).keys()
    assert written == {*STORED, "n_features_in_"}


def test_notes_names_and_settings_survive_a_pickle(blobs):
    import pandas as pd

    frame = pd.DataFrame(blobs[0], columns=["a", "b"])
    model = LaplacianKModes(3, random_state=0).set_output(transform="pandas").fit(frame)
    model.notes_ = {"who": "me"}
    back = pickle.loads(pickle.dumps(model))
    assert back.notes_ == {"who": "me"}
    assert list(back.feature_names_in_) == ["a", "b"]
    pd.testing.assert_frame_equal(back.transform(frame), model.transform(frame))
    assert pickle.loads(pickle.dumps(LaplacianKModes(4))).n_clusters == 4


@pytest.mark.parametrize("model", [LaplacianKModes(3), KModes(3), LaplacianKMeans(3)])
def test_html_has_a_link_to_the_documentation(model):
    from lapmodes._estimator import DOCUMENTATION

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == DOCUMENTATION
    page = model._repr_html_()
    assert f"{DOCUMENTATION}api/generated/lapmodes.{type(model).__name__}.html" in page
    assert "Documentation for" in page


@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_sparse_outputs_are_of_the_kind_asked_for(blobs, interface):
    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("scikit-learn before 1.9")
    kind = sp.sparray if interface == "sparray" else sp.spmatrix
    with sklearn.config_context(sparse_interface=interface):
        model = LaplacianKModes(3, sparse_assignments=True, random_state=0).fit(blobs[0])
        found = model.predict_proba(blobs[0])
        back = pickle.loads(pickle.dumps(model))
    for each in (model.assignments_, model.prior_, model.graph_, found, back.graph_):
        assert isinstance(each, kind)
    assert abs(found - model.assignments_).max() == 0


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats_and_index_types(format, kind):
    """What check_estimator_sparse_array asks of fit and predict, without its count of columns."""
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(40, 3))
    X[X < 0.6] = 0
    plain = LaplacianKModes(4, random_state=0).fit(sp.csr_array(X))
    given = getattr(sp, f"{format}_{kind}")(X)
    variants = [given]
    if format == "csr":
        wide = given.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        variants.append(wide)
    for each in variants:
        model = LaplacianKModes(4, random_state=0).fit(each)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.predict_proba(each).shape == (40, 4)


def arguments(X):
    """One of each argument of fit, none of which is without effect."""
    W = kneighbors_graph(X, 6)
    distances, indices = NearestNeighbors(n_neighbors=21).fit(X).kneighbors(X)
    labels = np.full(len(X), -1)
    labels[[0, 1]] = 2, 0
    return {
        "graph": W.maximum(W.T),
        "neighbors": (indices, distances + 0.1 * (distances > 0)),
        "sample_weight": np.random.default_rng(0).uniform(0.5, 2, len(X)),
        "partial_labels": labels,
        "must_link": np.array([[0, 70], [1, 71], [2, 72]]),
    }


@pytest.mark.parametrize("name", ["graph", "neighbors", "sample_weight", "partial_labels", "must_link"])
def test_every_argument_of_fit_is_routed(blobs, name):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, _ = blobs
    value = arguments(X)[name]
    plain = LaplacianKModes(3, random_state=0).fit(X)
    direct = LaplacianKModes(3, random_state=0).fit(X, **{name: value})
    with sklearn.config_context(enable_metadata_routing=True):
        model = LaplacianKModes(3, random_state=0).set_fit_request(**{name: True})
        routed = make_pipeline(FunctionTransformer(), model).fit(X, **{name: value})[-1]
    np.testing.assert_array_equal(routed.assignments_, direct.assignments_)
    assert routed.objective_ == direct.objective_ != plain.objective_


def test_the_graph_of_new_points_is_routed(blobs):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, _ = blobs
    W = arguments(X)["graph"]
    direct = LaplacianKModes(3, random_state=0).fit(X, graph=W).predict_proba(X[:9], graph=W[:9])
    with sklearn.config_context(enable_metadata_routing=True):
        model = LaplacianKModes(3, random_state=0).set_fit_request(graph=True).set_predict_proba_request(graph=True)
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, graph=W)
        np.testing.assert_array_equal(pipeline.predict_proba(X[:9], graph=W[:9]), direct)


class Foreign:
    """An array of another library: it can be exported, and knows nothing of NumPy."""

    def __init__(self, X):
        self._X, self.shape, self.dtype, self.ndim = X, X.shape, X.dtype, X.ndim

    def __dlpack__(self, **options):
        return self._X.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._X.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        raise AssertionError("not asked for")


class OnADevice(Foreign):
    device = "cuda:0"

    def __dlpack__(self, **options):
        raise BufferError("not in main memory")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("not in main memory")


def test_arrays_of_other_libraries_are_taken_as_they_lie(blobs):
    X = blobs[0].copy()
    plain = LaplacianKModes(3, random_state=0).fit(X)
    model = LaplacianKModes(3, random_state=0).fit(Foreign(X))
    np.testing.assert_array_equal(model.predict(Foreign(X)), plain.labels_)
    assert np.shares_memory(model.training_points_, X)
    assert isinstance(model.labels_, np.ndarray)


def test_an_array_on_a_device_is_refused_in_one_sentence(blobs):
    with pytest.raises(TypeError, match=r"X must be in main memory.*OnADevice of float64 on cuda:0.*cpu\(\)"):
        LaplacianKModes(3).fit(OnADevice(blobs[0]))


@pytest.mark.parametrize("estimator", [LaplacianKModes(4), KModes(4), LaplacianKMeans(4)], ids=repr)
def test_a_table_of_counts_is_its_copies_in_any_order(estimator):
    """Weights and copies agree to the last digits, cluster by cluster, though the samples come in another order."""
    rng = np.random.default_rng(3)
    X, counts = rng.normal(size=(60, 3)), rng.integers(1, 5, 60)
    order = rng.permutation(60)
    one = clone_of(estimator).set_params(random_state=0).fit(np.repeat(X, counts, axis=0))
    two = clone_of(estimator).set_params(random_state=0).fit(X[order], sample_weight=counts[order])
    for method in ("predict", "predict_proba", "transform"):
        np.testing.assert_allclose(getattr(one, method)(X), getattr(two, method)(X), rtol=1e-7, atol=1e-9)


def test_distances_of_sparse_rows_to_themselves_are_zero():
    X = np.random.default_rng(0).uniform(size=(12, 30))
    model = LaplacianKMeans(3, lam=0, init=X[:3], random_state=0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sp.csr_array(X), sample_weight=np.where(np.arange(12) < 3, 1.0, 1e-12))
    distances = model.transform(sp.csr_array(model.cluster_centers_))
    np.testing.assert_array_equal(np.diag(distances), 0)
    off = ~np.eye(3, dtype=bool)
    exact = np.sqrt(-2 * np.log(kernel(model.cluster_centers_, model.cluster_centers_, 1.0)))
    np.testing.assert_allclose(distances[off], exact[off], rtol=1e-9)


def test_the_scaler_in_a_pipeline_is_pickled(blobs):
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Scaler(), LaplacianKModes(3, random_state=0)).fit(blobs[0])
    back = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(back.predict(blobs[0]), pipeline.predict(blobs[0]))
