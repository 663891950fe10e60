"""Files made to break readers: each was a crash, gigabytes, a minute or an unexpected error, and is a sentence now."""

from __future__ import annotations

import gzip
import io
import json
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array, csc_array, csr_array, random, save_npz

import lapmodes
from lapmodes.files import FileError, Reading, batches, read
from lapmodes.files.matrices import checked_rows

N = 50


def table():
    words = [f"k{i % 3}" for i in range(N)]
    return pa.table(
        {
            "a": np.arange(N) * 1.0,
            "kind": words,
            "code": pa.array(words).dictionary_encode(),
            "lists": pa.array([[1.0, 2.0, 3.0]] * N, type=pa.list_(pa.float64())),
        }
    )


def shifted(content, column, by):
    """The file with the offsets, or the codes, of a column moved by a number."""
    array = table()[column].combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    buffer = array.indices.buffers()[1] if column == "code" else array.buffers()[1]
    run = buffer.to_pybytes()[: 4 * N]
    at = content.find(run)
    assert at > 0
    moved = (np.frombuffer(run, dtype="<i4").astype(np.int64) + by).astype("<i4").tobytes()
    return content[:at] + moved + content[at + len(run) :]


def arrow_file():
    out = io.BytesIO()
    with pa.ipc.new_file(out, table().schema) as writer:
        writer.write_table(table())
    return out.getvalue()


@pytest.mark.parametrize("by", [5, 10**4, 10**8, 2**31 - 200])
@pytest.mark.parametrize("column", ["kind", "code", "lists"])
@pytest.mark.parametrize("ending", [".feather", ".arrow", ".ipc"])
def test_offsets_of_an_arrow_file_are_checked(tmp_path, ending, column, by):
    """Larger ones crashed the process; smaller ones read memory that was not the column's."""
    file = tmp_path / f"x{ending}"
    file.write_bytes(shifted(arrow_file(), column, by))
    with pytest.raises(FileError, match="is not a whole Arrow file"):
        read(file)
    with pytest.raises(FileError, match="is not a whole Arrow file"):
        list(batches(file, Reading(), ["a"], [column]))


def test_columns_that_are_not_asked_for_are_not_looked_at(tmp_path):
    (tmp_path / "x.feather").write_bytes(shifted(arrow_file(), "kind", 10**8))
    (piece,) = batches(tmp_path / "x.feather", Reading(), ["a"])
    assert piece.columns.column("a").to_pylist() == list(range(N))


def test_every_arrow_table_is_validated(tmp_path, monkeypatch):
    """Parquet's reader checks most things itself; what it returns is validated all the same."""
    import pyarrow.parquet as pq

    from lapmodes.files import records

    pq.write_table(table(), tmp_path / "x.parquet")
    seen = []
    monkeypatch.setattr(records, "_checked", lambda columns: seen.append(columns.num_rows) or columns)
    read(tmp_path / "x.parquet")
    list(batches(tmp_path / "x.parquet", Reading(), ["a"]))
    assert seen == [N, N]


def sparse_archive(kind, **changes):
    """A sparse matrix as SciPy saves it, parts of it replaced."""
    X = {"csr": csr_array, "csc": csc_array, "coo": coo_array}[kind](np.eye(4))
    out = io.BytesIO()
    save_npz(out, X)
    with np.load(io.BytesIO(out.getvalue())) as stored:
        parts = {name: stored[name] for name in stored.files} | changes
    out = io.BytesIO()
    np.savez(out, **parts)
    return out.getvalue()


SPARSE = {
    "column too large": ("csr", {"indices": np.array([0, 1, 2, 10**8])}),
    "row too large": ("csc", {"indices": np.array([0, 1, 2, 10**8])}),
    "negative row": ("csc", {"indices": np.array([0, 1, 2, -(10**8)])}),
    "pointers fall": ("csr", {"indptr": np.array([0, 3, 1, 3, 4])}),
    "pointers beyond the end": ("csc", {"indptr": np.array([0, 1, 2, 3, 10**9])}),
    "negative pointer": ("csr", {"indptr": np.array([-5, 1, 2, 3, 4])}),
    "place outside": ("coo", {"row": np.array([0, 1, 2, 10**8])}),
    "negative place": ("coo", {"col": np.array([0, 1, 2, -1])}),
    "rows without end": ("csc", {"shape": np.array([10**12, 4])}),
    "unknown kind": ("csr", {"format": np.array(b"dia")}),
    "no shape": ("csr", {"shape": np.array([4])}),
}


