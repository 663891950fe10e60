"""Tables as other programs and other countries write them, from the file to the clusters."""

from __future__ import annotations

import gzip

import pyarrow.csv
import pytest

ROWS = [(i % 2 * 40 + i % 7 / 4, i % 2 * 2000 + i % 5 * 11.5, "ab"[i % 2]) for i in range(40)]


def plain(rows=ROWS):
    return "size,price,kind\n" + "".join(f"{a:.2f},{b:.2f},{c}\n" for a, b, c in rows)


def european(rows=ROWS):
    lines = (f"{a:.2f};{b:,.2f} €;{c}\n".translate(str.maketrans(",.", ".,")) for a, b, c in rows)
    return "size;price;kind\n" + "".join(lines)


def clusters(file):
    return pyarrow.csv.read_csv(file)["cluster"].to_pylist()


@pytest.fixture
def expected(here, lapmodes):
    (here / "plain.csv").write_text(plain())
    assert lapmodes("fit", "plain.csv", "-k", 2, "--no-report").exit_code == 0
    return clusters(here / "plain.lapmodes" / "assignments.csv")


def test_a_european_table_gives_the_same_clusters(here, lapmodes, expected):
    (here / "x.csv").write_text(european(), encoding="utf-8")
    result = lapmodes("fit", "x.csv", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert "Read 40 rows; using 2 columns." in result.stderr
    assert "Read 'size' with decimal commas." in result.stderr
    assert "Read 'price' with decimal commas and thousands points and € signs." in result.stderr
    assert clusters(here / "x.lapmodes" / "assignments.csv") == expected


def test_new_rows_are_understood_as_those_of_the_fit(here, lapmodes, expected):
    (here / "x.csv").write_text(european(), encoding="utf-8")
    assert lapmodes("fit", "x.csv", "-k", 2, "--no-report").exit_code == 0
    (here / "new.csv").write_text(european(ROWS[:6]), encoding="utf-8")
    result = lapmodes("predict", "x.lapmodes", "new.csv")
    assert result.exit_code == 0, result.output
    assert clusters(here / "new.clusters.csv") == expected[:6]
    result = lapmodes("predict", "x.lapmodes", "plain.csv")
    assert result.exit_code == 3 and "'size' must hold numbers with decimal commas" in result.stderr


def test_a_model_of_plain_numbers_takes_european_ones(here, lapmodes, expected):
    (here / "x.csv").write_text(european(), encoding="utf-8")
    result = lapmodes("predict", "plain.lapmodes", "x.csv")
    assert result.exit_code == 0, result.output
    assert "Read 'size' with decimal commas." in result.stderr
    assert clusters(here / "x.clusters.csv") == expected


def test_the_decimal_sign_can_be_forced(here, lapmodes):
    (here / "x.csv").write_text("a;b\n" + "".join(f"{i + 1},{i * i % 900 + 100};{i % 3}\n" for i in range(40)))
    for sign, largest in ((",", 41), (".", 40999)):
        result = lapmodes("fit", "x.csv", "-k", 2, "--no-report", "--decimal", sign, "--overwrite")
        assert result.exit_code == 0, result.output
        modes = pyarrow.csv.read_csv(here / "x.lapmodes" / "modes.csv")["a"].to_pylist()
        assert largest / 100 < max(modes) <= largest
    result = lapmodes("fit", "x.csv", "-k", 2, "--decimal", "x", "--overwrite")
    assert result.exit_code == 3 and "--decimal must be '.' or ','. Got 'x' instead." in result.stderr


def test_a_packed_table_gives_the_same_clusters(here, lapmodes, expected):
    (here / "x.csv.gz").write_bytes(gzip.compress(plain().encode()))
    result = lapmodes("fit", "x.csv.gz", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert clusters(here / "x.lapmodes" / "assignments.csv") == expected
    assert lapmodes("predict", "x.lapmodes", "x.csv.gz").exit_code == 0
    assert clusters(here / "x.clusters.csv") == expected


def test_windows_text_is_understood(here, lapmodes, expected):
    (here / "x.csv").write_text(european(), encoding="cp1252")
    result = lapmodes("fit", "x.csv", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert "Read as Windows-1252 text" in result.stderr and "€ signs" in result.stderr
    result = lapmodes("predict", "x.lapmodes", "x.csv")
    assert result.exit_code == 0 and "Read as Windows-1252 text" in result.stderr
    assert clusters(here / "x.clusters.csv") == expected
