from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.cli.options import (
    column_list,
    further_parameters,
    height_and_width,
    levels_of,
    number_of_clusters,
    number_or_word,
    reading_of,
    to_toml,
)

VALUES = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(), st.lists(st.text(), min_size=1)
)


@given(st.dictionaries(st.sampled_from(["lam", "data", "set", "graph", "seed"]), VALUES))
def test_toml_gives_back_what_was_written(values):
    assert tomllib.loads(to_toml("fit", values)) == {"command": "fit"} | values


def test_toml_leaves_out_what_is_not_set_and_how_to_run():
    text = to_toml("fit", {"keep": None, "set": [], "quiet": True, "overwrite": True, "seed": 3})
    assert tomllib.loads(text) == {"command": "fit", "seed": 3}


@pytest.mark.parametrize(
    ("text", "names"), [(None, []), ("", []), ("a,b", ["a", "b"]), ('a, "b,c" ,a', ["a", "b,c"]), ("a,,b", ["a", "b"])]
)
def test_names_between_commas(text, names):
    assert column_list(text) == names


def test_numbers_and_words():
    assert number_or_word("0.5", "--lam") == 0.5
    assert number_or_word("auto", "--lam") == "auto"
    assert number_or_word("inf", "--bandwidth") == float("inf")
    assert number_of_clusters("7") == 7 and number_of_clusters("auto") is None
    assert levels_of("8, 3,20,3") == [3, 8, 20] and levels_of("1") == [1] and levels_of("auto") == []
    assert number_of_clusters("8,3") == 8
    assert height_and_width("28x30", "--image") == (28, 30) and height_and_width(None, "--image") is None
    assert reading_of("tab", "latin-1", None).delimiter == "\t"


def test_further_parameters_have_types():
    pairs = ["tol=1e-3", "init=k-means", "n_jobs=none", "sparse_assignments=TRUE", "x=[1, 2]"]
    expected = {"tol": 1e-3, "init": "k-means", "n_jobs": None, "sparse_assignments": True, "x": [1, 2]}
    assert further_parameters(pairs) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: number_or_word("nan", "--lam"), "--lam must be a number of at least 0, or 'auto'. Got 'nan' instead"),
        (lambda: number_or_word("-1", "--lam"), "Got '-1' instead"),
        (lambda: number_or_word("wide", "--bandwidth", ("auto", "x")), "at least 0, or 'auto' or 'x'"),
        (lambda: number_or_word("adaptive", "--bandwidth", ("auto", "entropic")), "now called --bandwidth entropic"),
        (lambda: levels_of("3,1"), "several of at least 2 for levels, such as 3,8,20. Got '3,1'"),
        (lambda: levels_of("3,"), "-k must be a whole number"),
        (lambda: number_of_clusters("0"), "-k must be a whole number of at least 1, or 'auto'"),
        (lambda: height_and_width("28", "--image"), "--image must look like 28x28. Got '28'"),
        (lambda: further_parameters(["tol"]), "--set must look like NAME=VALUE. Got 'tol'"),
        (lambda: reading_of("::", "utf-8", None), "--delimiter must be one sign"),
    ],
)
def test_what_cannot_be_understood_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