@pytest.mark.parametrize("name", SPARSE)
def test_indices_of_sparse_matrices_are_checked(tmp_path, name):
    kind, changes = SPARSE[name]
    (tmp_path / "x.npz").write_bytes(sparse_archive(kind, **changes))
    with pytest.raises(FileError):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_honest_sparse_matrices_are_read(tmp_path, kind):
    (tmp_path / "x.npz").write_bytes(sparse_archive(kind))
    assert np.array_equal(read(tmp_path / "x.npz").matrix.toarray(), np.eye(4))


def test_rows_are_checked_before_native_code_sees_them():
    wrong = csc_array(np.eye(3))
    wrong.indices[:] = 10**9
    with pytest.raises(ValueError, match="ind"):
        checked_rows(wrong)


@pytest.mark.parametrize("group", ["X", "obsp/connectivities"])
@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_indices_of_h5ad_files_are_checked(tmp_path, group, part):
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    W = csr_array(np.eye(6)).tocsc()
    anndata.AnnData(X=W.astype(np.float32), obsp={"connectivities": csr_array(np.eye(6))}).write_h5ad(
        tmp_path / "x.h5ad"
    )
    with h5py.File(tmp_path / "x.h5ad", "r+") as stored:
        stored[f"{group}/{part}"][1:] = 10**8
    with pytest.raises(FileError):
        read(tmp_path / "x.h5ad")


@pytest.mark.parametrize("link", ["external", "soft", "huge"])
def test_h5ad_files_are_whole_in_themselves(tmp_path, link):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    with h5py.File(tmp_path / "x.h5ad", "w") as stored:
        if link == "huge":
            stored.create_dataset("X", shape=(10**9, 100), dtype="f8", chunks=(100, 100))
        else:
            stored["X"] = h5py.ExternalLink("/etc/passwd", "/X") if link == "external" else h5py.SoftLink("/Y")
    with pytest.raises(FileError, match=r"link to somewhere else|unpacks to"):
        read(tmp_path / "x.h5ad")


MARKET = "%%MatrixMarket matrix coordinate real general\n"
MARKETS = {
    "letters": MARKET + "3 3 2\n1 1 x\n2 2 1\n",
    "too few": MARKET + "3 3 2\n1 1 1\n",
    "too many": MARKET + "3 3 1\n1 1 1\n2 2 2\n",
    "outside": MARKET + "3 3 1\n9 1 1\n",
    "before": MARKET + "3 3 1\n0 1 1\n",
    "not whole": MARKET + "3 3 1\n1.5 1 1\n",
    "rows without end": MARKET + "1000000000000 3 1\n1 1 1\n",
    "entries without end": MARKET + "3 3 99999999999\n1 1 1\n",
    "sizes too long for a number": MARKET + f"3 {'9' * 5000} 1\n1 1 1\n",
    "negative": MARKET + "3 -3 1\n1 1 1\n",
    "no sizes": MARKET,
    "complex": "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
    "half an array": "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
    "an array of words": "%%MatrixMarket matrix array real general\n2 1\na b\nc\n",
    "not square": "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
    "something else": "hello\n",
}


@pytest.mark.parametrize("name", MARKETS)
def test_broken_matrix_market_files(tmp_path, name):
    """SciPy's reader crashes on some of these."""
    (tmp_path / "x.mtx").write_text(MARKETS[name])
    with pytest.raises(FileError, match="is not a whole Matrix Market file"):
        read(tmp_path / "x.mtx")


