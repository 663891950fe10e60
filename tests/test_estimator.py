"""The estimator as users and scikit-learn see it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from reference import kernel
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapmodes import DegenerateWarning, KModes, LaplacianKMeans, LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers, make_spirals

SPIRALS = {"lam": 100, "bandwidth": 0.2, "affinity": "heat", "n_neighbors": 5, "init": "k-means"}

COLUMNS = (
    "no clustering can pass: the check asserts that predict_proba has as many columns as a random y has classes (4, or "
    "2 where the tags say nothing of classes), but a clustering ignores y and has a column for each of its clusters, "
    "here 8; see test_sparse_formats_and_index_types for the rest of the check"
)
EXPECTED = {"check_estimator_sparse_array": COLUMNS, "check_estimator_sparse_matrix": COLUMNS}


@parametrize_with_checks(
    [
        LaplacianKModes(),
        LaplacianKModes(bandwidth="entropic", affinity="entropic", laplacian="normalized"),
        KModes(),
        LaplacianKMeans(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_defaults_find_moons_and_blobs(blobs):
    X, y = make_moons_with_outliers(n_outliers=0, random_state=0)
    assert adjusted_rand_score(y, LaplacianKModes(2, random_state=0).fit_predict(X)) > 0.99
    X, y = blobs
    assert adjusted_rand_score(y, LaplacianKModes(3, random_state=0).fit_predict(X)) == 1


def test_n_init_keeps_the_lowest_objective():
    X, _ = make_spirals(200, n_spirals=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model = LaplacianKModes(3, init="random", n_init=6, random_state=0, bandwidth=0.5).fit(X)
        rng = np.random.RandomState(0)
        single = [
            LaplacianKModes(3, init="random", random_state=rng, bandwidth=0.5).fit(X).objective_ for _ in range(6)
        ]
    assert model.objective_ == min(single)


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


def test_a_callable_is_told_of_the_progress_and_may_end_it(blobs):
    seen = []
    LaplacianKModes(3, verbose=lambda *step: seen.append(step), init="k-means", random_state=0).fit(blobs[0])
    assert list(dict.fromkeys(phase for phase, *_ in seen)) == ["neighbours", "start", "alternate"]
    assert seen[0][:3] == ("neighbours", 180, 180)
    done = [count for phase, count, *_ in seen if phase == "alternate"]
    assert done == list(range(1, len(done) + 1))
    stopped = LaplacianKModes(3, tol=0, verbose=lambda phase, *_: phase == "alternate").fit(blobs[0])
    assert (stopped.n_iter_, stopped.status_) == (1, "stopped")


def test_a_stopped_fit_is_not_tried_again_with_less_smoothing(blobs):
    calls = []

    def stop(phase, *_):
        calls.append(phase)
        return phase == "alternate"

    one = blobs[0][0]
    model = LaplacianKModes(3, init=np.array([one, one, one]), verbose=stop).fit(blobs[0])  # two clusters stay empty
    assert calls.count("alternate") == 1
    assert model.status_ == "stopped"


def test_bars_are_shown_only_if_asked_for(blobs, capsys):
    LaplacianKModes(3, random_state=0).fit(blobs[0])
    assert capsys.readouterr() == ("", "")
    LaplacianKModes(3, verbose=True, random_state=0).fit(blobs[0])
    out, err = capsys.readouterr()
    assert out == "" and all(phase in err for phase in ("neighbours", "start", "alternate"))


@pytest.mark.parametrize("name", ["own", "from elsewhere"])
def test_consensus_works_on_a_given_graph(blobs, name):
    X, y = blobs
    W = kneighbors_graph(X, 6)
    W = W.maximum(W.T) if name == "from elsewhere" else LaplacianKModes(3, random_state=0).fit(X).graph_
    model = LaplacianKModes(3, random_state=0).fit(X, graph=W)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert abs(model.graph_ - W).max() == 0


def test_must_link_draws_its_ends_together(blobs):
    X, _ = blobs
    far = np.array([[3, 63], [9, 69], [20, 81], [30, 92], [41, 101]])  # of the first and the second blob
    plain, linked = (LaplacianKModes(3, random_state=0).fit(X, must_link=pairs) for pairs in (None, far))
    apart, together = (np.abs(np.diff(model.assignments_[far], axis=1)).max() for model in (plain, linked))
    assert apart > 0.9 and together < 0.2
    assert abs(linked.graph_ - plain.graph_).nnz == 2 * len(far)


def test_refusal_of_arrays_that_do_not_fit_names_the_option(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2100, 2))
    monkeypatch.setattr("lapmodes._validation.available_memory", lambda: 2**20)
    monkeypatch.setattr("lapmodes._estimator.MANY_ENTRIES", 2**16)
    with pytest.raises(MemoryError, match=r"2100 samples to 100 clusters.*Use sparse_assignments=True"):
        LaplacianKModes(100, random_state=0).fit(X)
    assert sp.issparse(LaplacianKModes(100, sparse_assignments=True, random_state=0).fit(X).assignments_)
