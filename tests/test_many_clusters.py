"""Fits with sparse assignments: the same model as with dense ones, everywhere a model is used."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import lapmodes
from lapmodes import KModes, LaplacianKMeans, LaplacianKModes

ANGLES = np.pi * np.arange(6) / 3
CORNERS = 4 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
MODELS = [
    LaplacianKModes(6, random_state=0),
    LaplacianKModes(6, lam=0.3, bandwidth=0.7, init=CORNERS),
    LaplacianKModes(6, lam=2.0, bandwidth="entropic", laplacian="normalized", init="spectral", random_state=0),
    LaplacianKModes(6, lam=0.1, bandwidth=0.7, prior_weight=0.5, random_state=0),
    KModes(6, init=CORNERS),
    LaplacianKMeans(6, init=CORNERS),
]


@pytest.fixture(scope="module")
def six():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 40)
    return CORNERS[y] + 0.7 * rng.standard_normal((240, 2)), y


def both(model, X, **given):
    """The model fitted with sparse and with dense assignments."""
    return tuple(
        type(model)(**{**model.get_params(), "sparse_assignments": sparse}).fit(X, **given) for sparse in (True, False)
    )


@pytest.mark.parametrize("model", MODELS, ids=["default", "plain", "normalized", "prior", "modes", "means"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_model_as_with_dense_assignments(six, model, dtype):
    X = six[0].astype(dtype)
    weight = np.linspace(0.5, 1.5, len(X)) * (np.arange(len(X)) % 11 > 0)
    sparse, dense = both(model, X, sample_weight=weight)
    assert sp.issparse(sparse.assignments_) and sparse.assignments_.dtype == dtype
    assert isinstance(dense.assignments_, np.ndarray)
    slack = 1e-5 * (abs(dense.objective_) + 1)
    assert abs(sparse.objective_ - dense.objective_) <= sparse.gap_ + dense.gap_ + slack
    assert np.mean(sparse.labels_ == dense.labels_) == 1
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=2e-2)
    np.testing.assert_array_equal(sparse.exemplars_, dense.exemplars_)
    np.testing.assert_allclose(sparse.assignments_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(sparse.labels_, sparse.assignments_.toarray().argmax(axis=1))


def test_new_points_are_told_the_same(six):
    X = six[0]
    sparse, dense = both(MODELS[1], X)
    new = X[::7] + 0.1
    assert sp.issparse(sparse.predict_proba(new))
    np.testing.assert_allclose(sparse.predict_proba(new).toarray(), dense.predict_proba(new), atol=1e-2)
    np.testing.assert_array_equal(sparse.predict(new), sparse.predict_proba(new).toarray().argmax(axis=1))
    for method in ("transform", "density", "score_samples", "outlier_score"):
        one, two = (getattr(model, method)(new) for model in (sparse, dense))
        np.testing.assert_allclose(one, two, atol=2e-2, err_msg=method)


def test_predictions_in_pieces_are_those_of_the_whole(six, monkeypatch):
    model = both(MODELS[2], six[0])[0]
    whole = model.predict_proba(six[0])
    monkeypatch.setattr(lapmodes._predict, "CHUNK_ENTRIES", 6 * 50)
    assert abs(model.predict_proba(six[0]) - whole).max() == 0


@pytest.mark.parametrize("model", MODELS, ids=["default", "plain", "normalized", "prior", "modes", "means"])
def test_saved_and_loaded(tmp_path, six, model):
    fitted = both(model, six[0])[0]
    fitted.save(tmp_path / "model.npz")
    back = lapmodes.load(tmp_path / "model.npz")
    assert back.sparse_assignments is True
    for name in ("assignments_", "prior_"):
        one, two = getattr(fitted, name), getattr(back, name)
        assert (one is None and two is None) or abs(one - two).max() == 0
    np.testing.assert_array_equal(back.labels_, fitted.labels_)
    assert abs(back.predict_proba(six[0][:9]) - fitted.predict_proba(six[0][:9])).max() == 0


def test_same_bits_for_any_number_of_threads(six):
    model = LaplacianKModes(6, sparse_assignments=True, random_state=0)
    fits = [model.set_params(n_jobs=jobs).fit(six[0]).assignments_ for jobs in (1, 2, 3)]
    assert all(abs(fits[0] - other).max() == 0 for other in fits[1:])


def test_parts_out_of_reach_follow_their_nearest_points(six):
    X = np.concatenate([six[0], [[90.0, 90.0], [90.1, 90.0], [90.0, 90.1]]])
    with pytest.warns(lapmodes.DegenerateWarning, match="no mode's kernel reaches"):
        sparse, dense = both(LaplacianKModes(6, lam=0.3, bandwidth=0.5, n_neighbors=2, init=six[0][::40]), X)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


def test_sparse_starts_are_taken(six):
    X, y = six
    Z = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), y)), shape=(len(y), 6))
    for wanted in (True, False):
        model = LaplacianKModes(6, lam=0.3, bandwidth=0.7, init=(None, Z), sparse_assignments=wanted).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert sp.issparse(model.assignments_) == wanted


def test_partial_labels_need_dense_assignments(six):
    X, y = six
    known = np.where(np.arange(len(y)) % 40 == 0, y, -1)
    with pytest.raises(ValueError, match="sparse_assignments"):
        LaplacianKModes(6, sparse_assignments=True, random_state=0).fit(X, partial_labels=known)
    assert isinstance(LaplacianKModes(6, random_state=0).fit(X, partial_labels=known).assignments_, np.ndarray)


@pytest.mark.parametrize("wrong", ["auto", "yes", 1, None])
def test_other_values_are_refused(six, wrong):
    with pytest.raises(ValueError, match="'sparse_assignments' parameter"):
        LaplacianKModes(6, sparse_assignments=wrong).fit(six[0])


@pytest.fixture(scope="module")
def many():
    """300 blobs, and a fit of them."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(300), 40)
    X = (6 * rng.standard_normal((300, 5))[y] + 0.3 * rng.standard_normal((y.size, 5))).astype(np.float32)
    return X, y, LaplacianKModes(300, sparse_assignments=True, random_state=0).fit(X)


def test_many_blobs_are_found(many):
    X, y, model = many
    assert sp.issparse(model.assignments_)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert np.mean(model.predict(X[:500]) == model.labels_[:500]) > 0.99
    assert model.assignments_.nnz < 3 * len(X)


def test_nothing_as_large_as_dense_assignments_is_held(many):
    import tracemalloc

    X, _, _ = many
    tracemalloc.start()
    try:
        LaplacianKModes(300, lam=0.1, bandwidth=1.0, init=X[::40], tol=1, sparse_assignments=True).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.7 * 4 * len(X) * 300


def test_plots_and_report_take_many_clusters(many, tmp_path):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    from lapmodes.plotting import plot_assignment_matrix, plot_assignments, plot_uncertainty
    from lapmodes.report.payload import two_largest

    X, _, model = many
    flat = LaplacianKModes(6, sparse_assignments=True, random_state=0).fit(X[:240, :2])
    for draw in (plot_assignments, plot_uncertainty):
        draw(flat, X[:240, :2], ax=plt.figure().gca())
    plot_assignment_matrix(flat, ax=plt.figure().gca())
    plt.close("all")
    first, _, share = two_largest(model.assignments_)
    dense = two_largest(model.assignments_.toarray())
    np.testing.assert_array_equal(first, dense[0])
    np.testing.assert_allclose(share, dense[2])
