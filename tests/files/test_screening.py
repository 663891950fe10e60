"""Columns that are no features are found, and no feature is taken for one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from lapmodes.files import Table, learn
from lapmodes.files.columns import choose
from lapmodes.files.screening import decisive_columns, screen

N = 300
RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(N)
SPARSE = RNG.choice(10**6, N, replace=False)
"""Whole numbers that are all different."""
NOISE, OTHER = RNG.normal(size=(2, N))
GAPS = np.where(np.arange(N) % 10 < 6, np.nan, NOISE)

NO_FEATURES = {
    "row numbers from 0": ("x", np.arange(N), "only counts the rows"),
    "row numbers from 1": ("t", np.arange(N) + 1.0, "only counts the rows"),
    "row numbers in any order": ("x", SHUFFLED + 1, "each number from 1 to 300 once"),
    "an index of pandas": ("Unnamed: 0", np.sort(SPARSE), "identifier"),
    "a column without a name": ("", SPARSE, "identifier"),
    "id": ("id", SPARSE, "identifier"),
    "customerID": ("customerID", SPARSE, "identifier"),
    "userid": ("userid", SPARSE, "identifier"),
    "Kunden-Nr.": ("Kunden-Nr.", np.sort(SPARSE), "identifier"),
    "Kundennummer": ("Kundennummer", SPARSE, "identifier"),
    "key": ("key", SPARSE, "identifier"),
    "index": ("index", SPARSE, "identifier"),
    "an identifier of something else": ("store_id", SPARSE % 17, "identifier"),
    "an identifier with gaps": ("id", np.where(np.arange(N) == 7, np.nan, SPARSE), "identifier"),
    "a date": ("day", 20200100 + np.arange(N) % 28 + 1, "dates, such as 20200101"),
    "constant": ("x", np.full(N, 7.0), "it is 7 in every row"),
    "constant but for gaps": ("x", np.where(np.arange(N) % 3, 7.0, np.nan), "it is 7 wherever it has a value"),
    "constant but for rounding": ("x", np.where(np.arange(N) % 2, 0.3, 0.1 + 0.2), "in every row"),
    "always true": ("x", np.ones(N, dtype=bool), "it is 1 in every row"),
    "mostly missing": ("x", GAPS, "missing in 60 % of the rows"),
    "empty": ("x", np.full(N, np.nan), "no values"),
}
FEATURES = {
    "income": 20_000 + SPARSE // 20,
    "population": SPARSE,
    "votes": np.sort(SPARSE)[::-1],
    "price": 100 + SHUFFLED * 3,
    "number of rooms": SPARSE % 7,
    "num_children": SPARSE,
    "heat index": NOISE.round(1),
    "ID": np.array([6, 8, 10, 12])[SPARSE % 4],
    "key": SPARSE % 12,
    "humid": SPARSE % 100,
    "covid": SPARSE,
    "gender_id": 1 + SPARSE % 2,
    "no": SPARSE % 90,
    "rank": SHUFFLED + 1,
    "half missing": np.where(np.arange(N) % 2, np.nan, NOISE),
    "almost constant": 1e6 + NOISE,
    "rare": np.arange(N) == 5,
}
DOUBTFUL = {
    "year": (1700 + np.arange(N), "change by 1 from row to row"),
    "seconds": (0.5 * np.arange(N), "change by 0.5 from row to row"),
    "serie": (5000 + SHUFFLED, "follow one another"),
    "filtered": (np.flatnonzero(np.arange(2 * N) % 3)[:N] + 11, "follow one another"),
    "account number": (SPARSE, "the name is that of an identifier"),
    "id": (SPARSE % 9, "the name is that of an identifier"),
    "zip_code": (SPARSE % 99_950, "the name is that of a code"),
    "ozone": (np.where(np.arange(N) % 50, NOISE, -999), "-999 stands far from all else"),
}


@pytest.mark.parametrize("kind", NO_FEATURES)
def test_what_is_no_feature_is_left_out_with_the_reason(kind):
    name, values, words = NO_FEATURES[kind]
    found = screen({name: values.astype(float), "other": OTHER})
    assert list(found.dropped) == [name] and words in found.dropped[name]
    table = Table(columns=pa.table({name: values, "other": OTHER}))
    if kind != "empty":
        assert learn(table, columns=[name, "other"], impute="median")[0].columns == (name, "other")


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_used_without_a_word(name):
    found = screen({name: FEATURES[name].astype(float), "other": OTHER})
    assert found.dropped == {} and (found.doubts == () or name in ("ID", "rank"))


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_doubtful_is_used_and_the_option_is_named(name):
    values, words = DOUBTFUL[name]
    found = screen({name: values.astype(float), "other": OTHER})
    assert found.dropped == {}
    [doubt] = found.doubts
    assert words in doubt and f"--drop {name}" in doubt.replace("'", "")


def test_columns_that_are_doubtful_alike_share_a_sentence():
    [doubt] = screen({"zip code": SPARSE % 9000.0, "area code": SPARSE % 700.0}).doubts
    assert doubt.startswith("Columns 'zip code', 'area code' may be no features")
    assert doubt.endswith("--drop 'zip code,area code'.")


CELSIUS = (15 + 8 * NOISE).round(1)
REPEATS = {
    "equal": (CELSIUS, "repeats column 'first'"),
    "other units": (CELSIUS * 1.8 + 32, "same in other units"),
    "other units, rounded": ((CELSIUS * 1.8 + 32).round(1), "same in other units"),
    "the other way round": (-CELSIUS, "same in other units"),
}


@pytest.mark.parametrize("kind", REPEATS)
def test_a_repeated_column_is_left_out(kind):
    values, words = REPEATS[kind]
    found = screen({"first": CELSIUS, "other": NOISE**2, "again": values})
    assert list(found.dropped) == ["again"] and words in found.dropped["again"] and found.doubts == ()


def test_yes_and_no_are_one_column():
    male = RNG.random(N) < 0.5
    assert list(screen({"male": male * 1.0, "female": 1.0 - male, "size": NOISE}).dropped) == ["female"]


def test_columns_that_nearly_repeat_each_other_are_both_used():
    found = screen({"a": NOISE, "b": NOISE + 0.05 * RNG.normal(size=N), "c": RNG.normal(size=N)})
    assert found.dropped == {}
    [doubt] = found.doubts
    assert "'a' and 'b' (correlation 0.99" in doubt and doubt.endswith("--drop b.")


@given(st.integers(2, 9), st.integers(0, 100))
def test_few_rows_repeat_nothing(n, seed):
    rng = np.random.default_rng(seed)
    assert screen({"a": rng.normal(size=n), "b": rng.normal(size=n)}).dropped == {}


@given(st.integers(20, 60), st.integers(0, 1000), st.sampled_from([2, 50, 1000, 10**6]))
def test_random_whole_numbers_are_features(n, seed, high):
    """Even where they are all different, unless a name says otherwise."""
    rng = np.random.default_rng(seed)
    found = screen({"a": rng.integers(0, high, n).astype(float), "b": rng.normal(size=n)})
    assert all("every row" in reason for reason in found.dropped.values())


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes", "linnerud", "digits"])
def test_the_columns_of_known_tables_are_all_used(name):
    data = getattr(datasets, f"load_{name}")()
    columns = pa.table({str(name): np.ascontiguousarray(data.data[:, i]) for i, name in enumerate(data.feature_names)})
    choice = choose(columns, None, ())
    constant = [
        str(name) for name, spread in zip(data.feature_names, np.ptp(data.data, axis=0), strict=True) if not spread
    ]
    assert [name for name, _ in choice.dropped] == constant


def test_infinite_values_do_not_count():
    assert screen({"a": np.where(np.arange(N) == 3, np.inf, NOISE), "b": NOISE**2}).dropped == {}


def test_clusters_that_are_the_values_of_one_column():
    late = (RNG.random(N) < 0.2).astype(float)
    X = np.column_stack([NOISE, late])
    assert "the values of column 'late' in every row" in decisive_columns(["delay", "late"], X, late.astype(int))
    assert "--drop late" in decisive_columns(["delay", "late"], X, 1 - late.astype(int))
    assert decisive_columns(["delay", "late"], X, (NOISE > 0).astype(int)) is None
    assert decisive_columns(["late"], X[:, 1:], late.astype(int)) is None
    kinds = SPARSE % 3
    assert "column 'kind'" in decisive_columns(["kind", "x"], np.column_stack([kinds * 10.0, NOISE]), kinds)


def test_clusters_that_yes_and_no_decide_together():
    sex, smoker = SPARSE % 2, SPARSE // 2 % 2
    X = np.column_stack([sex, smoker, NOISE])
    names = ["sex", "smoker", "age"]
    assert "combinations of the yes/no columns 'sex', 'smoker'" in decisive_columns(names, X, 2 * sex + smoker)
    assert "No cluster mixes the two values of the yes/no column 'sex'" in decisive_columns(
        names, X, 2 * sex + (NOISE > 0)
    )
