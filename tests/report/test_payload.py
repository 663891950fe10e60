from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes import LaplacianKModes
from lapmodes.report import payload as module
from lapmodes.report import report_content
from lapmodes.report.clusters import portray
from lapmodes.report.payload import (
    averaged,
    numbers,
    payload,
    pictures_of,
    ranks,
    sample_rows,
    terms_of,
    texts,
    two_largest,
)


def codes(column):
    return np.frombuffer(base64.b64decode(column["codes"]), "<u2" if column["kind"] == "many" else "u1").astype(int)


def decoded(column):
    """What the page's script makes of a column."""
    code, values = codes(column), np.array(column["values"], dtype=float)
    if column["kind"] == "few":
        return values[code]
    below, part = np.minimum(code >> 8, 255), (code & 255) / 254
    return np.where(code == 65535, np.nan, values[below] + (values[below + 1] - values[below]) * part)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1.2345e8])
def test_values_are_rounded_finely_wherever_rows_are(scale):
    values = scale * np.exp(np.random.default_rng(0).normal(size=5_000, scale=3)) - 5 * scale
    error = np.abs(decoded(numbers("a", values)) - values)
    knots = np.quantile(values, np.linspace(0, 1, 257))
    width = np.diff(knots)[np.clip(np.searchsorted(knots, values, side="right") - 1, 0, 255)]
    assert (error <= width / 500 + 1e-8 * np.abs(values)).all()


def test_few_values_are_exact_and_missing_ones_are_missing():
    values = np.random.default_rng(0).integers(-3, 200, size=900).astype(float)
    np.testing.assert_array_equal(decoded(numbers("a", values)), values)
    values[::7] = np.nan
    np.testing.assert_array_equal(np.isnan(decoded(numbers("a", values))), np.isnan(values))


def test_columns_that_were_not_used_are_numbers_or_their_commonest_words():
    years = [str(1900 + i % 50) for i in range(200)]
    assert texts("year", [*years, "no value"])["kind"] == "many"
    assert texts("year", years)["values"][0] == 1900
    words = [f"word {i}" for i in range(300)] + ["common"] * 5
    column = texts("word", words)
    assert column["values"][0] == "common" and column["values"][-1] == "other" and len(column["values"]) == 256
    assert [column["values"][code] for code in codes(column)[-5:]] == ["common"] * 5
    assert texts("kind", ["1", "2"] * 40)["values"] == ["1", "2"]


def test_the_largest_entries_of_sparse_rows(told_rows):
    X = sp.csr_array(np.maximum(told_rows, 0))
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(X)
    found = terms_of(report_content(model, X, feature_names=list("abcd")), np.arange(90))
    table = np.frombuffer(base64.b64decode(found["table"]), "<u2").reshape(90, module.TERMS)
    for row, line in zip(X.toarray(), table, strict=True):
        expected = ["abcd"[i] for i in np.argsort(-row, kind="stable") if row[i] > 0]
        assert [found["names"][code - 1] for code in line if code] == expected


def test_pictures_shrink_by_whole_squares(told_model, told_rows, monkeypatch):
    grey = np.arange(35.0).reshape(5, 7)
    small = averaged(grey, 3)
    assert small.shape == (2, 3)
    assert small[0, 0] == grey[:3, :3].mean() and small[1, 2] == grey[3:, 6:].mean()
    content = report_content(told_model, told_rows, image_shape=(2, 2))
    assert pictures_of(content, np.arange(90))["height"] == 2
    monkeypatch.setattr(module, "PIXELS", 90)
    found = pictures_of(content, np.arange(90))
    assert (found["height"], found["width"], len(base64.b64decode(found["pixels"]))) == (1, 1, 90)


def test_names_and_texts_of_rows_that_would_be_too_much_are_left_out(told_model, told_rows, monkeypatch):
    def parts(content):
        return payload(content, np.arange(90), [], portray(content), np.zeros(90), np.zeros(90))

    content = replace(
        report_content(told_model, told_rows),
        row_names=tuple(f"r{i}" for i in range(90)),
        describe=lambda row: [("title", f"Title {row}"), ("column_0", 1.0), ("seen", None)],
    )
    found = parts(content)
    assert found["names"][3] == "r3" and found["texts"]["values"][3] == "Title 3"
    monkeypatch.setattr(module, "SIGNS", 100)
    assert (parts(content)["names"], parts(content)["texts"]) == (None, None)


def test_the_columns_that_tell_most_come_first_and_are_limited(told_model, told_rows, monkeypatch):
    monkeypatch.setattr(module, "COLUMNS", 2)
    content = report_content(told_model, told_rows)
    found = payload(content, np.arange(90), [], portray(content), np.zeros(90), np.zeros(90))
    assert len(found["columns"]) == 2 and all(set(each) <= {0, 1} for each in found["telling"])
    assert "column_3" not in {column["name"] for column in found["columns"]}  # it is the same everywhere


def test_shares_and_ranks():
    Z = np.array([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3]])
    first, second, weight = two_largest(Z)
    assert (first[2], second[2]) == (1, 2)
    assert weight[2] == pytest.approx(0.5 / 0.8)
    np.testing.assert_array_equal(ranks(np.array([3.0, 1.0, 2.0])), [255, 0, 128])


def test_a_sample_of_the_rows_is_in_order_and_the_same_each_time():
    assert sample_rows(5, 9).tolist() == [0, 1, 2, 3, 4]
    some = sample_rows(100, 9)
    assert len(set(some.tolist())) == 9 and (np.diff(some) > 0).all()
    np.testing.assert_array_equal(some, sample_rows(100, 9))
