"""Whatever is wrong: an exit code, one clear sentence, no traceback, nothing written."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import pickle
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image
from scipy.sparse import csr_array, save_npz

from lapmodes import LaplacianKModes, _archives
from lapmodes.cli.terminal import INPUT, OUTPUT
from lapmodes.files import atomic

GOOD = "a,b\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(40))
USAGE = 2


class Trap:
    """Makes a folder when it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, ("trapped",))


def text(content, name="data.csv"):
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def saved(name, write, cut=None):
    """A file that `write(stream)` makes, of which only a part is kept."""

    def make(folder):
        stream = io.BytesIO()
        write(stream)
        (folder / name).write_bytes(stream.getvalue()[:cut])

    return make


def packed(*names):
    """A .zip of so many tables."""

    def write(stream):
        with zipfile.ZipFile(stream, "w") as out:
            for name in names:
                out.writestr(name, GOOD)

    return saved("x.zip", write)


def table():
    return pa.table({"a": np.arange(100.0), "b": np.arange(100.0) % 7})


def parquet(stream):
    pa.parquet.write_table(table(), stream)


def archive(header_shape, data=b"\0" * 80):
    """An .npz whose array declares this shape."""

    def write(stream):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": header_shape})
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("X.npy", head.getvalue() + data)

    return write


def npy(array):
    return lambda stream: np.save(stream, array, allow_pickle=True)


def pictures(folder):
    for name, size in (("a.png", (4, 4)), ("b.png", (5, 4))):
        Image.new("L", size).save(folder / name)


def png(stream):
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 30, 3), dtype=np.uint8)).save(stream, "PNG")


def broken_sparse(stream):
    """A CSR matrix with a column that is not there."""
    indices, indptr = np.array([0, 9]), np.array([0, 1, 2])
    np.savez(stream, format=b"csr", shape=(2, 6), data=np.ones(2), indices=indices, indptr=indptr)


