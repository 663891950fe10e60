from __future__ import annotations

import gzip
import json
import sys

import pytest

from lapmodes.files import FileError, Reading, batches, read

RECORDS = [
    {"a": 1, "b": 0.5, "word": "x", "price": "1.234,50 €", "mixed": 1},
    {"a": 2.5, "word": "y", "price": "2,25 €", "mixed": "one"},
    {"a": 4, "b": None, "word": "é", "price": "3,00 €", "more": True},
]
COLUMNS = {
    "a": [1, 2.5, 4],
    "b": [0.5, None, None],
    "word": ["x", "y", "é"],
    "price": [1234.5, 2.25, 3.0],
    "mixed": ["1", "one", None],
    "more": [None, None, True],
}
ARRAY = json.dumps(RECORDS, ensure_ascii=False)
LINES = "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS) + "\n"
WAYS = {
    "x.json": ARRAY.encode(),
    "x.jsonl": LINES.encode(),
    "x.ndjson": LINES.replace("\n", "\r\n").encode("utf-8-sig"),
    "lines.json": LINES.encode(),
    "packed.json.gz": gzip.compress(ARRAY.encode()),
    "windows.jsonl": LINES.encode("cp1252"),
}


@pytest.mark.parametrize("name", WAYS)
def test_records_are_columns(tmp_path, name):
    (tmp_path / name).write_bytes(WAYS[name])
    table = read(tmp_path / name)
    assert table.columns.to_pydict() == COLUMNS
    assert "Read 'price' with decimal commas and thousands points and € signs." in table.understood
    [piece] = batches(tmp_path / name, Reading(), ["a"], ["word"])
    assert piece.columns["a"].to_pylist() == COLUMNS["a"]


def test_a_sheet_is_a_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["size", None, "share"], [1, "x", "5,5 %"], [], [2.5, "y", "6,5 %"]):
        book.active.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "x.xlsx")
    columns = read(tmp_path / "x.xlsx").columns
    assert columns.to_pydict() == {"size": [1, 2.5], "column_2": ["x", "y"], "share": [5.5, 6.5]}
    book["empty"].append([1])
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(FileError, match=r"one sheet with values. It holds several: Sheet, empty"):
        read(tmp_path / "x.xlsx")


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(FileError, match=r"needs openpyxl, .* pip install 'lapmodes\[excel\]'"):
        read(tmp_path / "x.xlsx")