@pytest.mark.parametrize("layout", ["coordinate", "array"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrix_market_files_are_read_as_scipy_reads_them(tmp_path, layout, symmetry):
    A = random(9, 9, density=0.5, random_state=0).toarray().round(3)
    A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    mmwrite(tmp_path / "x.mtx", csr_array(A) if layout == "coordinate" else A, symmetry=symmetry)
    matrix = read(tmp_path / "x.mtx").matrix
    found = matrix.toarray() if layout == "coordinate" or symmetry != "general" else matrix
    expected = mmread(tmp_path / "x.mtx")
    assert np.array_equal(found, expected.toarray() if layout == "coordinate" else expected)


HEADERS = {
    "nested": "[" * 3000,
    "open": "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2",
    "a call": "{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (3, 2)}",
    "a type": "{'descr': '<f8'}",
    "no such type": "{'descr': '<q9', 'fortran_order': False, 'shape': (3, 2)}",
    "a size that is none": "{'descr': '<f8', 'fortran_order': False, 'shape': (3.5, 2)}",
    "a negative size": "{'descr': '<f8', 'fortran_order': False, 'shape': (-3, -2)}",
    "a size too large": "{'descr': '<f8', 'fortran_order': False, 'shape': (2**60, 2**60)}",
    "a large size": "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976, 16)}",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_arrays(tmp_path, name, packed):
    """They raised TokenError, RecursionError, OverflowError, TypeError and the like."""
    text = HEADERS[name].encode() + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0" * 48
    file = tmp_path / ("x.npz" if packed else "x.npy")
    if packed:
        with zipfile.ZipFile(file, "w") as out:
            out.writestr("X.npy", array)
    else:
        file.write_bytes(array)
    with pytest.raises(FileError, match="is not a usable"):
        read(file)
    if packed:
        with pytest.raises(ValueError, match="is not a lapmodes model"):
            lapmodes.load(file)


def zeros(stream, megabytes, packing):
    with zipfile.ZipFile(stream, "w", packing) as out, out.open("X.npy", "w", force_zip64=True) as part:
        shape = megabytes * 2**17, 1
        np.lib.format.write_array_header_1_0(part, {"descr": "<f8", "fortran_order": False, "shape": shape})
        for _ in range(megabytes):
            part.write(bytes(2**20))


BOMBS = {
    "x.npz": lambda file: zeros(file, 300, zipfile.ZIP_DEFLATED),
    "x.csv.gz": lambda file: file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (2**26 + 1), 1)),
    "x.png": lambda file: Image.new("RGB", (9000, 9000)).save(file),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_do_not_become_large(tmp_path, name):
    from lapmodes.files.matrices import read_pixels

    BOMBS[name](tmp_path / name)
    with pytest.raises(FileError, match="unpacks to"):
        read_pixels(tmp_path / name) if name.endswith(".png") else read(tmp_path / name)


def test_rows_of_a_sheet_are_counted(tmp_path):
    """A row with the number 10^9 made the reader count to it."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.save(tmp_path / "x.xlsx")
    with zipfile.ZipFile(tmp_path / "x.xlsx") as old:
        parts = {name: old.read(name) for name in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'r="2"', b'r="999999999"').replace(b'"A2"', b'"A999999999"')
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as new:
        for name, part in parts.items():
            new.writestr(name, part)
    with pytest.raises(FileError, match="more than 1,048,576 rows"):
        read(tmp_path / "x.xlsx")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000, f"[{'9' * 5000}]"])
def test_nested_or_endless_json(tmp_path, text):
    for name in ("x.json", "x.jsonl"):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match="must hold JSON"):
            read(tmp_path / name)


def test_nested_configurations(lapmodes, here, blobs_csv):
    (here / "run.toml").write_text("set = " + "[" * 100_000)
    done = lapmodes("fit", "blobs.csv", "--config", "run.toml")
    assert done.exit_code == 2 and "nested too deeply" in done.output.replace("\n", " ")


def test_nested_headers_of_models(tmp_path, told_model):
    told_model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["header"] = np.asarray("[" * 100_000)
    np.savez(tmp_path / "model.npz", **arrays)
    with pytest.raises(ValueError, match="is not a lapmodes model"):
        lapmodes.load(tmp_path / "model.npz")


BAD_VALUES = {
    "C": lambda array: array * np.inf,
    "X": lambda array: array * 1e300,
    "Z": lambda array: array * 2,
    "prior": lambda array: -array,
    "bandwidth": lambda array: array * 0,
    "graph_data": lambda array: -array,
    "affinity_scale": lambda array: array * 0,
    "history": lambda array: array["gap"],
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_values_that_no_fit_has(tmp_path, told_model, name):
    """Such models were loaded, and answered with NaN or with rows off the simplex."""
    told_model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as stored:
        arrays = {key: stored[key] for key in stored.files}
    with np.errstate(all="ignore"):
        arrays[name] = BAD_VALUES[name](arrays[name])
    np.savez(tmp_path / "model.npz", **arrays)
    with pytest.raises(ValueError, match="is not a lapmodes model"):
        lapmodes.load(tmp_path / "model.npz")


def test_the_header_of_a_model_cannot_ask_for_endless_threads(tmp_path, told_model, told_rows):
    told_model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as stored:
        arrays = {key: stored[key] for key in stored.files}
    header = json.loads(str(arrays["header"][()]))
    header["parameters"]["n_jobs"] = 10**9
    arrays["header"] = np.asarray(json.dumps(header))
    np.savez(tmp_path / "model.npz", **arrays)
    assert np.array_equal(lapmodes.load(tmp_path / "model.npz").predict(told_rows), told_model.labels_)


INTERRUPTED = """
import os, signal, sys
import builtins
real = builtins.__import__
def slow(name, *rest, **more):
    if name == sys.argv[1]:
        sys.argv[1:] = ["info"]
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest, **more)
builtins.__import__ = slow
from lapmodes.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["typer", "fit", "terminal"])
def test_an_interruption_during_imports_shows_no_traceback(module):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True)
    assert done.returncode == 130 and done.stderr.strip() == "Interrupted: nothing was written."


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "fine", "a=b", ""]