BAD_DATA = {
    "empty": (text(""), "data.csv", "is empty"),
    "blank": (text("\n\n  \n"), "data.csv", "holds no text"),
    "header only": (text("a,b\n"), "data.csv", "No column|0 rows"),
    "one row": (text("a,b\n1,2\n"), "data.csv", "1 row of data"),
    "mixed types": (text(GOOD + "x,3\n" * 9), "data.csv", r"'a' holds numbers and text: 'x' in row 41.*--drop"),
    "missing values": (
        text(GOOD + ",3\n5,\n"),
        "data.csv",
        r"2 rows: row 41 \(a\), row 42 \(b\).*--missing drop.*--missing impute",
        "--missing",
        "error",
    ),
    "many missing values": (
        text(GOOD + ",3\n" * 20),
        "data.csv",
        r"20 of 60 rows \(33 %; 'a' 33 %\).*--missing drop, or .*--missing impute, or .*--drop a",
    ),
    "nothing but missing values": (text("a,b\n" + "1,\n,2\n" * 9), "data.csv", "No column|18 of 18 rows"),
    "two ways for gaps": (text(GOOD), "data.csv", "Leave one of them out", "--impute", "mean", "--missing", "drop"),
    "infinite values": (text(GOOD + "inf,3\n"), "data.csv", r"Infinite values in 1 row: row 41 \(a\)"),
    "infinite values to fill": (
        text(GOOD + "inf,3\n"),
        "data.csv",
        r"Infinite values in 1 row: row 41 \(a\).*--drop",
        "--impute",
        "mean",
    ),
    "only text": (text("a\nx\ny\nz\n"), "data.csv", "No column can be used: 'a' .it holds text"),
    "huge integers": (text(f"a\n{2**60}\n{2**61}\n{2**62}\n"), "data.csv", "too long to be exact"),
    "huge numbers": (text(GOOD + "1e300,1\n"), "data.csv", "too large to be squared"),
    "constant": (text("a,b\n" + "1,1\n" * 9), "data.csv", "it is 1 in every row"),
    "no encoding that is known": (text(b"a,b,c\n" + b"1,2,\x81\n" * 9), "data.csv", "not UTF-8 or Windows.*--encoding"),
    "not UTF-8 as was said": (text(b"a,b\n1,caf\xe9\n"), "data.csv", "not utf-8 text.*--enc", "--encoding", "utf-8"),
    "not ASCII as was said": (text("a,b\n1,café\n"), "data.csv", "not ascii text.*--enc", "--encoding", "ascii"),
    "no text encoding": (text("a,b\n1,2\n"), "data.csv", "no encoding 'hex'", "--encoding", "hex"),
    "binary": (text(b"\x7fELF\0\0\1\2" * 20), "data.csv", "binary data, not delimited"),
    "ragged": (text(GOOD + "1,2,3\n"), "data.csv", "line 42 has 3 cells where the first has 2: .1,2,3."),
    "names twice": (text("a,a\n1,2\n3,4\n5,7\n"), "data.csv", "several columns named 'a'"),
    "Parquet cut off": (
        saved("x.parquet", parquet, -20),
        "x.parquet",
        "not a whole",
    ),
    "Parquet cut in half": (
        saved("x.parquet", parquet, 300),
        "x.parquet",
        "Parquet",
    ),
    "not Parquet": (text("a,b\n1,2\n" * 9, "x.parquet"), "x.parquet", "not a whole Parquet file"),
    "Arrow cut off": (saved("x.arrow", lambda s: pa.feather.write_feather(table(), s), -30), "x.arrow", "whole Arrow"),
    "NPY cut off": (saved("x.npy", npy(np.ones((50, 4))), -40), "x.npy", "npy file: it is cut off"),
    "NPY of objects": (saved("x.npy", npy(np.array([Trap()] * 4, dtype=object))), "x.npy", "Python objects"),
    "NPY of text": (saved("x.npy", npy(np.array([["a", "b"]] * 4))), "x.npy", "numbers are needed"),
    "NPY of one dimension": (saved("x.npy", npy(np.arange(9.0))), "x.npy", "two dimensions"),
    "NPZ damaged": (text(b"PK\3\4" + b"\0" * 50, "x.npz"), "x.npz", "not a usable .npz"),
    "NPZ of several": (saved("x.npz", lambda s: np.savez(s, u=np.ones((4, 2)), v=np.ones(4))), "x.npz", "--array NAME"),
    "NPZ that lies": (saved("x.npz", archive((10**13, 2))), "x.npz", "'X.npy' is cut off"),
    "MTX garbage": (text("%%MatrixMarket nonsense\n1 2 3\n", "x.mtx"), "x.mtx", "Matrix Market"),
    "MTX that lies": (
        text("%%MatrixMarket matrix coordinate real general\n9 9 99999\n1 1 1\n", "x.mtx"),
        "x.mtx",
        "declares 99999 entries",
    ),
    "picture cut off": (saved("x.png", png, 200), "x.png", "not a whole picture"),
    "not a picture": (text("hello", "x.png"), "x.png", "not a whole picture"),
    "folder without pictures": (lambda folder: (folder / "empty").mkdir(), "empty", "holds no pictures"),
    "pictures of two sizes": (pictures, ".", "several sizes: .*--image"),
    "a quote never closed": (text('a,b\n1,2\n"3,4\n5,6\n'), "data.csv", "line 3 has 1 cell where"),
    "a line without end": (text("a,b\n1," + "9" * 3_000_000 + "\n2,3\n"), "data.csv", "longer than a megabyte"),
    "JSON": (text('[{"a": 1},\n{"a": 2}]'), "data.csv", "holds JSON"),
    "a web page": (text("<!DOCTYPE html>\n<html>404</html>"), "data.csv", "holds a web page"),
    "dates only": (text("d\n2020-01-01\n2020-01-02\n"), "data.csv", "dates or times, not numbers.*that differ"),
    "all rows alike": (text("a,b\n" + "1,2\n" * 9), "data.csv", "All rows are the same", "--columns", "a,b"),
    "rows of zeros": (text("a,b\n" + "1,2\n0,0\n" * 9), "data.csv", "9 rows of zeros.*row 2:", "--metric", "cosine"),
    "a sheet": (text(b"PK\3\4", "x.xls"), "x.xls", "Save the sheet as CSV"),
    "a broken sheet": (text(b"PK\3\4", "x.xlsx"), "x.xlsx", "not a whole .xlsx file|needs openpyxl.*lapmodes.excel"),
    "JSON cut off": (text('[{"a": 1}, {"a"', "x.json"), "x.json", "array of records.*Repair it"),
    "JSON of one record": (text('{"a": 1}', "x.json"), "x.json", "array of records.*it is one dict"),
    "JSON of numbers": (text("[1, 2]", "x.json"), "x.json", "number 1 is no record"),
    "JSON too deep": (text("[" * 100_000, "x.json"), "x.json", "array of records.*recursion"),
    "JSON lines cut off": (text('{"a": 1}\n{"a"', "x.jsonl"), "x.jsonl", "a record a line.*line 2: "),
    "JSON without records": (text("[]", "x.json"), "x.json", "0 rows"),
    "packed in another way": (text(b"7z", "x.7z"), "x.7z", "Unpack it first"),
    "no gzip": (text(GOOD, "x.csv.gz"), "x.csv.gz", "not a whole .gz file"),
    "gzip cut off": (text(gzip.compress(GOOD.encode())[:-30], "x.csv.gz"), "x.csv.gz", "not a whole .gz file"),
    "no Zstandard": (text(GOOD, "x.csv.zst"), "x.csv.zst", "not a whole .zst file"),
    "no zip": (text(GOOD, "x.zip"), "x.zip", "not a whole .zip file"),
    "zip of two tables": (packed("a.csv", "b.csv"), "x.zip", "exactly one table. It holds 2 files"),
    "zip of nothing": (packed(), "x.zip", "exactly one table. It holds 0 files"),
    "zip of a pickle": (packed("a.pkl"), "x.zip", "not read"),
    "zip of Parquet": (packed("a.parquet"), "x.zip", "holds a .parquet file, which is not read packed"),
    "a pickle": (text(pickle.dumps(Trap()), "x.pkl"), "x.pkl", "never read"),
    "Parquet with names twice": (
        saved("x.parquet", lambda s: pa.parquet.write_table(pa.Table.from_arrays([table()["a"]] * 2, ["a", "a"]), s)),
        "x.parquet",
        "several columns named 'a'",
    ),
    "NPY without rows": (saved("x.npy", npy(np.ones((0, 5)))), "x.npy", r"shape \(0, 5\), without any value"),
    "NPZ without arrays": (saved("x.npz", np.savez), "x.npz", "holds no array"),
    "sparse out of range": (saved("x.npz", broken_sparse), "x.npz", "not a usable .npz file: indices must be < 6"),
    "sparse without entries": (saved("x.npz", lambda s: save_npz(s, csr_array((9, 4)))), "x.npz", "All rows are"),
    "not an ordinary file": (lambda folder: os.mkfifo(folder / "x.csv"), "x.csv", "not an ordinary file"),
    "unknown ending": (text("1 2 3", "x.xyz"), "x.xyz", "kind of file that is not read"),
    "missing": (lambda folder: None, "nowhere.csv", "There is no file 'nowhere.csv'"),
    "fewer rows than clusters": (text("a,b\n1,2\n3,5\n4,4\n"), "data.csv", "3 rows cannot make 9 clusters", "-k", "9"),
    "wrong delimiter": (text(GOOD.replace(",", ";")), "data.csv", "Is the delimiter right", "--delimiter", ","),
    "unknown column": (text(GOOD), "data.csv", "no column 'z'; the columns are a, b", "--columns", "z"),
    "wrong parameter": (text(GOOD), "data.csv", "unexpected keyword argument 'lamda'", "--set", "lamda=3"),
    "parameter of 0.1": (text(GOOD), "data.csv", "'anchor'.*'prior_weight'", "--set", "anchor=1"),
    "wrong k": (text(GOOD), "data.csv", "-k must be a whole number", "-k", "three"),
    "wrong image shape": (text(GOOD), "data.csv", "have 16 pixels; the rows have 2", "--image", "4x4"),
}


