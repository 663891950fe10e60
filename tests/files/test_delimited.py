from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lapmodes.files import FileError, Reading, batches, read

ROWS = [(1.5, 2), (3.25, 4), (-0.5, 6)]
PLAIN = "a,b\n" + "".join(f"{a},{b}\n" for a, b in ROWS)
WAYS = {
    "commas": PLAIN.encode(),
    "semicolons and decimal commas": PLAIN.replace(",", ";").replace(".", ",").encode(),
    "tabs": PLAIN.replace(",", "\t").encode(),
    "single spaces": PLAIN.replace(",", " ").encode(),
    "UTF-8 with a mark": PLAIN.encode("utf-8-sig"),
    "UTF-16, as sheets are saved": PLAIN.encode("utf-16"),
    "old line ends": PLAIN.replace("\n", "\r").encode(),
    "a line for Excel": b"sep=;\r\n" + PLAIN.replace(",", ";").replace(".", ",").encode(),
    "quotes": PLAIN.replace("a,b", '"a","b"').encode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_table_however_it_is_written(tmp_path, way):
    (tmp_path / "x.csv").write_bytes(WAYS[way])
    columns = read(tmp_path / "x.csv").columns
    assert columns.column_names == ["a", "b"]
    np.testing.assert_array_equal(np.column_stack([columns["a"], columns["b"]]), ROWS)


def test_a_column_of_missing_numbers_only_is_left_out(here, lapmodes):
    rows = {"gone": [float("nan")] * 9, "size": np.arange(9.0) ** 2}
    pa.parquet.write_table(pa.table(rows), here / "x.parquet")
    result = lapmodes("fit", "x.parquet", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert "Left out column 'gone': it has no values." in result.stderr


@pytest.mark.parametrize("mark", ["", "NA", "n/a", "NaN", "?", "-", ".", "None"])
def test_marks_of_missing_numbers(tmp_path, mark):
    (tmp_path / "x.csv").write_text(f"a,b\n1,x\n{mark},y\n3,{mark}\n")
    columns = read(tmp_path / "x.csv").columns
    assert columns["a"].to_pylist() == [1, None, 3]
    assert columns["b"].to_pylist() == ["x", "y", mark]


def test_windows_text_is_read_and_that_is_said(tmp_path):
    file = tmp_path / "x.csv"
    file.write_bytes("größe;preis\n5,1;3,5 €\n4,7;2,5 €\n".encode("cp1252"))
    table = read(file)
    assert table.columns.to_pydict() == {"größe": [5.1, 4.7], "preis": [3.5, 2.5]}
    assert table.understood[0].startswith("Read as Windows-1252 text, since it is not UTF-8")
    [piece] = batches(file, Reading(), ["preis"], ["größe"])
    assert piece.columns["preis"].to_pylist() == [3.5, 2.5] and piece.understood[0] == table.understood[0]
    forced = read(file, Reading(encoding="cp1252"))
    assert forced.columns.equals(table.columns) and "Windows" not in str(forced.understood)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32", "latin-1", "cp1251", "shift_jis"])
def test_an_encoding_can_be_asked_for(tmp_path, encoding):
    (tmp_path / "x.csv").write_bytes("a,b\n1,x\n2,y\n".encode(encoding))
    assert read(tmp_path / "x.csv", Reading(encoding=encoding)).columns.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_a_late_byte_that_is_no_utf8_is_found_before_anything_is_read(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + b"1,x\n" * 400_000 + b"2,\xe9\n")
    pieces = [piece.columns for piece in batches(tmp_path / "x.csv", Reading(), ["a"], ["b"], rows=10_000)]
    assert pieces[-1]["b"].to_pylist()[-1] == "é"


def test_an_unknown_encoding_is_said(tmp_path):
    (tmp_path / "x.csv").write_text(PLAIN)
    with pytest.raises(FileError, match="no encoding 'klingon'"):
        read(tmp_path / "x.csv", Reading(encoding="klingon"))
