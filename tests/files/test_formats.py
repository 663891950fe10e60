"""Every format: what is written is read again, whole or piece by piece."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from lapmodes import _archives
from lapmodes.files import FileError, Reading, batches, formats, read
from lapmodes.files.results import sink, write_columns

COLUMNS = {"a": np.arange(50.0) / 8, "b": np.arange(50) % 7, "word": [f"w{i}" for i in range(50)]}


@pytest.mark.parametrize("suffix", formats.TABLE_FORMATS)
def test_tables_come_back_whole_and_in_pieces(tmp_path, suffix):
    file = tmp_path / f"x{suffix}"
    write_columns(file, COLUMNS)
    whole = read(file).columns
    assert whole.to_pydict() == {name: list(values) for name, values in COLUMNS.items()}
    pieces = [piece.columns for piece in batches(file, Reading(), ["b", "a"], ["word"], rows=12)]
    assert pa.concat_tables(pieces).to_pydict() == whole.select(["word", "b", "a"]).to_pydict()


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("folder/", "")
        out.writestr("folder/x.csv", content)
        out.writestr("__MACOSX/folder/._x.csv", "what macOS adds")
    return stream.getvalue()


PACKINGS = {
    "x.csv.gz": gzip.compress,
    "x.gz": lambda content: gzip.compress(content[:99]) + gzip.compress(content[99:]),
    "x.csv.zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
    "x.csv.zip": zipped,
}


@pytest.mark.parametrize("name", PACKINGS)
def test_packed_tables_are_read_as_they_would_be_unpacked(tmp_path, name):
    write_columns(tmp_path / "x.csv", COLUMNS)
    (tmp_path / name).write_bytes(PACKINGS[name]((tmp_path / "x.csv").read_bytes()))
    whole = read(tmp_path / "x.csv").columns
    assert read(tmp_path / name).columns.equals(whole)
    pieces = [piece.columns for piece in batches(tmp_path / name, Reading(), ["b", "a"], ["word"], rows=12)]
    assert pa.concat_tables(pieces).to_pydict() == whole.select(["word", "b", "a"]).to_pydict()


@pytest.mark.parametrize("name", PACKINGS)
def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, name, monkeypatch):
    (tmp_path / name).write_bytes(PACKINGS[name](b"a,b\n" + b"0,0\n" * 1_000_000))
    monkeypatch.setattr(_archives, "available_memory", lambda: 2**20)
    with pytest.raises(FileError, match=r"more than the .* of free memory"):
        read(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mtx"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_assignments_come_back_as_matrices(tmp_path, suffix, kind):
    Z = np.random.default_rng(0).dirichlet(np.ones(3), 40).round(2)
    file = tmp_path / f"z{suffix}"
    with sink(file, 3) as out:
        for part in (slice(0, 25), slice(25, 40)):
            out.write(Z[part].argmax(axis=1), kind(Z[part]))
    matrix = read(file, Reading(array="assignments" if suffix == ".npz" else None)).matrix
    np.testing.assert_allclose(matrix.toarray() if sp.issparse(matrix) else matrix, Z)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_sparse_and_dense_assignments_are_written_alike(tmp_path, suffix):
    Z = np.random.default_rng(0).dirichlet(np.full(4, 0.1), 30)
    kept = pa.table({"id": np.arange(30)})
    for name, rows in (("dense", Z), ("sparse", sp.csr_array(Z))):
        with sink(tmp_path / f"{name}{suffix}", 4) as out:
            out.write(Z.argmax(axis=1), rows, kept)
    dense, sparse = (read(tmp_path / f"{name}{suffix}").columns for name in ("dense", "sparse"))
    assert dense.column_names == ["id", "cluster", "cluster_0", "cluster_1", "cluster_2", "cluster_3"]
    assert dense.equals(sparse)


def test_an_array_is_read_in_pieces(tmp_path):
    X = np.arange(90.0).reshape(30, 3)
    np.save(tmp_path / "x.npy", X)
    pieces = [piece.matrix for piece in batches(tmp_path / "x.npy", Reading(), None, rows=7)]
    assert [len(piece) for piece in pieces] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate(pieces), X)


def test_an_unknown_column_is_named_before_anything_is_read(tmp_path):
    write_columns(tmp_path / "x.csv", COLUMNS)
    with pytest.raises(FileError, match="no column 'z'; the columns are a, b, word"):
        next(batches(tmp_path / "x.csv", Reading(), ["z"]))


def test_an_ending_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(FileError, match="no ending that can be written"), sink(tmp_path / "x.xyz", 2):
        pass
