"""Malformed calls and the message that a user sees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes

X = np.random.default_rng(0).normal(size=(30, 2))
RING = sp.csr_array(np.roll(np.eye(30), 1, axis=1) + np.roll(np.eye(30), -1, axis=1))


def fit(X=X, fit_arguments=None, **parameters):
    return lambda: LaplacianKModes(**{"n_clusters": 3, **parameters}).fit(X, **(fit_arguments or {}))


def with_entry(value):
    bad = X.copy()
    bad[4, 1] = value
    return bad


def graph_with(row, column, value):
    W = RING.toarray()
    W[row, column] = value
    return sp.csr_array(W)


NEIGHBORS = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[::-1]
MODEL = LaplacianKModes(3, random_state=0).fit(X)
ON_GRAPH = LaplacianKModes(3, lam=0.1, init="k-means", random_state=0).fit(X, graph=RING)

BAD_CALLS = {
    # parameters
    "no clusters": (fit(n_clusters=0), "'n_clusters' parameter .* must be an int of at least 1 or 'auto'. Got 0"),
    "float clusters": (fit(n_clusters=2.5), "'n_clusters' parameter .* Got 2.5 instead"),
    "boolean clusters": (fit(n_clusters=True), "'n_clusters' parameter .* Got True instead"),
    "text clusters": (fit(n_clusters="3"), "'n_clusters' parameter .* Got '3' instead"),
    "negative lam": (fit(lam=-1), "'lam' parameter .* must be a finite float of at least 0 or 'auto'. Got -1"),
    "NaN lam": (fit(lam=float("nan")), "'lam' parameter .* Got nan"),
    "infinite lam": (fit(lam=np.inf), "'lam' parameter .* Got inf"),
    "named lam": (fit(lam="big"), "'lam' parameter .* Got 'big'"),
    "zero bandwidth": (fit(bandwidth=0), "'bandwidth' parameter .* must be a float above 0, numpy.inf, 'auto'"),
    "negative bandwidth": (fit(bandwidth=-2.0), "'bandwidth' parameter .* Got -2.0"),
    "NaN bandwidth": (fit(bandwidth=float("nan")), "'bandwidth' parameter .* Got nan"),
    "named bandwidth": (fit(bandwidth="wide"), "'bandwidth' parameter .* Got 'wide'"),
    "array bandwidth": (fit(bandwidth=[1, 2]), "'bandwidth' parameter"),
    "unknown affinity": (fit(affinity="cosine"), "'affinity' parameter .* 'binary', 'heat', .*'self-tuning'"),
    "affinity is a graph": (fit(affinity=RING), "'affinity' parameter .* a graph goes to fit\\(X, graph=W\\)"),
    "few positive weights": (
        fit(fit_arguments={"sample_weight": np.eye(30)[0]}),
        "positive for at least 3 samples .* Got 1",
    ),
    "weights of text": (fit(fit_arguments={"sample_weight": ["a"] * 30}), "must be an array of 30 numbers"),
    "new graph with NaN": (lambda: ON_GRAPH.predict(X, graph=np.nan * RING), "finite weights. Got NaN"),
    "new graph dense": (lambda: ON_GRAPH.predict(X, graph=RING.toarray()), "sparse matrix .* Got ndarray"),
    "affinity is a number": (fit(affinity=3), "'affinity' parameter"),
    "no neighbours": (fit(n_neighbors=0), "'n_neighbors' parameter .* must be an int of at least 1"),
    "unknown metric": (fit(metric="manhattan"), "'metric' parameter .* must be 'euclidean' or 'cosine'"),
    "unknown laplacian": (fit(laplacian="random walk"), "'laplacian' parameter .* 'unnormalized' or 'normalized'"),
    "unknown init": (fit(init="best"), "'init' parameter .* 'k-means', 'k-means\\+\\+', 'random', 'spectral'"),
    "no starts": (fit(n_init=0), "'n_init' parameter .* at least 1"),
    "no iterations": (fit(max_iter=0), "'max_iter' parameter .* at least 1"),
    "negative tol": (fit(tol=-1e-3), "'tol' parameter .* Got -0.001"),
    "infinite tol": (fit(tol=np.inf), "'tol' parameter .* Got inf"),
    "no jobs": (fit(n_jobs=0), "'n_jobs' parameter .* None or an int other than 0"),
    "verbose is text": (fit(verbose="yes"), "'verbose' parameter .* True, False or a callable"),
    "text prior weight": (
        fit(prior_weight="auto"),
        "'prior_weight' parameter .* a float from 0 to 1e.15. Got 'auto'",
    ),
    "negative prior weight": (fit(prior_weight=-1.0), "'prior_weight' parameter .* Got -1.0"),
    "infinite prior weight": (fit(prior_weight=np.inf), "'prior_weight' parameter .* Got inf"),
    "sparse assignments by name": (fit(sparse_assignments="auto"), "'sparse_assignments' parameter .* True or False"),
    "random state": (fit(random_state="lucky"), "'lucky' cannot be used to seed"),
    # starts
    "modes of wrong shape": (
        fit(init=X[:2]),
        "must have shape \\(n_clusters, n_features\\) = \\(3, 2\\). Got \\(2, 2\\)",
    ),
    "modes with NaN": (fit(init=np.full((3, 2), np.nan)), "modes in 'init' must be finite"),
    "modes of text": (fit(init=[["a", "b"]] * 3), "must be an array of numbers"),
    "start of three": (fit(init=(X[:3], X, X)), "'init' parameter .* tuple \\(modes, assignments\\)"),
    "assignments of wrong shape": (
        fit(init=(None, np.ones((5, 3)))),
        "assignments in 'init' must have shape \\(30, 3\\)",
    ),
    "assignments off the simplex": (fit(init=(None, np.ones((30, 3)))), "rows that sum to 1"),
    "negative assignments": (fit(init=(X[:3], np.tile([2.0, -1.0, 0.0], (30, 1)))), "must be non-negative"),
    # points
    "NaN": (fit(with_entry(np.nan)), "Input X contains NaN"),
    "infinity": (fit(with_entry(np.inf)), "Input X contains infinity"),
    "no points": (fit(np.empty((0, 2))), "Found array with 0 sample"),
    "no features": (fit(np.empty((5, 0))), "0 feature\\(s\\)"),
    "one point": (fit(X[:1]), "minimum of 2 is required"),
    "one dimension": (fit(X[:, 0]), "Expected 2D array, got 1D array"),
    "three dimensions": (fit(X[None]), "Found array with dim 3"),
    "text": (
        fit(np.array([["a", "b"]] * 30)),
        "could not convert string to float|must be real|dtype='numeric'|numbers",
    ),
    "complex": (fit(X + 1j), "Complex data not supported"),
    "more clusters than points": (fit(n_clusters=31), "n_samples=30 should be >= n_clusters=31. Ask for fewer"),
    "zero row with cosine": (fit(np.vstack([X, [[0, 0]]]), metric="cosine"), "Row 30 is zero; drop such rows"),
    "sparse with NaN": (fit(sp.csr_array(with_entry(np.nan))), "Input X contains NaN"),
    # weights
    "weights of wrong length": (fit(fit_arguments={"sample_weight": [1, 2]}), "one entry a sample, shape \\(30,\\)"),
    "negative weights": (fit(fit_arguments={"sample_weight": -np.ones(30)}), "must be finite and non-negative"),
    "NaN weights": (fit(fit_arguments={"sample_weight": np.full(30, np.nan)}), "must be finite and non-negative"),
    "zero weights": (fit(fit_arguments={"sample_weight": np.zeros(30)}), "positive sum. Got only zeros"),
    # partial labels and links
    "partial labels of wrong length": (fit(fit_arguments={"partial_labels": [0, 1]}), "array of 30 ints.* Got shape"),
    "partial labels of floats": (fit(fit_arguments={"partial_labels": np.zeros(30)}), "array of 30 ints"),
    "partial labels too large": (
        fit(fit_arguments={"partial_labels": np.full(30, 3)}),
        "from 0 to n_clusters - 1 = 2, or -1 where unknown. Got values from 3 to 3",
    ),
    "partial labels too small": (fit(fit_arguments={"partial_labels": np.full(30, -2)}), "Got values from -2 to -2"),
    "partial labels and sparse": (
        fit(fit_arguments={"partial_labels": np.zeros(30, dtype=int)}, sparse_assignments=True),
        "Leave 'sparse_assignments' at False",
    ),
    "links of three": (fit(fit_arguments={"must_link": [[0, 1, 2]]}), "int pairs, shape \\(n_pairs, 2\\). Got shape"),
    "links out of range": (fit(fit_arguments={"must_link": [[0, 30]]}), "samples from 0 to 29. Got 0 to 30"),
    "links of floats": (fit(fit_arguments={"must_link": [[0.0, 1.0]]}), "int pairs"),
    "neighbours and weights of zero": (
        fit(fit_arguments={"neighbors": NEIGHBORS, "sample_weight": np.arange(30)}),
        "'neighbors' do not go with weights of zero",
    ),
    # graphs
    "precomputed without graph": (fit(affinity="precomputed"), "needs the graph: call fit\\(X, graph=W\\)"),
    "graph and affinity": (
        fit(affinity="heat", fit_arguments={"graph": RING}),
        "'affinity' is 'heat'. Leave 'graph' out",
    ),
    "dense graph": (
        fit(fit_arguments={"graph": RING.toarray()}),
        "must be a scipy.sparse matrix .*csr_array\\(graph\\)",
    ),
    "graph of wrong shape": (fit(fit_arguments={"graph": RING[:20, :20]}), "must have shape \\(30, 30\\)"),
    "asymmetric graph": (fit(fit_arguments={"graph": graph_with(3, 9, 1.0)}), "must be symmetric. Use graph.maximum"),
    "negative graph": (fit(fit_arguments={"graph": -RING}), "non-negative weights. Got negative ones"),
    "NaN graph": (fit(fit_arguments={"graph": np.nan * RING}), "finite weights. Got NaN"),
    # new points
    "not fitted": (lambda: LaplacianKModes().predict(X), "not fitted yet"),
    "other number of features": (
        lambda: MODEL.predict(X[:, :1]),
        "X has 1 features, but LaplacianKModes is expecting 2",
    ),
    "new points with NaN": (lambda: MODEL.predict_proba(with_entry(np.nan)), "Input X contains NaN"),
    "no new points": (lambda: MODEL.predict(X[:0]), "Found array with 0 sample"),
    "new graph missing": (lambda: ON_GRAPH.predict(X), "fitted on a given graph. Pass graph="),
    "new graph not wanted": (lambda: MODEL.predict(X, graph=RING), "only for models that were fitted on a given graph"),
    "new graph of wrong shape": (lambda: ON_GRAPH.predict(X, graph=RING[:3]), "sparse matrix of shape \\(30, 30\\)"),
    "density without bandwidth": (lambda: LaplacianKMeans(3).fit(X).density(X), "has no attribute 'density'"),
    "score without bandwidth": (lambda: KModes(3, bandwidth=np.inf).fit(X).score_samples(X), "no attribute"),
}


@pytest.mark.filterwarnings("ignore::lapmodes.DegenerateWarning")
@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_say_what_is_wrong(name):
    call, message = BAD_CALLS[name]
    with pytest.raises((ValueError, TypeError, AttributeError), match=message) as caught:
        call()
    assert "\n  File" not in str(caught.value)


def test_every_parameter_has_a_bad_value_in_the_table():
    told = " ".join(message for _, message in BAD_CALLS.values())
    missing = {name for name in LaplacianKModes().get_params() if f"'{name}' parameter" not in told}
    assert missing == {"random_state"}  # its error is scikit-learn's own


def test_a_failed_fit_leaves_the_fitted_model_alone():
    model = LaplacianKModes(3, random_state=0).fit(X)
    before = model.labels_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(with_entry(np.nan))
    np.testing.assert_array_equal(model.labels_, before)
