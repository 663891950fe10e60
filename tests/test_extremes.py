"""Huge and tiny numbers: results are those of ordinary ones, or one sentence says what cannot be; never NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine, make_moons

import lapmodes
from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, fit_layers, fit_path, select
from lapmodes._records import ORDINARY, Units

POWERS = {np.float64: (-900, -300, 0, 300, 900), np.float32: (-100, -40, 0, 40, 90)}
OPTIONS = {
    "defaults": {},
    "paper": {"lam": 1.0, "affinity": "heat", "init": "k-means"},
    "entropic": {"bandwidth": "entropic", "laplacian": "normalized"},
    "sparse": {"sparse_assignments": True},
    "binary": {"affinity": "binary"},
    "cosine": {"metric": "cosine"},
}


def blobs(n=60, d=2, dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + np.repeat([[0], [7], [14]], n // 3, axis=0)).astype(dtype)


def finite(model):
    shown = (model.assignments_, model.cluster_centers_, model.objective_, model.gap_, model.lam_, model.bandwidth_)
    return all(np.isfinite(each.data if hasattr(each, "indptr") else each).all() for each in shown)


@pytest.mark.parametrize("dtype", POWERS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_power_of_two_changes_exponents_only(options, dtype):
    """Far beyond where squares overflow or vanish, all digits are those of ordinary points.

    Entropic widths are found through logarithms, which scaling does move.
    """
    exact = options != "entropic"
    same = np.array_equal if exact else lambda one, two: np.allclose(one, two, rtol=1e-6, atol=0)
    X = blobs(dtype=dtype)
    plain = LaplacianKModes(3, random_state=0, n_jobs=1, **OPTIONS[options]).fit(X)
    for power in POWERS[dtype]:
        model = LaplacianKModes(3, random_state=0, n_jobs=1, **OPTIONS[options]).fit(np.ldexp(X, power))
        own = 0 if options == "cosine" else power
        assert np.array_equal(model.labels_, plain.labels_)
        assert same(model.cluster_centers_, np.ldexp(plain.cluster_centers_, own))
        assert same(model.objective_, plain.objective_) and same(model.lam_, plain.lam_)
        assert model.gap_ == plain.gap_ or not exact
        assert same(model.bandwidth_, np.ldexp(plain.bandwidth_, own))
        new = np.ldexp(X[:5] * dtype(1.5), power)
        assert np.array_equal(model.predict(new), plain.predict(X[:5] * dtype(1.5)))
        assert np.isfinite(model.density(new)).all() and np.isfinite(model.score_samples(new)).all()


@pytest.mark.parametrize("X", [load_iris().data, load_wine().data, make_moons(200, noise=0.1, random_state=0)[0]])
def test_ordinary_points_have_no_units(X):
    assert Units.of(X) == Units() and Units.of(X.astype(np.float32)) == Units()


@pytest.mark.parametrize("power", [-400, -200, 200, 400])
def test_squared_lengths_come_back_in_the_users_units(power):
    X = blobs()
    plain, scaled = (LaplacianKMeans(3, random_state=0).fit(np.ldexp(X, each)) for each in (0, power))
    for name in ("objective_", "gap_", "lam_"):
        assert getattr(scaled, name) == np.ldexp(getattr(plain, name), 2 * power)
    assert np.array_equal(scaled.history_["objective"], np.ldexp(plain.history_["objective"], 2 * power))
    assert np.array_equal(scaled.transform(np.ldexp(X, power)), np.ldexp(plain.transform(X), power))
    assert np.array_equal(scaled.training_points_, np.ldexp(plain.training_points_, power))
    typed = LaplacianKMeans(3, lam=scaled.lam_, random_state=0).fit(np.ldexp(X, power))
    assert np.array_equal(typed.labels_, scaled.labels_)


def test_models_of_huge_points_are_saved_and_loaded(tmp_path):
    X = np.ldexp(blobs(), 700)
    model = LaplacianKModes(3, random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    again = lapmodes.load(tmp_path / "model.npz")
    assert np.array_equal(again.cluster_centers_, model.cluster_centers_) and again.bandwidth_ == model.bandwidth_
    assert np.array_equal(again.predict_proba(X * 1.01), model.predict_proba(X * 1.01))


def test_paths_levels_and_selections_of_huge_points():
    X, power = blobs(), 600
    big = np.ldexp(X, power)
    one, two = (select(each, [2, 3], random_state=0) for each in (X, big))
    assert one.n_clusters == two.n_clusters and two.bandwidth == np.ldexp(one.bandwidth, power)
    layers = fit_layers(big, [2, 3], random_state=0)
    assert np.array_equal(layers.labels, fit_layers(X, [2, 3], random_state=0).labels)
    widths = np.array([4.0, 2.0, 1.0])
    plain, scaled = (
        list(fit_path(each, 3, lam=1.0, bandwidth=width, random_state=0))
        for each, width in ((X, widths), (big, np.ldexp(widths, power)))
    )
    assert [np.ldexp(model.bandwidth_, power) for model in plain] == [model.bandwidth_ for model in scaled]
    assert all(np.array_equal(a.labels_, b.labels_) for a, b in zip(plain, scaled, strict=True))


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e290, 1e-160, 1e-300])
def test_values_whose_squares_are_no_numbers(scale):
    """These were IndexError, AssertionError and NaN."""
    for estimator in (LaplacianKModes(3, random_state=0), KModes(3, random_state=0), LaplacianKModes("auto")):
        model = estimator.fit(blobs() * scale)
        assert finite(model)
    graph = csr_array(np.ones((60, 60)))
    assert finite(LaplacianKModes(3, random_state=0).fit(blobs() * scale, graph=graph))


def test_single_precision_at_1e19():
    model = LaplacianKModes(3, random_state=0).fit(blobs(dtype=np.float32) * np.float32(1e19))
    assert finite(model) and model.cluster_centers_.dtype == np.float32


REFUSED = {
    "the largest numbers": (lambda: LaplacianKModes(2).fit(blobs() * 1e307), "X must hold numbers whose distances"),
    "the smallest numbers": (lambda: LaplacianKModes(2).fit(blobs() * 1e-315), "X must hold numbers whose distances"),
    "squares in the user's units": (lambda: LaplacianKMeans(2).fit(blobs() * 1e200), "An infinite bandwidth measures"),
    "a huge smoothness": (lambda: LaplacianKModes(2, lam=1e308).fit(blobs()), "'lam' parameter .* at most"),
    "a huge smoothness in single precision": (
        lambda: LaplacianKModes(2, lam=1e30).fit(blobs(dtype=np.float32)),
        "'lam' parameter .* at most",
    ),
    "a huge prior": (lambda: LaplacianKModes(2, prior_weight=1e300).fit(blobs()), "'prior_weight' parameter"),
    "a bandwidth beyond compare": (
        lambda: LaplacianKModes(2, bandwidth=1e-300).fit(blobs() * 1e200),
        "'bandwidth' parameter .* can be compared",
    ),
    "huge weights of a graph": (
        lambda: LaplacianKModes(2).fit(blobs(), graph=csr_array(np.full((60, 60), 1e300))),
        "'graph' must have weights that can be summed",
    ),
    "weights beyond compare": (
        lambda: LaplacianKModes(2).fit(blobs(), sample_weight=np.geomspace(1e-200, 1e200, 60)),
        "'sample_weight' must not differ",
    ),
    "far neighbours": (
        lambda: LaplacianKModes(2).fit(blobs(), neighbors=(np.tile([1, 2], (60, 1)), np.full((60, 2), 1e200))),
        "distances in 'neighbors' are too far",
    ),
    "far modes": (lambda: LaplacianKModes(1, init=[[1e200, 0]]).fit(blobs()), "modes in 'init' are too far"),
    "new points without distances": (
        lambda: LaplacianKModes(2).fit(blobs() * 1e200).predict([[1.7e308, 0]]),
        "new points are too far",
    ),
    "far new points": (
        lambda: LaplacianKModes(2).fit(blobs(dtype=np.float32)).predict([[1e25, 0]]),
        "new points are too far",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_represented_is_refused(name):
    call, sentence = REFUSED[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("lam", [1e-320, 1e-300, 1e-30, 1e30, 1e100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore")
def test_rows_stay_on_the_simplex_for_any_smoothness(lam, dtype):
    if dtype == np.float32 and lam > 1e14:
        pytest.skip("refused")
    for sparse in (False, True):
        model = LaplacianKModes(3, lam=lam, random_state=0, sparse_assignments=sparse).fit(blobs(dtype=dtype))
        for Z in (model.assignments_, model.predict_proba(blobs(dtype=dtype) + dtype(0.1))):
            assert np.abs(np.asarray(Z.sum(axis=1), dtype=np.float64) - 1).max() <= 1e-6
        assert np.isfinite(model.gap_)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-150, 1e-20, 1e20, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore")
def test_densities_are_numbers_for_any_bandwidth(bandwidth, dtype):
    """They were NaN in 370 fits."""
    X = blobs(dtype=dtype)
    model = LaplacianKModes(3, bandwidth=bandwidth, random_state=0).fit(X)
    for Q in (X[:5], X[:5] + dtype(0.1), X[:5] * dtype(1e6)):
        log = model.density(Q, log=True)
        assert np.isfinite(log).all() and np.isfinite(model.density(Q)).all()
        assert np.isfinite(model.score_samples(Q)).all() and np.isfinite(model.score(Q))


def test_the_density_of_a_far_cluster_does_not_vanish():
    """It was minus infinity where another cluster was much nearer."""
    X = np.concatenate([blobs(), blobs() + 1e4])
    model = LaplacianKModes(2, random_state=0).fit(X)
    log = model.density(X[:1], log=True)[0]
    assert np.isfinite(log).all() and log.min() < -1000


def test_rounding_of_modes_does_not_raise_the_objective():
    """Equal points and a bandwidth far below the last digit of their mean: the objective jumped by half."""
    X = np.full((14, 1), 3237107.413902993)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LaplacianKModes(8, bandwidth=1.7656302126900478e-38, random_state=779).fit(X)
    assert (np.diff(model.history_["objective"]) <= 1e-7).all()


@pytest.mark.filterwarnings("ignore::lapmodes.DegenerateWarning", "ignore::lapmodes.InputWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_smoothness_without_anything_to_smooth():
    """A target of zero, and steps without end, were divided by: a RuntimeWarning."""
    for X, lam in ((np.zeros((7, 1)), 2.3034144931502184e136), (np.full((4, 1), 42.0), 3.14e26)):
        model = LaplacianKMeans(4, lam=lam, random_state=0).fit(X)
        assert np.isfinite(model.objective_) and np.isfinite(model.gap_)
    W = csr_array(np.full((60, 60), 1e-110))
    assert finite(LaplacianKModes(5, lam=1e-217, random_state=0).fit(blobs(), graph=W))


def test_tiny_weights_of_neighbours_do_not_vanish_under_a_root():
    """New points of a normalised Laplacian had rows that were off the simplex by 1."""
    X = np.array([[-1705.0], [-773.0], [-1525.0]])
    options = {"affinity": lambda distances: np.exp(-distances), "laplacian": "normalized", "n_neighbors": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LaplacianKModes(1, random_state=0, **options).fit(X)
        assert np.array_equal(model.predict_proba([[-2406.0], [0.0], [342.0]]), np.ones((3, 1)))


def test_equal_samples_have_one_cluster_at_once():
    """All pairs of 200 equal rows were merged one after the other, for each number and each half."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert LaplacianKModes("auto", random_state=0).fit(np.zeros((200, 2))).n_clusters_ == 1


def test_units_begin_where_squares_could_fail():
    for dtype, exponent in ORDINARY.items():
        assert Units.of(np.full((2, 2), 2.0 ** (exponent - 1), dtype=dtype)) == Units()
        assert Units.of(np.full((2, 2), 2.0 ** (exponent + 1), dtype=dtype)).exponent == exponent + 2
        assert 4 * exponent < np.finfo(dtype).maxexp  # fourth powers of ordinary numbers are numbers
