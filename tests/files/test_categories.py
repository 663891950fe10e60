from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lapmodes import LaplacianKModes
from lapmodes.files import FileError, PreparedModel, Recipe, Table, learn

N = 60


def animals(**more):
    """A table of numbers, words and codes."""
    rng = np.random.default_rng(0)
    columns = {
        "mass": rng.normal(4000, 800, N),
        "bill": rng.normal(40, 5, N),
        "island": [["Biscoe", "Dream", "Torgersen"][i % 3] for i in range(N)],
        "sex": [["f", "m"][i % 2] for i in range(N)],
        "code": [1 + i % 4 for i in range(N)],
    }
    return Table(columns=pa.table(columns | more))


def mean_squared_distance(X):
    return 2 * X.var(axis=0).sum()


@pytest.mark.parametrize("scale", ["auto", "standard", "robust", "none"])
@pytest.mark.parametrize("name", ["island", "sex", "code"])
def test_equally_frequent_categories_count_as_much_as_a_mean_number(scale, name):
    recipe, raw, points = learn(animals(), columns=["mass", "bill"], categories=[name], scale=scale)
    numbers, words = points[:, :2], points[:, 2:]
    assert set(raw[:, 2:].ravel()) == {0.0, 1.0} and (raw[:, 2:].sum(axis=1) == 1).all()
    np.testing.assert_allclose(mean_squared_distance(words), mean_squared_distance(numbers) / 2, rtol=1e-6)
    np.testing.assert_allclose(recipe.in_units(points), raw, atol=1e-6)


def test_numbers_are_scaled_as_without_categories():
    alone = learn(animals(), columns=["mass", "bill"])
    more = learn(animals(), columns=["mass", "bill"], categories=["island"])
    np.testing.assert_allclose(more[2][:, :2], alone[2])
    assert more[0].reasons == alone[0].reasons


def test_new_rows_have_the_same_features_and_unknown_categories_none():
    recipe, _, points = learn(animals(), categories=["island", "code"])
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe
    np.testing.assert_array_equal(again.apply(animals()), points)
    new = {"mass": [4000.0, 4000.0], "bill": [40.0, 40.0], "island": [" Dream", "Utopia"], "code": [2.0, 9.0]}
    values = again.values(Table(columns=pa.table(new)))
    assert dict(zip(recipe.features, values[0], strict=True))["island=Dream"] == 1
    assert values[0, 2:].sum() == 2 and values[1, 2:].sum() == 0


def test_all_means_words_that_are_few():
    more = {"name": [f"bird {i}" for i in range(N)], "same": ["x"] * N, "kind": pa.array(["a", "b"] * (N // 2))}
    more["kind"] = more["kind"].dictionary_encode()
    recipe, _, _ = learn(animals(**more), categories=["all"])
    assert [name for name, _ in recipe.categories] == ["island", "sex", "kind"]
    assert {"name", "same"} == {name for name, _ in recipe.dropped}


def test_words_alone_are_enough():
    table = Table(columns=animals().columns.select(["island", "sex"]))
    recipe, _, points = learn(table, categories=["all"])
    assert recipe.features == ("island=Biscoe", "island=Dream", "island=Torgersen", "sex=f", "sex=m")
    np.testing.assert_allclose(mean_squared_distance(points), 4, rtol=1e-6)


def test_a_missing_category_is_a_gap():
    table = animals(island=[None, " ", *(["Dream", "Biscoe"] * (N // 2 - 1))])
    recipe, raw, _ = learn(table, categories=["island"], missing="drop")
    assert len(raw) == N - 2
    assert np.flatnonzero(recipe.count_gaps(table)).tolist() == [0, 1]
    model = PreparedModel(LaplacianKModes(2, random_state=0).fit(recipe.scaled(raw)), recipe)
    assert set(model.predict(table)) == {0, 1}
    nothing = Table(columns=table.columns.set_column(2, "island", pa.nulls(N)))
    assert (recipe.count_gaps(nothing) == 2).all()


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        (["nowhere"], {}, "There is no column 'nowhere'"),
        (["mass"], {}, "'mass' of --categories must have 2 to 50 different values. It has 60. Leave it out"),
        (["same"], {}, "'same' of --categories must have 2 to 50 different values. It has 1."),
        (["list"], {}, "'list' of --categories holds records"),
        (["sex"], {"drop": ["sex"]}, "'sex' is in --categories and left out"),
        (["sex"], {"scale": "unit"}, "--categories do not go with --scale unit"),
    ],
)
def test_what_cannot_be_a_category_is_said(asked, options, message):
    table = animals(same=["x"] * N, list=[[1.0, 2.0]] * N)
    with pytest.raises(FileError) as error:
        learn(table, categories=asked, **options)
    assert message in str(error.value)


def test_a_matrix_has_no_categories():
    with pytest.raises(FileError, match="Columns can be chosen by name only"):
        learn(Table(matrix=np.eye(4)), categories=["a"])