def contents(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def assert_one_sentence(result, code, words, folder, before):
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1 and len(lines[0]) < 400, result.stderr
    assert re.search(words, lines[0]), lines[0]
    assert contents(folder) == before
    assert not (folder / "trapped").exists()


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data(kind, here, lapmodes):
    make, name, words, *options = BAD_DATA[kind]
    make(here)
    before = contents(here)
    result = lapmodes("fit", name, *(options if "-k" in options else ["-k", "2", *options]), "-o", "out")
    assert_one_sentence(result, INPUT, words, here, before)


@pytest.mark.parametrize("options", [["-k", "three"], ["--set", "lamda=3"], ["--lam", "nan"], ["--keep", "z"]])
def test_bad_options_are_told_before_anything_else(options, here, lapmodes):
    (here / "data.csv").write_text(GOOD)
    result = lapmodes("fit", "data.csv", *options)
    assert result.exit_code == INPUT
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("Error: ")


def test_zip_bomb_is_refused_by_its_declared_size(here, lapmodes, monkeypatch):
    np.savez_compressed(here / "bomb.npz", X=np.zeros((1000, 10_000)))
    assert (here / "bomb.npz").stat().st_size < 200_000
    monkeypatch.setattr(_archives, "available_memory", lambda: 2**20)
    result = lapmodes("fit", "bomb.npz", "-k", 2)
    assert_one_sentence(result, INPUT, "unpacks to 0.1 GiB", here, ["bomb.npz"])


def link(folder):
    (folder / "elsewhere").mkdir()
    (folder / "out").symlink_to(folder / "elsewhere")


def taken(folder):
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("precious")


BAD_OUTPUT = {
    "symbolic link": (link, "out", "symbolic link"),
    "folder with other files": (taken, "out", "holds other files"),
    "a file": (lambda folder: (folder / "out").write_text("precious"), "out", "is a file; a folder is needed"),
    "no such folder": (lambda folder: None, "no/where/out", "There is no folder"),
}


@pytest.mark.parametrize("kind", BAD_OUTPUT)
def test_bad_output(kind, here, lapmodes):
    make, output, words = BAD_OUTPUT[kind]
    (here / "data.csv").write_text(GOOD)
    make(here)
    before = contents(here)
    assert_one_sentence(lapmodes("fit", "data.csv", "-k", 2, "-o", output), INPUT, words, here, before)
    assert_one_sentence(lapmodes("path", "data.csv", "-k", 2, "-o", output), INPUT, ".", here, before)


def test_no_permission(here, lapmodes, monkeypatch):
    (here / "data.csv").write_text(GOOD)
    monkeypatch.setattr(atomic, "_writable", lambda folder: False)
    assert_one_sentence(lapmodes("fit", "data.csv", "-k", 2), INPUT, "cannot be written to", here, ["data.csv"])


@pytest.mark.parametrize("file", ["model.npz", "summary.json", "report.html"])
def test_no_space(here, lapmodes, monkeypatch, file):
    """The disk is full when this file is written: nothing of the whole folder stays."""
    (here / "data.csv").write_text(GOOD)
    sync = atomic._sync

    def full(path):
        if path.name == file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(path)

    monkeypatch.setattr(atomic, "_sync", full)
    assert_one_sentence(lapmodes("fit", "data.csv", "-k", 2), OUTPUT, "No space left", here, ["data.csv"])


@pytest.fixture
def model_file(here):
    LaplacianKModes(2, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 2))).save(here / "model.npz")
    (here / "data.csv").write_text(GOOD)
    return here / "model.npz"