@pytest.fixture
def formulas_csv(here):
    rows = "\n".join(f'{i % 2 * 9 + i / 50},{i % 7},"{FORMULAS[i % 8]}",x{i}' for i in range(40))
    (here / "data.csv").write_text(f"a,b,=kind,name\n{rows}\n")
    return here / "data.csv"


def texts(file, column):
    import csv

    with open(file, newline="") as stream:
        return [row[column] for row in csv.DictReader(stream)]


def test_formulas_are_marked_as_text_where_that_is_asked_for(lapmodes, here, formulas_csv):
    words = ("-k", "2", "--keep", "=kind,name", "--no-report", "-q")
    assert lapmodes("fit", "data.csv", *words, "-o", "plain").exit_code == 0
    assert lapmodes("fit", "data.csv", *words, "-o", "safe", "--no-formulas").exit_code == 0
    assert lapmodes("predict", "safe", "data.csv", "-o", "p.csv", "--keep", "=kind", "--no-formulas").exit_code == 0
    as_is = [FORMULAS[i % 8] for i in range(40)]
    marked = [f"'{text}" if text[:1] in tuple("=+-@\t") and text else text for text in as_is]
    assert [text.strip() for text in texts(here / "plain" / "assignments.csv", "=kind")] == [t.strip() for t in as_is]
    assert texts(here / "safe" / "assignments.csv", "'=kind") == marked
    assert texts(here / "p.csv", "'=kind") == marked
    assert texts(here / "safe" / "assignments.csv", "name") == [f"x{i}" for i in range(40)]
    assert all(text[:1] not in tuple("=+-@") for text in texts(here / "safe" / "exemplars.csv", "'=kind") if text)
    assert "no_formulas = true" in (here / "safe" / "parameters.toml").read_text()


def test_only_delimited_text_is_marked():
    from lapmodes.files.results import without_formulas

    columns = pa.table({"=a": ["=1", None], "b": [-1.0, 2.0]})
    assert without_formulas(columns, ".parquet") is columns
    marked = without_formulas(columns, ".csv")
    assert marked.to_pydict() == {"'=a": ["'=1", None], "b": [-1.0, 2.0]}
