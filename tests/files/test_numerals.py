"""Numbers as people write them: the same numbers come out, and what was understood is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.files import FileError, Reading, batches, learn, read

VALUES = [1234567.5, -12.25, 0.5, 1000.0]


def european(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


WAYS = {
    "decimal commas": ([f"{v:.2f}".replace(".", ",") for v in VALUES], "decimal commas"),
    "thousands points": ([european(v) for v in VALUES], "decimal commas and thousands points"),
    "thousands commas": ([f"{v:,.2f}" for v in VALUES], "thousands commas"),
    "spaces": ([european(v).replace(".", " ") for v in VALUES], "decimal commas and thousands spaces"),
    "no-break": ([european(v).replace(".", "\u00a0") for v in VALUES], "decimal commas and thousands spaces"),
    "narrow": ([european(v).replace(".", "\u202f") for v in VALUES], "decimal commas and thousands spaces"),
    "apostrophes": ([f"{v:,.2f}".replace(",", "'") for v in VALUES], "thousands apostrophes"),
    "percent": ([f"{v} %" for v in VALUES], "% signs"),
    "euro": ([f"{european(v)} €" for v in VALUES], "decimal commas and thousands points and € signs"),
    "dollar": ([f"${v:,.2f}".replace("$-", "-$") for v in VALUES], "thousands commas and $ signs"),
    "brackets": (
        [f"{abs(v):,.2f}" if v > 0 else f"({-v:,.2f})" for v in VALUES],
        "thousands commas and brackets for a minus",
    ),
    "minus behind": ([f"{abs(v)}" + "-" * (v < 0) for v in VALUES], ""),
    "kilograms": ([f"{v} kg" for v in VALUES], "unit kg"),
    "metres": ([f"{v} m" for v in VALUES], "unit m"),
    "degrees": ([f"{v}°C" for v in VALUES], "°C signs"),
    "minus": ([f"{v}".replace("-", "\u2212").replace(".", ",") for v in VALUES], "decimal commas"),
}


def written(folder, *columns, sign=";", name="x.csv"):
    names = "abcdefg"[: len(columns)]
    lines = [sign.join(names), *(sign.join(cells) for cells in zip(*columns, strict=True))]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("sign", [";", "\t"])
@pytest.mark.parametrize("way", WAYS)
def test_numbers_in_every_way_of_writing(tmp_path, way, sign):
    cells, words = WAYS[way]
    file = written(tmp_path, [*cells, "n/a"], ["x", "y", "z", "u", "v"], sign=sign)
    table = read(file)
    assert table.columns["a"].to_pylist() == [*VALUES, None]
    assert table.columns["b"].to_pylist() == ["x", "y", "z", "u", "v"]
    assert table.understood == ((f"Read 'a' with {words}.",) if words else ())
    [piece] = batches(file, Reading(), ["a"])
    assert piece.columns["a"].to_pylist() == [*VALUES, None]
    assert piece.understood == table.understood


@given(st.lists(st.decimals(-(10**9), 10**9, places=2).map(float), min_size=1, max_size=20))
def test_whatever_is_written_with_commas_is_read_again(tmp_path_factory, values):
    file = written(tmp_path_factory.mktemp("x"), [european(v) for v in values], ["0,5"] * len(values))
    assert read(file).columns["a"].to_pylist() == values


def test_ambiguous_columns_follow_the_rest_of_the_file(tmp_path):
    for other, expected in (("5,1", 1.234), ("5.1", 1234.0)):
        columns = read(written(tmp_path, ["1,234", "2,345"], [other, "7"])).columns
        assert columns["a"].to_pylist()[0] == expected
    columns = read(written(tmp_path, ["1.234", "2.345"], ["5,1", "7"])).columns
    assert columns["a"].to_pylist() == [1234.0, 2345.0]


@pytest.mark.parametrize(("sign", "expected", "other"), [(";", 1.234, "."), ("\t", 1234.0, ",")])
def test_a_guess_is_said_and_can_be_overruled(tmp_path, sign, expected, other):
    file = written(tmp_path, ["1,234", "2,345"], ["x", "y"], sign=sign)
    table = read(file)
    assert table.columns["a"].to_pylist()[0] == expected
    assert f"a guess: if that is wrong, use --decimal '{other}'" in table.understood[0]
    forced = read(file, Reading(decimal=other))
    assert forced.columns["a"].to_pylist()[0] == {".": 1234.0, ",": 1.234}[other]
    assert "guess" not in forced.understood[0]


def test_points_keep_their_meaning_without_any_comma(tmp_path):
    table = read(written(tmp_path, ["1.234", "2.345"], ["3", "4"]))
    assert table.columns["a"].to_pylist() == [1.234, 2.345] and table.understood == ()


@pytest.mark.parametrize(
    "cells",
    [
        ["5,1", "x"],
        ["$5", "€6"],
        ["5 %", "6"],
        ["5,1", "12.5"],
        ["1.2.3", "4.5.6"],
        ["030 123", "040 123"],
        ["1,2,3", "4"],
    ],
)
def test_a_column_that_does_not_fit_stays_text(tmp_path, cells):
    table = read(written(tmp_path, cells, ["1", "2"]))
    assert table.columns["a"].to_pylist() == cells and table.understood == ()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["5,1", "6,2", "x"], "'a' holds numbers and text: 'x' in row 3"),
        (["5,1", "12.5", "6,1"], "cannot all be read in one way, such as '5,1', '12.5'"),
        (["5 %", "6", "7 %"], "cannot all be read in one way, such as '5 %', '6'"),
    ],
)
def test_numbers_that_cannot_be_read_are_never_passed_over(tmp_path, cells, words):
    with pytest.raises(FileError, match=words):
        learn(read(written(tmp_path, cells, ["1", "2", "5"])))


@pytest.mark.parametrize("cells", [["error", "<0.5"], ["error"], ["5.1.2", "x"]])
def test_a_few_cells_without_a_number_are_missing(tmp_path, cells):
    """At most a tenth of the column; they are named, also piece by piece."""
    values = [f"{i},5" for i in range(30)]
    odd = dict(zip([7, 20], cells, strict=False))
    file = written(tmp_path, [odd.get(i, value) for i, value in enumerate(values)], ["x"] * 30)
    table = read(file)
    expected = [None if i in odd else i + 0.5 for i in range(30)]
    assert table.columns["a"].to_pylist() == expected
    assert (
        f"{cells[0]!r} in row 8" in table.understood[1] and "of 'a' without a number as missing" in table.understood[1]
    )
    [piece] = batches(file, Reading(), ["a"])
    assert piece.columns["a"].to_pylist() == expected and piece.understood == table.understood


def test_a_late_cell_without_a_number_is_missing(tmp_path):
    """Far behind the rows from which the types of the columns are found."""
    cells = [f"{i / 4}" for i in range(9000)]
    cells[8000] = "error"
    file = written(tmp_path, cells, ["1.5"] * 9000, sign=",")
    pieces = list(batches(file, Reading(), ["a", "b"], rows=500))
    assert len(pieces) > 3 and sum(piece.n_rows for piece in pieces) == 9000
    values = [value for piece in pieces for value in piece.columns["a"].to_pylist()]
    assert values == read(file).columns["a"].to_pylist() and values[8000] is None and values.count(None) == 1
    assert [line for piece in pieces for line in piece.understood] == [
        "Took 1 cell of 'a' without a number as missing: 'error' in row 8001."
    ]


def test_thousands_beside_smaller_numbers(tmp_path):
    """Points in a file of semicolons, always before three digits, and never where a number is below a thousand."""
    values = [950, 17, *range(1001, 90_000, 4321)]
    cells = [f"{value:,}".replace(",", ".") for value in values]
    file = written(tmp_path, cells, ["x"] * len(cells))
    table = read(file)
    assert table.columns["a"].to_pylist() == values
    assert table.understood == ("Read 'a' with thousands points (a guess: if that is wrong, use --decimal '.').",)
    [piece] = batches(file, Reading(), ["a"])
    assert piece.columns["a"].to_pylist() == values and piece.understood == table.understood
    other = written(tmp_path, cells, ["0.5"] * len(cells))
    assert read(other).columns["a"].to_pylist()[:3] == [950, 17, 1.001]


def test_a_forced_sign_that_does_not_fit_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"such as '12\.5', which do not fit the decimal sign"):
        learn(read(written(tmp_path, ["12.5", "13.5"], ["1", "2"]), Reading(decimal=",")))


def test_the_next_file_is_read_as_the_first_was(tmp_path):
    table = read(written(tmp_path, ["5,1", "6,2", "9,9"], ["1", "3", "2"], ["5 %", "6 %", "8 %"]))
    recipe = learn(table)[0]
    again = type(recipe).from_json(recipe.to_json()).reading(Reading())
    file = written(tmp_path, ["1,234", "5,678"], ["1.234", "2"], ["1 %", "2,5 %"], name="new.csv")
    for columns in (read(file, again).columns, next(batches(file, again, recipe.columns)).columns):
        np.testing.assert_array_equal(
            np.column_stack([columns[name] for name in "abc"]), [[1.234, 1234, 1], [5.678, 2, 2.5]]
        )


@pytest.mark.parametrize("cell", ["12.5", "5 %"])
def test_the_next_file_must_be_written_as_the_first_was(tmp_path, cell):
    recipe = learn(read(written(tmp_path, ["5,1", "6,2", "9,9"], ["1", "2", "4"])))[0]
    file = written(tmp_path, ["5,1", cell], ["1", "2"], name="new.csv")
    with pytest.raises(FileError, match=f"'a' must hold numbers with decimal commas.*Got '{cell}' in row 2"):
        list(batches(file, recipe.reading(Reading()), recipe.columns))


def test_one_column_with_decimal_commas(tmp_path):
    assert read(written(tmp_path, ["5,1", "4,7", "3"])).columns["a"].to_pylist() == [5.1, 4.7, 3.0]


def test_a_file_without_header_is_split_at_its_semicolons(tmp_path):
    (tmp_path / "x.csv").write_text("5,1;3,2\n4,7;2,9\n")
    columns = read(tmp_path / "x.csv").columns
    assert columns.to_pydict() == {"column_1": [5.1, 4.7], "column_2": [3.2, 2.9]}
