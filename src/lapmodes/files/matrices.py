"""Matrices of numbers: NumPy's `.npy` and `.npz`, Matrix Market text, AnnData's `.h5ad`, and pictures."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from .._archives import array_header, check_archive, check_fits
from .._records import Array
from .base import FileError, Format, Reading, Table, first_line, listed, require

SPARSE_NAMES = {"format", "shape", "data"}
"""An `.npz` with these arrays was written by SciPy's save_npz."""
USUAL_NAMES = ("X", "x", "data", "arr_0", "features", "embeddings")
ENTRY_BYTES = 16
"""Bytes of a stored number of a sparse matrix with its place."""
ANNDATA = "Reading and writing .h5ad files"
GRAPH = "connectivities"
PREFERRED = "X_pca"
PICTURES = "Reading and writing pictures"
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def read_npy(path: Path, reading: Reading) -> Table:
    """The array, which stays on the disk until it is used."""
    return as_table(path, _memory_map(path))


def npy_batches(
    path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int
) -> Iterator[Table]:
    """Rows of an array, piece by piece."""
    array = _memory_map(path)
    for start in range(0, len(array), rows):
        yield as_table(path, np.array(array[start : start + rows]))


def read_npz(path: Path, reading: Reading) -> Table:
    """A sparse matrix; of several arrays the one named, or the one with a usual name."""
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as stored:
            if set(stored.files) >= SPARSE_NAMES:
                return Table(matrix=_load_sparse(path))
            return as_table(path, stored[_array_name(path, stored.files, reading.array)])
    except FileError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise FileError(f"{str(path)!r} is not a usable .npz file: {first_line(error)}.") from error


def read_matrix_market(path: Path, reading: Reading) -> Table:
    """The matrix as CSR, its rows being the samples."""
    from scipy.io import mminfo, mmread

    try:
        rows, columns, entries, layout, field, _ = mminfo(path)
        if field == "complex":
            raise ValueError("it holds complex numbers")
        if layout == "coordinate" and entries > path.stat().st_size:
            raise ValueError(f"it declares {entries} entries but is too short to hold them")
        check_fits(ENTRY_BYTES * entries + 8 * (rows + columns))
        return Table(matrix=csr_array(mmread(path)))
    except (ValueError, OSError, OverflowError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole Matrix Market file: {first_line(error)}.") from error


def read_h5ad(path: Path, reading: Reading) -> Table:
    """Principal components if there are any, else X; and the neighbour graph in `obsp`."""
    anndata = require("anndata", "singlecell", ANNDATA)
    try:
        data = anndata.read_h5ad(path)
    except (TypeError, KeyError, AttributeError) as error:
        raise FileError(f"{str(path)!r} lacks the parts of an AnnData file.") from error
    except Exception as error:  # h5py and anndata raise many kinds
        raise FileError(f"{str(path)!r} is not a whole .h5ad file: {first_line(error)}.") from error
    matrix, names, source = _representation(path, data, reading.array)
    graph = data.obsp.get(GRAPH)
    return Table(
        matrix=matrix,
        names=names,
        graph=None if graph is None else _symmetric(graph),
        row_names=tuple(map(str, data.obs_names)),
        note=f"Read {source}" + ("" if graph is None else f" and the graph obsp[{GRAPH!r}]"),
    )


def write_h5ad(
    path: Path, labels: Array, Z: Any, row_names: tuple[str, ...] | None, called: Array | None = None
) -> None:
    """An AnnData of the soft assignments, with the clusters, and what each row's is called, in `obs`."""
    anndata = require("anndata", "singlecell", ANNDATA)
    pandas = require("pandas", "singlecell", ANNDATA)
    index = pandas.Index(row_names or [str(i) for i in range(len(labels))], dtype=str)
    clusters = [str(k) for k in range(Z.shape[1])]
    obs = pandas.DataFrame({"cluster": pandas.Categorical(labels.astype(str), categories=clusters)}, index=index)
    if called is not None:
        obs["cluster_name"] = called.tolist()
    names = pandas.DataFrame(index=pandas.Index([f"cluster_{k}" for k in clusters], dtype=str))
    anndata.AnnData(X=csr_matrix(Z) if issparse(Z) else np.asarray(Z), obs=obs, var=names).write_h5ad(path)


NPY = Format(read_npy, npy_batches)
NPZ = Format(read_npz)
MATRIX_MARKET = Format(read_matrix_market)
H5AD = Format(read_h5ad)


def as_table(path: Path, array: Array) -> Table:
    """Rows of numbers; an array of more than two dimensions is a stack of pictures or the like."""
    if array.ndim < 2:
        raise FileError(
            f"{str(path)!r} holds an array of shape {array.shape}; rows and columns (two dimensions) are needed."
        )
    if array.dtype.kind not in "fiub":
        raise FileError(f"{str(path)!r} holds {array.dtype.name} values; numbers are needed.")
    if array.size == 0:
        raise FileError(f"{str(path)!r} holds an array of shape {array.shape}, without any value.")
    shape = array.shape[1:] if array.ndim > 2 else None
    if shape is not None and not (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)):
        shape = None
    return Table(matrix=array.reshape(len(array), -1), image_shape=shape)