def resaved(**changes):
    """The model with some of its arrays replaced."""

    def damage(path):
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        np.savez(path, **(arrays | changes))

    return damage


def with_header(**changes):
    """The model with some entries of its header replaced."""

    def damage(path):
        with np.load(path) as stored:
            header = json.loads(str(stored["header"][()]))
        resaved(header=np.asarray(json.dumps(header | changes)))(path)

    return damage


BAD_MODELS = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not a model"),
    "a pickle": lambda path: path.write_bytes(pickle.dumps(Trap())),
    "objects": lambda path: np.savez(path, header=np.array([Trap()], dtype=object)),
    "one array of objects": resaved(X=np.array([Trap()], dtype=object)),
    "notes that are none": with_header(notes=["recipe"]),
    "a recipe that is text": with_header(notes={"recipe": "cook slowly"}),
    "a recipe that is none": with_header(notes={"recipe": '{"class": "os.system"}'}),
    "an unknown class": with_header(**{"class": "os.system"}),
    "arrays that do not fit": resaved(X=np.ones((7, 7))),
}


@pytest.mark.parametrize("kind", BAD_MODELS)
def test_bad_model(kind, model_file, lapmodes, here):
    BAD_MODELS[kind](model_file)
    before = contents(here)
    result = lapmodes("predict", "model.npz", "data.csv")
    assert_one_sentence(result, INPUT, "not a lapmodes model, or it is damaged|is empty|preparation", here, before)


