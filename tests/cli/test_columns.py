"""What is left out, and what is doubtful: said before the fit, in the summary and in the report."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from lapmodes.files import read

RNG = np.random.default_rng(0)
N = 80
GROUP = np.arange(N) % 2


def write(file, columns):
    """A CSV file; None is a blank cell."""
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def columns():
    size = (RNG.normal(size=N) + 8 * GROUP).round(3)
    return {
        "customer id": RNG.choice(10**5, N, replace=False),
        "size": size,
        "size (inch)": (size / 2.54).round(3),
        "weight": (RNG.normal(size=N) + 8 * GROUP).round(3),
        "rarely": [1.5 * i if i % 6 == 0 else None for i in range(N)],
        "unit": ["kg"] * N,
        "version": [3] * N,
        "area code": RNG.integers(100, 999, N),
        "kind": np.array(["cat", "dog"])[GROUP],
    }


def test_everything_is_said_before_the_fit_and_kept(here, lapmodes, columns):
    write(here / "x.csv", columns)
    result = lapmodes("fit", "x.csv", "-k", 2, "--truth", "kind")
    assert result.exit_code == 0, result.output
    before, _, _ = result.stderr.partition("2 clusters of 40, 40 rows")
    assert "using 3 columns" in before
    summary = json.loads((here / "x.lapmodes" / "summary.json").read_text())
    left_out = summary["left_out_columns"]
    for name, words in {
        "customer id": "identifier",
        "size (inch)": "same in other units, within rounding, as column 'size'",
        "rarely": "missing in 82 % of the rows",
        "version": "it is 3 in every row",
    }.items():
        assert words in left_out[name]
        assert f"Left out column {name!r}: {left_out[name]}." in before
    assert "name all that you want with --columns" in before
    [doubt] = summary["notes"]
    assert "'area code' may be no feature" in doubt and "--drop 'area code'" in doubt
    assert f"Note: {doubt}" in before
    page = (here / "x.lapmodes" / "report.html").read_text()
    assert "missing in 82 % of the rows" in page and "may be no feature" in page


def test_a_column_that_is_asked_for_is_used(here, lapmodes, columns):
    write(here / "x.csv", columns)
    wanted = "customer id,version,size,size (inch)"
    result = lapmodes("fit", "x.csv", "-k", 2, "--no-report", "--columns", wanted)
    assert result.exit_code == 0, result.output
    assert "using 4 columns" in result.stderr and "Left out" not in result.stderr and "Note" not in result.stderr


def test_the_same_columns_are_used_without_k(here, lapmodes, columns):
    write(here / "x.csv", columns)
    result = lapmodes("fit", "x.csv", "--no-report", "--drop", "area code")
    assert result.exit_code == 0 and "using 2 columns" in result.stderr
    assert "'area code' may be" not in result.stderr


def test_a_yes_no_column_that_decides_is_named(here, lapmodes):
    """Diabetes: standardised, the two clusters are the two sexes."""
    data = load_diabetes(scaled=False)
    write(here / "x.csv", dict(zip(data.feature_names, data.data.T.round(4), strict=True)))
    result = lapmodes("fit", "x.csv", "-k", 2)
    assert result.exit_code == 0, result.output
    [note] = json.loads((here / "x.lapmodes" / "summary.json").read_text())["notes"]
    assert note.startswith("The clusters are the values of column 'sex' in 9") and "--drop sex" in note
    assert f"Note: {note}" in result.stderr
    assert "The clusters are the values of column" in (here / "x.lapmodes" / "report.html").read_text()
    other = lapmodes("fit", "x.csv", "-k", 2, "--drop", "sex", "--no-report")
    assert "The clusters are the values" not in other.stderr


def test_columns_that_are_not_used_describe_the_clusters(here, lapmodes, columns, monkeypatch):
    contents = []
    monkeypatch.setattr(
        "lapmodes.report.write_page", lambda file, content, *_: contents.append(content) or file.touch()
    )
    columns["grade"] = [None if i < 4 else f"grade {i % 5}" for i in range(N)]
    columns["free text"] = [f"note {i}" for i in range(N)]
    columns["weight"] = [None if i == 1 else value for i, value in enumerate(columns["weight"])]
    write(here / "x.csv", columns)
    assert lapmodes("fit", "x.csv", "-k", 2, "--truth", "kind").exit_code == 0
    assert lapmodes("fit", "x.csv", "-k", 2, "--columns", "size,weight", "--truth", "customer id").exit_code == 0
    first, second = (content.described_by for content in contents)
    assert set(first) == {"kind", "grade", "rarely"} and set(second) == {"kind", "grade", "rarely", "customer id"}
    for content in contents:
        assert {len(values) for values in content.described_by.values()} == {content.points.shape[0]} == {N - 1}
        assert content.row_names[:3] == ("row 1", "row 3", "row 4")
    assert first["kind"][:3] == ["cat", "cat", "dog"] and first["grade"][:4] == ["no value"] * 3 + ["grade 4"]


def test_classes_that_are_not_known_are_not_a_class(here, lapmodes, columns):
    columns["kind"] = [None if i < 10 else "ab"[i % 2] for i in range(N)]
    write(here / "x.csv", columns)
    assert lapmodes("fit", "x.csv", "-k", 2, "--truth", "kind", "--no-report").exit_code == 0
    assert json.loads((here / "x.lapmodes" / "summary.json").read_text())["agreement"]["accuracy"] == 1.0


def test_one_is_not_plural(here, lapmodes, columns):
    write(here / "x.csv", columns)
    result = lapmodes("fit", "x.csv", "-k", 1)
    assert "1 cluster of 80 rows." in result.stderr
    assert "<title>1 cluster in x.csv</title>" in (here / "x.lapmodes" / "report.html").read_text()
    write(here / "one.csv", {name: values[:1] for name, values in columns.items()})
    assert "1 row: 1." in lapmodes("predict", "x.lapmodes", "one.csv").stderr


@pytest.fixture
def birds(here):
    """Two groups that only a word tells apart, beside numbers in different units, one of them skewed."""
    rng = np.random.default_rng(0)
    word = np.repeat(["sea", "wood"], 40)
    mass = rng.lognormal(5, 1.2, 80)
    write("birds.csv", {"mass": mass, "bill": rng.normal(4, 0.1, 80), "home": word.tolist()})


def test_scaling_is_explained_in_a_line_and_in_full_in_the_report(here, lapmodes, birds):
    result = lapmodes("fit", "birds.csv", "-k", 2)
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stderr.splitlines() if "different units" in line]
    assert "'mass' spreads" in line and "times as far as 'bill'. They are scaled, 1 skewed column in logarithms" in line
    summary = json.loads((here / "birds.lapmodes" / "summary.json").read_text())
    assert len(summary["scaling_reasons"]) == 3
    report = (here / "birds.lapmodes" / "report.html").read_text().replace("&#x27;", "'")
    assert "1 column divided by the standard deviation" in report and "1 column positive and skewed" in report
    same = lapmodes("fit", "birds.csv", "-k", 2, "--columns", "bill", "-o", "one", "--no-report")
    assert "--scale standard makes them equally important" in same.stderr


def test_categories_are_used_when_asked_for_and_by_predict(here, lapmodes, birds):
    result = lapmodes("fit", "birds.csv", "-k", 2, "--categories", "home")
    assert result.exit_code == 0, result.output
    assert "Categories count as much as a column of numbers each: 'home'." in result.stderr
    labels = np.asarray(read(here / "birds.lapmodes" / "assignments.csv").columns["cluster"])
    assert len(set(labels[:40])) == len(set(labels[40:])) == 1 and labels[0] != labels[-1]
    write("new.csv", {"mass": [150.0, 150.0, 150.0], "bill": [4.0, 4.0, 4.0], "home": ["wood", "sea", "moon"]})
    assert lapmodes("predict", "birds.lapmodes", "new.csv", "-o", "out.csv").exit_code == 0
    found = np.asarray(read(here / "out.csv").columns["cluster"])
    assert found[:2].tolist() == [labels[-1], labels[0]]
    again = lapmodes("fit", "--config", "birds.lapmodes/parameters.toml", "--no-report", "-o", "again")
    assert again.exit_code == 0
    assert (here / "again" / "modes.csv").read_bytes() == (here / "birds.lapmodes" / "modes.csv").read_bytes()