def _memory_map(path: Path) -> Any:
    try:
        with open(path, "rb") as stream:
            array_header(stream)
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        why = "it is cut off" if "mmap length" in str(error) else first_line(error)
        raise FileError(f"{str(path)!r} is not a usable .npy file: {why}.") from error


def _array_name(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """The array to read, of those in an `.npz`."""
    if wanted is not None:
        if wanted in names:
            return wanted
        raise FileError(f"{str(path)!r} has no array {wanted!r}; it has {listed(sorted(names))}.")
    if not names:
        raise FileError(f"{str(path)!r} holds no array.")
    if len(names) == 1:
        return names[0]
    for name in USUAL_NAMES:
        if name in names:
            return name
    raise FileError(f"{str(path)!r} has several arrays: {listed(sorted(names))}. Choose one with --array NAME.")


def _load_sparse(path: Path) -> Any:
    from scipy.sparse import load_npz

    matrix = csr_array(load_npz(path))
    matrix.check_format(full_check=True)
    return matrix


def _symmetric(graph: Any) -> Any:
    """The larger of both directions: some tools store one only."""
    graph = csr_array(graph)
    return graph.maximum(graph.T)


def _representation(path: Path, data: Any, wanted: str | None) -> tuple[Any, tuple[str, ...], str]:
    """The matrix of an AnnData to cluster, the names of its columns, and where it was found."""
    choice = wanted or (PREFERRED if PREFERRED in data.obsm else "X")
    if choice == "X" and data.X is not None:
        return data.X, tuple(map(str, data.var_names)), "X"
    if choice in data.layers:
        return data.layers[choice], tuple(map(str, data.var_names)), f"layers[{choice!r}]"
    if choice in data.obsm:
        matrix = np.asarray(data.obsm[choice])
        return matrix, tuple(f"{choice}_{i + 1}" for i in range(matrix.shape[1])), f"obsm[{choice!r}]"
    offered = (["X"] if data.X is not None else []) + [*data.layers, *data.obsm]
    raise FileError(f"{str(path)!r} has no {choice!r}; it has {listed(offered)}.")


def read_pixels(path: Path, size: tuple[int, int] | None = None, *, gray: bool = False) -> Array:
    """A picture as (height, width) or (height, width, 3) of uint8; transparency is laid over white."""
    image_module = require("PIL.Image", "cli", PICTURES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", image_module.DecompressionBombWarning)
            with image_module.open(path) as image:
                image.load()
                if image.mode in ("RGBA", "LA", "P", "PA"):
                    over = image.convert("RGBA")
                    image = image_module.alpha_composite(image_module.new("RGBA", over.size, "white"), over)
                image = image.convert("L" if gray or image.mode in ("1", "L", "I", "I;16", "F") else "RGB")
                return np.asarray(image if size is None else image.resize(size[::-1]))
    except (image_module.DecompressionBombError, image_module.DecompressionBombWarning) as error:
        raise FileError(f"{str(path)!r} has too many pixels to be opened safely: {first_line(error)}.") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole picture: {first_line(error)}.") from error


def read_folder(path: Path, reading: Reading) -> Table:
    """Each picture of a folder as a row; all must have one size, or be brought to one."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in PICTURE_ENDINGS and file.is_file())
    if not files:
        raise FileError(f"The folder {str(path)!r} holds no pictures.")
    pictures = [read_pixels(file, reading.size) for file in files]
    sizes = {picture.shape[:2] for picture in pictures}
    if len(sizes) > 1:
        odd = [f"{w} x {h}" for h, w in sorted(sizes)]
        raise FileError(f"The pictures in {str(path)!r} have several sizes: {listed(odd)}. Use --image 32x32.")
    if len({picture.ndim for picture in pictures}) > 1:  # some grey, some coloured
        pictures = [np.dstack([each] * 3) if each.ndim == 2 else each for each in pictures]
    stack = np.stack(pictures)
    rows = stack.reshape(len(files), -1).astype(np.float32) / 255
    return Table(matrix=rows, image_shape=stack.shape[1:], row_names=tuple(file.name for file in files))


def write_png(path: Path, pixels: Array) -> None:
    """An array of uint8 as a picture."""
    require("PIL.Image", "cli", PICTURES).fromarray(pixels).save(path, format="PNG")
