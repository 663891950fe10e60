from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapmodes import Scaler
from lapmodes.files import Recipe, Table, learn


class ColumnScaler(Scaler):
    """By another name: of anything called Scaler, two of scikit-learn's checks expect a parameter `with_mean`."""


@parametrize_with_checks([ColumnScaler(), ColumnScaler(shared_unit=True)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def table(n=200, seed=0):
    """Columns of every kind in different units."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=n)
    return np.column_stack(
        [1000 * plain + 5, np.exp(1.5 * rng.normal(size=n)), rng.random(n) < 0.05, np.full(n, 7.0), rng.normal(size=n)]
    )


@pytest.mark.parametrize("name", [load_iris, load_digits])
def test_columns_of_one_unit_are_left_alone(name):
    X = name().data
    scaler = Scaler().fit(X)
    assert scaler.shared_unit_ and len(scaler.reasons_) == 1
    np.testing.assert_array_equal(scaler.transform(X), X)
    assert not np.shares_memory(scaler.transform(X), X)


def test_a_change_of_units_changes_nothing():
    """Labels cannot depend on whether a length is in metres or inches."""
    X, units = table(), 10.0 ** np.array([3, -4, 0, 2, 1])
    np.testing.assert_allclose(Scaler().fit_transform(X * units), Scaler().fit_transform(X), atol=1e-9)


def test_every_kind_of_column_counts_for_at_most_one():
    X = table()
    scaler = Scaler().fit(X)
    Y = scaler.transform(X)
    np.testing.assert_allclose(Y[:, [0, 4]], StandardScaler().fit_transform(X[:, [0, 4]]))
    np.testing.assert_allclose(Y[:, 1], StandardScaler().fit_transform(np.log(X[:, [1]]))[:, 0])
    assert set(Y[:, 2]) == {-1.0, 1.0}
    np.testing.assert_array_equal(Y[:, 3], 0)
    assert scaler.log_.tolist() == [False, True, False, False, False]
    said = " ".join(scaler.reasons_)
    for i, word in enumerate(["standard deviation", "skewed", "two values", "one value"]):
        assert word in said and f"'x{i}'" in said


def test_a_column_and_its_copies_count_as_much_as_the_column():
    """Distances are the same with one column as with three that say the same in other units."""
    X = table()
    more = np.column_stack([X, 9 * X[:, 0] / 5 + 32, -X[:, 0]])
    one, three = Scaler().fit_transform(X), Scaler().fit_transform(more)
    np.testing.assert_allclose(three @ three.T, one @ one.T, atol=1e-9)
    assert "repeated" in Scaler().fit(more).reasons_[-2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shared_unit", ["auto", True, False])
def test_what_was_done_can_be_undone(dtype, shared_unit):
    X = table().astype(dtype)
    new = table(seed=1).astype(dtype)
    new[:3, 1] = [0, -2, 1e-9]  # no logarithm
    scaler = Scaler(shared_unit=shared_unit).fit(X)
    Y = scaler.transform(new)
    assert Y.dtype == dtype and np.isfinite(Y).all()
    np.testing.assert_allclose(scaler.inverse_transform(Y), new, rtol=1e-4, atol=1e-2)
    order = np.argsort(new[:, 1])
    assert (np.diff(Y[order, 1]) >= 0).all()


def one_unit_of_uneven_spread(kind, rng):
    if kind == "pixels":
        return np.hstack([np.round(15 * rng.random((300, 20))), rng.poisson(0.02, size=(300, 10))])
    if kind == "axis":
        return np.cumsum(rng.normal(size=(300, 60)) * np.geomspace(0.1, 10, 60), axis=1)
    X = rng.normal(size=(300, 12)) * np.geomspace(0.01, 10, 12)
    ways = {"principal components": PCA(), "singular vectors": TruncatedSVD(11), "float32": PCA()}
    if kind in ways:
        return ways[kind].fit_transform(X).astype(np.float32 if kind == "float32" else np.float64)
    return normalize(X) if kind == "directions" else np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "kind", ["pixels", "axis", "principal components", "singular vectors", "float32", "directions", "shares"]
)
def test_one_unit_is_recognised_although_spreads_differ(kind):
    X = one_unit_of_uneven_spread(kind, np.random.default_rng(0))
    assert X.std(axis=0).max() > 20 * X.std(axis=0).min()
    scaler = Scaler().fit(X)
    assert scaler.shared_unit_, scaler.reasons_
    turned = np.random.default_rng(1).permutation(X.shape[1])
    units = Scaler().fit(X[:, turned] * np.geomspace(1e-3, 1e3, X.shape[1])[turned[::-1]])
    assert not units.shared_unit_ or kind in ("principal components", "singular vectors", "float32")


def test_one_outlier_does_not_make_a_unit():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[0, 0] = 1e6
    assert Scaler().fit(X).shared_unit_


def test_a_rare_yes_does_not_outweigh_a_common_one():
    rng = np.random.default_rng(0)
    flags = rng.random((500, 2)) < [0.5, 0.01]
    Y = Scaler().fit_transform(np.column_stack([flags, 100 * rng.normal(size=500)]))
    assert set(np.abs(Y[:, :2]).ravel()) == {1.0}


def test_gaps_stay_gaps_and_do_not_count():
    X = table()
    with_gaps = np.vstack([X, np.full((50, X.shape[1]), np.nan)])
    whole, scaler = Scaler().fit(X), Scaler().fit(with_gaps)
    np.testing.assert_allclose(scaler.scale_, whole.scale_)
    np.testing.assert_allclose(scaler.center_, whole.center_)
    Y = scaler.transform(with_gaps)
    np.testing.assert_array_equal(np.isnan(Y), np.isnan(with_gaps))
    only = Scaler().fit(np.column_stack([X, np.full(len(X), np.nan)]))
    assert only.scale_[-1] == 1


def test_sparse_columns_keep_their_unit():
    X = sp.random_array((30, 9), density=0.3, rng=0, format="csr")
    scaler = Scaler().fit(X)
    assert scaler.shared_unit_ and abs(scaler.transform(X) - X).nnz == 0
    with pytest.raises(ValueError, match=r"Sparse columns cannot be centred.*MaxAbsScaler"):
        Scaler(shared_unit=False).fit(X)


def test_names_are_said_and_kept():
    pytest.importorskip("pandas")
    wine = load_wine(as_frame=True).data
    scaler = Scaler().fit(wine)
    assert "'proline'" in scaler.reasons_[0]
    assert list(scaler.get_feature_names_out()) == list(wine.columns)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(wine)), wine)


@pytest.mark.parametrize("given", ["yes", None, 1])
def test_bad_parameters_are_named(given):
    with pytest.raises(ValueError, match=r"'shared_unit' parameter of Scaler must be 'auto', True or False. Got"):
        Scaler(shared_unit=given).fit(table())


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match=r"X must have 5 columns. Got 2"):
        Scaler().fit(table()).inverse_transform(np.zeros((1, 2)))


@pytest.mark.parametrize("X", [table(), load_iris().data])
def test_the_command_line_has_the_same_rule(X):
    recipe, raw, points = learn(Table(matrix=X))
    scaler = Scaler().fit(X)
    np.testing.assert_allclose(points, scaler.transform(X))
    assert recipe.reasons == tuple(reason.replace("'x", "'column_") for reason in scaler.reasons_)
    np.testing.assert_allclose(recipe.in_units(points), raw, rtol=1e-9)
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe
    new = X[:5] * 1.5
    np.testing.assert_allclose(again.apply(Table(matrix=new)), scaler.transform(new))


def test_recipes_of_before_are_read():
    text = '{"columns": null, "features": ["a"], "dropped": [], "scaling": "standard", "center": [1.0], "scale": [2.0]}'
    np.testing.assert_allclose(Recipe.from_json(text).scaled(np.array([[5.0]])), [[2.0]])