def test_predict_names_what_is_missing(here, lapmodes, model_file):
    (here / "data.csv").write_text(GOOD)
    assert lapmodes("fit", "data.csv", "-k", 2, "--no-report").exit_code == 0
    (here / "other.csv").write_text("a,c\n1,2\n")
    (here / "three.npy").write_bytes(b"")
    np.save(here / "three.npy", np.ones((5, 3)))
    before = contents(here)
    model = "data.lapmodes"
    assert_one_sentence(lapmodes("predict", model, "other.csv"), INPUT, "no column 'b'", here, before)
    assert_one_sentence(lapmodes("predict", model, "three.npy"), INPUT, "columns by name", here, before)
    assert_one_sentence(lapmodes("predict", "model.npz", "three.npy"), INPUT, "knows 2 columns. Got 3", here, before)
    assert_one_sentence(lapmodes("predict", model, "data.csv", "-o", "data.csv"), INPUT, "exists", here, before)
    assert_one_sentence(lapmodes("predict", "data.csv", model), INPUT, "'data.csv' is no model", here, before)
    words = ("predict", model, "data.csv", "-o", "data.csv", "--overwrite")
    assert_one_sentence(lapmodes(*words), INPUT, "is the input", here, before)


@pytest.mark.parametrize(
    ("option", "code", "words"),
    [("--affinity", USAGE, "--affinity self-tuning"), ("--bandwidth", INPUT, "--bandwidth entropic")],
)
def test_old_words_name_the_new_ones(option, code, words, here, lapmodes):
    (here / "data.csv").write_text(GOOD)
    result = lapmodes("fit", "data.csv", "-k", 2, option, "adaptive")
    assert result.exit_code == code
    assert words in " ".join(result.stderr.split()) and contents(here) == ["data.csv"]


@pytest.mark.parametrize("config", ["k = ", 'nonsense = "x"', 'command = "segment"'])
def test_bad_configuration_is_a_usage_error(config, here, lapmodes):
    (here / "data.csv").write_text(GOOD)
    (here / "run.toml").write_text(config)
    result = lapmodes("fit", "data.csv", "-k", 2, "--config", "run.toml")
    assert result.exit_code == USAGE
    assert "run.toml" in result.stderr and "Traceback" not in result.output
    assert contents(here) == ["data.csv", "run.toml"]
