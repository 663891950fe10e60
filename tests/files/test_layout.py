"""Text tables as people leave them: the same columns and rows are found, and what was passed over is said."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.files import FileError, Reading, batches, learn, read
from lapmodes.files.layout import find_header, find_layout

RNG = np.random.default_rng(0)
X = np.column_stack([15 + RNG.normal(size=40), 1000 + 400 * RNG.normal(size=40)]).round(2)
NAMES = ["temp", "press"]
PLAIN = [f"{a:.2f},{b:.2f}" for a, b in X]
BODY = "\n".join(PLAIN) + "\n"
WAYS = {
    "plain": "temp,press\n" + BODY,
    "a title": "Station North\n\ntemp,press\n" + BODY,
    "a title with blank cells": "Station North,\ntemp,press\n" + BODY,
    "two titles": "Station North\nMarch\ntemp,press\n" + BODY,
    "a preamble": "Station,North\nHeight,250\nMarch\ntime,temp,press\n"
    + "".join(f"12:{i},{line}\n" for i, line in enumerate(PLAIN)),
    "comments": "# logger 1.2\n# north\ntemp,press\n" + BODY,
    "a header in a comment": "# logger 1.2\n# temp,press\n" + BODY,
    "comments among the data": "temp,press\n" + "\n".join([*PLAIN[:9], "# restarted", *PLAIN[9:]]) + "\n",
    "blank lines among the data": "temp,press\n" + "\n\n".join(PLAIN) + "\n",
    "a row of units": "temp,press\n°C,hPa\n" + BODY,
    "space around names and numbers": "temp , press\n" + BODY.replace(",", " , "),
    "names on two lines": '"temp","press\n"\n' + BODY,
    "all in quotes": '"temp","press"\n' + "\n".join(f'"{a}","{b}"' for a, b in X) + "\n",
    "a delimiter at the end of rows": "temp,press\n" + BODY.replace("\n", ",\n"),
    "a delimiter at the end of lines": "temp,press,\n" + BODY.replace("\n", ",\n"),
    "blank columns": "temp,press,,\n" + BODY.replace("\n", ",,\n"),
    "a note below": "temp,press\n" + BODY + "\nSource: the weather office\n",
    "columns lined up": "  temp     press\n" + "".join(f"{a:6.2f}  {b:8.2f}\n" for a, b in X),
    "names of rows as R writes them": '"temp" "press"\n' + "".join(f'"r{i}" {a} {b}\n' for i, (a, b) in enumerate(X)),
    "units in the cells": "temp,press\n" + "".join(f"{a} °C,{b} hPa\n" for a, b in X),
    "Swiss": "temp;press\n" + "".join(f"{a};{b:,.2f}\n".replace(",", "'") for a, b in X),
    "French": "temp;press\n" + "".join(f"{a};{b:,.2f}\n".replace(",", "\u202f").replace(".", ",") for a, b in X),
    "German with a title and totals": "Bericht;\ntemp;press\n"
    + "".join(f"{a};{b:,.2f} €\n".translate(str.maketrans(",.", ".,")) for a, b in X),
}


def written(folder, text, name="x.csv", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_table_is_found(tmp_path, way, line_end):
    file = written(tmp_path, WAYS[way].replace("\n", line_end), "x.txt")
    table = read(file)
    recipe, raw, _ = learn(table, scale="none")
    assert list(recipe.columns) == NAMES
    np.testing.assert_array_equal(raw, X)
    pieces = [piece.columns for piece in batches(file, recipe.reading(Reading()), NAMES, rows=5)]
    np.testing.assert_array_equal(np.concatenate([np.column_stack([p["temp"], p["press"]]) for p in pieces]), X)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_in_every_encoding(tmp_path, encoding):
    table = read(written(tmp_path, "Größe\n\ntemp,press\n°C,hPa\n" + BODY, encoding=encoding))
    assert table.columns.column_names == NAMES and table.n_rows == 40
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress((tmp_path / "x.csv").read_bytes()))
    assert read(tmp_path / "x.csv.gz").columns.equals(table.columns)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("two titles", ["Passed over 2 lines above the table: 'Station North', 'March'."]),
        ("a row of units", ["Passed over a row of units: °C, hPa."]),
        ("comments among the data", ["Passed over 1 line that held no data: '# restarted'."]),
        ("a note below", ["Passed over 1 line that held no data: 'Source: the weather office'."]),
        ("plain", []),
    ],
)
def test_what_was_passed_over_is_said(tmp_path, way, words):
    assert list(read(written(tmp_path, WAYS[way])).understood) == words


def test_a_row_of_totals_is_passed_over_if_it_sums_up_the_others(tmp_path):
    rows = "".join(f"shop {i},{a},{b}\n" for i, (a, b) in enumerate(X))
    total = f"Total,{X[:, 0].sum():.2f},{X[:, 1].sum():.2f}\n"
    table = read(written(tmp_path, "shop,temp,press\n" + rows + total))
    assert table.n_rows == 40 and table.understood == ("Passed over the last row, which sums up the others ('Total').",)
    table = read(written(tmp_path, "shop,temp,press\n" + rows + "Total,15.0,1000.5\n"))  # a chain of filling stations
    assert table.n_rows == 41 and table.understood == ()


def test_two_rows_of_names_are_joined(tmp_path):
    text = "sensor A,,sensor B,\ntemp,press,temp,press\n" + "".join(f"{line},{line}\n" for line in PLAIN)
    names = ["sensor A temp", "sensor A press", "sensor B temp", "sensor B press"]
    assert read(written(tmp_path, text)).columns.column_names == names


def test_a_table_without_names_keeps_its_first_row(tmp_path):
    rows = "".join(f"{'cat' if i % 2 else 'dog'},{line}\n" for i, line in enumerate(PLAIN))
    table = read(written(tmp_path, rows))
    assert table.n_rows == 40 and table.columns.column_names == ["column_1", "column_2", "column_3"]
    assert "Took the first line as data" in table.understood[0]


def test_thousands_of_columns_have_all_their_names(tmp_path):
    names = [f"gene number {i}" for i in range(8_000)]
    file = written(tmp_path, ",".join(names) + "\n" + (",".join(["1.5"] * 8_000) + "\n") * 3)
    assert read(file).columns.column_names == names


def test_signs_that_only_python_takes_for_line_ends(tmp_path):
    """They would move the place where the data begin."""
    table = read(written(tmp_path, "A\u2028title\x0bof\x85three\n\ntemp,press\n" + BODY))
    assert table.columns.column_names == NAMES and table.n_rows == 40


def test_rows_that_begin_with_the_sign_of_comments_are_data(tmp_path):
    table = read(written(tmp_path, "code,temp,press\n" + "".join(f"#{i},{line}\n" for i, line in enumerate(PLAIN))))
    assert table.n_rows == 40 and table.columns.column_names[0] == "code"


def test_a_header_in_a_comment_above_words_and_numbers(tmp_path):
    rows = "".join(f"chr{i % 3}\t{i}\t{2 * i}\n" for i in range(30))
    table = read(written(tmp_path, "##made by hand\n#chrom\tstart\tend\n" + rows, "x.tsv"))
    assert table.columns.column_names == ["chrom", "start", "end"] and table.n_rows == 30


@pytest.mark.parametrize("names", ["player,2P,3P", "name,25%,50%", "name,24h,7d", "id,q0.5,q0.9"])
def test_names_that_look_like_numbers_with_units(tmp_path, names):
    table = read(written(tmp_path, f"{names}\n" + "".join(f"x{i},{line}\n" for i, line in enumerate(PLAIN))))
    assert ",".join(table.columns.column_names) == names and table.understood == ()


@pytest.mark.parametrize("first", ["alice,error", "alice,n/a"])
def test_a_first_row_without_a_number_is_no_row_of_units(tmp_path, first):
    rows = "".join(f"p{i},{a}\n" for i, a in enumerate(X[:, 0]))
    table = read(written(tmp_path, f"name,temp\n{first}\n{rows}"))
    assert table.n_rows == 41 and table.columns["temp"].to_pylist()[0] is None


def test_numbers_that_become_names_are_said(tmp_path):
    table = read(written(tmp_path, "".join(f"p{i},{7 * i + 3},{i * i}\n" for i in range(20))))
    assert table.understood == ("Took the first line as names of columns, though it holds numbers (3, 0).",)


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("country,2019,2020", ["country", "2019", "2020"]),
        (",0,1", ["column_1", "0", "1"]),
        ("name,1,2", ["name", "1", "2"]),
    ],
)
def test_numbers_may_be_names(tmp_path, first, names):
    rows = "".join(f"{i},{line}\n" for i, line in enumerate(PLAIN))
    table = read(written(tmp_path, f"{first}\n{rows}"))
    assert table.columns.column_names == names and table.n_rows == 40


def test_one_column_with_a_name_of_two_words(tmp_path):
    assert read(written(tmp_path, "body weight\n1.5\n2.5\n")).columns.to_pydict() == {"body weight": [1.5, 2.5]}


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("5\n", "line 42 has 1 cell where the first has 2: '5'"),
        ('"5,6\n', "line 42 has 1 cell"),
        ("1,2,3\n", "3 cells"),
    ],
)
def test_a_line_that_is_cut_off_is_no_note(tmp_path, end, words):
    with pytest.raises(FileError, match=words):
        read(written(tmp_path, WAYS["plain"] + end))
    with pytest.raises(FileError, match=words):
        list(batches(tmp_path / "x.csv", Reading(), NAMES))


def test_a_note_among_the_data_is_an_error(tmp_path):
    with pytest.raises(FileError, match="line 3 has 1 cell"):
        read(written(tmp_path, "temp,press\n1,2\nhello\n" + BODY))


LOCALES = {
    "point": str.maketrans({",": ""}),
    "German": str.maketrans(",.", ".,"),
    "French": str.maketrans({",": "\u202f", ".": ","}),
    "Swiss": str.maketrans({",": "\u2019"}),
}


@given(
    locale=st.sampled_from(list(LOCALES)),
    sign=st.sampled_from(";\t"),
    unit=st.sampled_from(["", " €", " %", " kg"]),
    title=st.sampled_from(["", "A report\n", "A report{}\n\n", "# a comment\n"]),
    units=st.booleans(),
    trailing=st.booleans(),
    note=st.sampled_from(["", "Source: the weather office\n"]),
    gap=st.sampled_from([None, "n/a", "error", ""]),
    text=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_any_combination(tmp_path_factory, locale, sign, unit, title, units, trailing, note, gap, text, encoding):
    expected = np.where((X[17] == X) & (gap is not None), np.nan, X)
    rows = [[f"{value:,.2f}".translate(LOCALES[locale]) + unit for value in row] for row in X]
    rows[17] = rows[17] if gap is None else [gap, gap]
    lines = [NAMES, *([["°C", "hPa"]] if units else []), *rows]
    words = ["name", *([""] if units else []), *(f"n{i}" for i in range(40))]
    lines = [[word, *line] if text else line for word, line in zip(words, lines, strict=True)]
    end = sign if trailing else ""
    body = "".join(sign.join(line) + (end if i else "") + "\n" for i, line in enumerate(lines))
    above = title.format(sign * len(lines[0][1:]))
    file = written(tmp_path_factory.mktemp("x"), above + body + note, encoding=encoding)
    columns = read(file).columns
    np.testing.assert_array_equal(
        np.column_stack([columns[name].cast("float64").to_numpy() for name in NAMES]), expected
    )


@given(st.lists(st.lists(st.text("ab1.,;# \"'%-", max_size=4), max_size=4), max_size=8))
def test_whatever_comes_first_there_is_a_layout(rows):
    text = "\n".join(",".join(row) for row in rows)
    layout = find_layout(text, None, whole=True)
    assert 0 <= layout.skipped <= len(text.splitlines())
    filled = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if filled:
        header = find_header(filled)
        assert 0 <= header.first <= len(filled) and all(header.names)
