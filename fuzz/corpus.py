"""Small valid files of every kind that is read: what mutations start from."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.io import mmwrite

ROWS = 40
Maker = Callable[[np.random.Generator], bytes]


def points(rng: np.random.Generator) -> np.ndarray:
    """Two groups of rows with three columns."""
    return rng.normal(size=(ROWS, 3)).round(3) + np.repeat([[0], [7]], ROWS // 2, axis=0)


def kinds(rng: np.random.Generator) -> list[str | None]:
    """Words, with gaps."""
    return [None if i == 3 else ["red", "grün", "=1+1", ""][i % 4] for i in range(ROWS)]


def csv(rng: np.random.Generator) -> bytes:
    """A table with an identifier, numbers and words."""
    sign = [",", ";", "\t"][int(rng.integers(3))]
    lines = [sign.join(["id", "a", "b", "c", "kind"])]
    lines += [
        sign.join([str(i), *map(str, row), str(kind)])
        for i, (row, kind) in enumerate(zip(points(rng), kinds(rng), strict=True))
    ]
    return ("\n".join(lines) + "\n").encode()


def table(rng: np.random.Generator):
    """An Arrow table with all that can be nested, shared or encoded."""
    import pyarrow as pa

    X, words = points(rng), kinds(rng)
    return pa.table(
        {
            "a": X[:, 0],
            "b": pa.array([*X[:, 1].tolist()[:-1], None]),
            "n": pa.array(range(ROWS), type=pa.int16()),
            "kind": words,
            "code": pa.array(words).dictionary_encode(),
            "vector": pa.array(X.tolist(), type=pa.list_(pa.float32())),
            "fixed": pa.array(X.tolist(), type=pa.list_(pa.float64(), 3)),
            "record": [{"x": i, "y": "t" * (i % 3)} for i in range(ROWS)],
            "yes": pa.array([i % 2 == 0 for i in range(ROWS)]),
            "big": pa.array(words, type=pa.large_string()),
        }
    )


def feather(rng: np.random.Generator) -> bytes:
    """An Arrow file, packed or not."""
    import pyarrow as pa

    out, packing = io.BytesIO(), [None, None, "lz4", "zstd"][int(rng.integers(4))]
    whole = table(rng)
    with pa.ipc.new_file(out, whole.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write_table(whole, max_chunksize=int(rng.integers(10, 50)))
    return out.getvalue()


def parquet(rng: np.random.Generator) -> bytes:
    """A Parquet file."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(
        table(rng),
        out,
        compression=["none", "snappy", "zstd", "gzip"][int(rng.integers(4))],
        use_dictionary=bool(rng.integers(2)),
        data_page_version=["1.0", "2.0"][int(rng.integers(2))],
    )
    return out.getvalue()


def records(rng: np.random.Generator) -> list[dict[str, object]]:
    """A record for each row."""
    return [{"a": x, "b": y, "kind": kind} for (x, y, _), kind in zip(points(rng).tolist(), kinds(rng), strict=True)]


def sheet(rng: np.random.Generator) -> bytes:
    """A workbook."""
    import openpyxl

    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["a", "b", "kind"])
    for record in records(rng):
        book.active.append(list(record.values()))
    book.save(out)
    return out.getvalue()


def saved(write: Callable[[io.BytesIO, np.random.Generator], object]) -> Maker:
    """What a function writes to a stream."""

    def make(rng: np.random.Generator) -> bytes:
        out = io.BytesIO()
        write(out, rng)
        return out.getvalue()

    return make


def sparse_npz(rng: np.random.Generator) -> bytes:
    """A sparse matrix of one of SciPy's kinds."""
    X = points(rng) * (rng.random((ROWS, 3)) < 0.6)
    kind = ["csr", "csc", "coo", "bsr", "dia"][int(rng.integers(5))]
    return saved(lambda out, _: sparse.save_npz(out, getattr(sparse, f"{kind}_array")(X), compressed=False))(rng)


def h5ad(rng: np.random.Generator) -> bytes:
    """An AnnData with sparse counts, components and a graph."""
    import tempfile
    import warnings
    from pathlib import Path

    import anndata

    counts = [sparse.csr_matrix, sparse.csc_matrix, np.asarray][int(rng.integers(3))](np.abs(points(rng)).round())
    W = sparse.csr_matrix(sparse.random(ROWS, ROWS, density=0.2, random_state=0))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(X=counts, obsm={"X_pca": points(rng)}, obsp={"connectivities": W.maximum(W.T)})
        data.write_h5ad(Path(folder) / "x.h5ad")
        return (Path(folder) / "x.h5ad").read_bytes()


def picture(kind: str) -> Maker:
    """A small picture of a random mode."""

    def make(rng: np.random.Generator) -> bytes:
        from PIL import Image

        out, mode = io.BytesIO(), ["L", "RGB"][int(rng.integers(2))]
        pixels = rng.integers(0, 255, size=(12, 16) if mode == "L" else (12, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(out, format=kind)
        return out.getvalue()

    return make


def model(rng: np.random.Generator) -> bytes:
    """A saved model of a random kind."""
    import tempfile
    import warnings
    from pathlib import Path

    from lapmodes import LaplacianKModes

    options = [
        {},
        {"bandwidth": "entropic"},
        {"affinity": "anchor"},
        {"sparse_assignments": True},
        {"metric": "cosine"},
    ]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = points(rng) * [1.0, 1.0, 1e-200, 1e200][int(rng.integers(4))]
        LaplacianKModes(2, random_state=0, n_jobs=1, **options[int(rng.integers(5))]).fit(X).save(
            Path(folder) / "m.npz"
        )
        return (Path(folder) / "m.npz").read_bytes()


def zipped(rng: np.random.Generator) -> bytes:
    """A packed table."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", csv(rng))
    return out.getvalue()


CORPUS: dict[str, Maker] = {
    "x.csv": csv,
    "x.tsv": csv,
    "x.csv.gz": lambda rng: gzip.compress(csv(rng)),
    "x.zip": zipped,
    "x.json": lambda rng: json.dumps(records(rng)).encode(),
    "x.jsonl": lambda rng: "\n".join(map(json.dumps, records(rng))).encode(),
    "x.xlsx": sheet,
    "x.feather": feather,
    "x.arrow": feather,
    "x.parquet": parquet,
    "x.npy": saved(lambda out, rng: np.save(out, points(rng).astype(["f4", "f8", "i4"][int(rng.integers(3))]))),
    "x.npz": saved(lambda out, rng: np.savez(out, X=points(rng), other=np.arange(3))),
    "sparse.npz": sparse_npz,
    "x.mtx": saved(lambda out, rng: mmwrite(out, sparse.coo_array(points(rng).round(2)))),
    "array.mtx": saved(lambda out, rng: mmwrite(out, points(rng))),
    "x.h5ad": h5ad,
    "x.png": picture("PNG"),
    "x.gif": picture("GIF"),
    "x.jpg": picture("JPEG"),
    "x.tif": picture("TIFF"),
    "x.webp": picture("WEBP"),
    "x.bmp": picture("BMP"),
}
"""Names, whose endings say what is read, and how such files are made."""
