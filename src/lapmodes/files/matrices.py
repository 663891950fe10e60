"""Matrices of numbers: NumPy's `.npy` and `.npz`, Matrix Market text, AnnData's `.h5ad`, and pictures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, issparse

from .._archives import check_archive, check_array_file, check_fits
from .._records import Array
from .base import FileError, Format, Reading, Table, first_line, listed, require
from .columns import plain_array
from .streams import Squeezed

SPARSE_NAMES = {"format", "shape", "data"}
"""An `.npz` with these arrays was written by SciPy's save_npz."""
COMPRESSED = {"csr": csr_array, "csc": csc_array}
USUAL_NAMES = ("X", "x", "data", "arr_0", "features", "embeddings")
ENTRY_BYTES = 16
"""Bytes of a stored number of a sparse matrix with its place."""
MARKET = "Reading Matrix Market files"
MARKET_LAYOUTS = {"coordinate": 3, "array": 2}
"""How many sizes each layout of a Matrix Market file has."""
MARKET_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
MARKET_SIGNS = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}
"""What an entry above the diagonal is of the one below it."""
ANNDATA = "Reading and writing .h5ad files"
GRAPH = "connectivities"
PREFERRED = "X_pca"
COPIES = 2
"""Of a picture that are held at once, at least."""
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
                return Table(matrix=checked_rows(_stored_sparse(path, stored)))
            return as_table(path, stored[_array_name(path, stored.files, reading.array)])
    except FileError:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise FileError(f"{str(path)!r} is not a usable .npz file: {first_line(error)}.") from error


def read_matrix_market(path: Path, reading: Reading) -> Table:
    """The matrix as CSR, or as an array, its rows being the samples."""
    try:
        with open(path, "rb") as stream:
            return Table(matrix=_parse_matrix_market(path, stream))
    except FileError:
        raise
    except (ValueError, OverflowError) as error:
        raise FileError(f"{str(path)!r} is not a whole Matrix Market file: {first_line(error)}.") from error


def _parse_matrix_market(path: Path, stream: BinaryIO) -> Any:
    """The numbers of a Matrix Market file; SciPy's own reader crashes on some files that are none."""
    mark, kind, layout, field, symmetry, *_ = [*stream.readline(1024).decode("latin-1").lower().split(), *[""] * 5]
    if mark != "%%matrixmarket" or kind != "matrix" or layout not in MARKET_LAYOUTS or symmetry not in MARKET_SIGNS:
        raise ValueError("its first line is not that of a real matrix")
    if field not in MARKET_FIELDS or (field == "pattern" and layout == "array"):
        raise ValueError(f"it holds {field or 'no'} numbers")
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = stream.readline(2**16)
    sizes = [int(word) for word in line.split()]
    if len(sizes) != MARKET_LAYOUTS[layout] or min(sizes) < 0 or (symmetry != "general" and sizes[0] != sizes[1]):
        raise ValueError("its sizes are missing, or do not go together")
    rows, columns = sizes[:2]
    entries = sizes[2] if layout == "coordinate" else rows * columns
    if entries > path.stat().st_size:
        raise ValueError(f"it declares {entries} entries but is too short to hold them")
    check_fits(ENTRY_BYTES * entries + 8 * (rows + columns), path)
    if layout == "array" and symmetry == "general":
        return _lines_of_numbers(stream, entries, 1).reshape(columns, rows).T
    if layout == "array":
        j, i = np.triu_indices(rows, int(symmetry == "skew-symmetric"))
        values = _lines_of_numbers(stream, i.size, 1)[:, 0]
    else:
        numbers = _lines_of_numbers(stream, entries, 2 + (field != "pattern"))
        places, values = numbers[:, :2] - 1, numbers[:, 2] if field != "pattern" else np.ones(entries)
        if not ((places >= 0) & (places < (rows, columns)) & (places == np.floor(places))).all():
            raise ValueError("it has an entry outside its rows and columns")
        i, j = places.astype(np.int64).T
    if symmetry != "general":
        other = i != j
        values = np.concatenate([values, MARKET_SIGNS[symmetry] * values[other]])
        i, j = np.concatenate([i, j[other]]), np.concatenate([j, i[other]])
    return csr_array(coo_array((values, (i, j)), shape=(rows, columns)))


def _lines_of_numbers(stream: BinaryIO, count: int, width: int) -> Array:
    """So many lines of so many numbers with spaces between them, and nothing else."""
    if count == 0:
        return np.empty((0, width))
    csv, pa = require("pyarrow.csv", "cli", MARKET), require("pyarrow", "cli", MARKET)
    names, text = [str(i) for i in range(width)], stream.read()
    aligned = any(sign in text for sign in (b"  ", b"\t", b" \n", b"\n "))
    table = csv.read_csv(
        Squeezed(io.BytesIO(text)) if aligned else io.BytesIO(text),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[]),
    )
    if table.num_rows != count:
        raise ValueError(f"it declares {count} lines of numbers and holds {table.num_rows}")
    return np.column_stack([plain_array(table.column(name)) for name in names])


def read_h5ad(path: Path, reading: Reading) -> Table:
    """Principal components if there are any, else X; and the neighbour graph in `obsp`."""
    anndata = require("anndata", "singlecell", ANNDATA)
    try:
        _check_stored(path)
        data = anndata.read_h5ad(path)
        matrix, names, source = _representation(path, data, reading.array)
        matrix, graph = checked_rows(matrix), data.obsp.get(GRAPH)
        graph = None if graph is None else _symmetric(graph)
    except FileError:
        raise
    except (TypeError, KeyError, AttributeError) as error:
        raise FileError(f"{str(path)!r} lacks the parts of an AnnData file.") from error
    except Exception as error:  # h5py and anndata raise many kinds
        raise FileError(f"{str(path)!r} is not a whole .h5ad file: {first_line(error)}.") from error
    return Table(
        matrix=matrix,
        names=names,
        graph=graph,
        row_names=tuple(map(str, data.obs_names)),
        note=f"Read {source}" + ("" if graph is None else f" and the graph obsp[{GRAPH!r}]"),
    )


def _check_stored(path: Path) -> None:
    """Refuse an HDF5 file that points to other files, or whose parts say that they are far larger than it."""
    h5py = require("h5py", "singlecell", ANNDATA)
    total, groups = 0, []
    with h5py.File(path, "r") as stored:
        groups.append(stored)
        seen = set()
        while groups:
            group = groups.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"its part {name!r} is a link to somewhere else")
                part = group[name]
                place = h5py.h5o.get_info(part.id).addr
                if place in seen:
                    continue
                seen.add(place)
                if isinstance(part, h5py.Group):
                    groups.append(part)
                elif isinstance(part, h5py.Dataset):
                    if part.is_virtual or part.external:
                        raise ValueError(f"its part {name!r} is in another file")
                    total += part.size * part.dtype.itemsize if part.shape is not None else 0
    check_fits(total, path)


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
        check_array_file(path)
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy raises many kinds
        raise FileError(f"{str(path)!r} is not a usable .npy file: {first_line(error)}.") from error


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


def _stored_sparse(path: Path, stored: Any) -> Any:
    """The matrix that SciPy's save_npz wrote, not yet to be trusted."""
    kind = stored["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    rows, columns = (int(size) for size in stored["shape"])
    check_fits(8 * (rows + columns), path)
    if kind in COMPRESSED:
        parts = stored["data"], stored["indices"], stored["indptr"]
        return COMPRESSED[kind](parts, shape=(rows, columns))
    if kind == "coo":
        return coo_array((stored["data"], (stored["row"], stored["col"])), shape=(rows, columns))
    raise FileError(
        f"{str(path)!r} holds a sparse matrix of the kind {kind!r}. Save it as CSR: save_npz(f, X.tocsr())."
    )


def checked_rows(matrix: Any) -> Any:
    """A sparse matrix as CSR, or an array, once each index in it is known to be in range: native code trusts them."""
    if not issparse(matrix):
        return np.asarray(matrix)
    if matrix.format in COMPRESSED:
        if len(matrix.indptr) and matrix.indptr.min() < 0:
            raise ValueError("its rows begin before the first entry")
        matrix.check_format(full_check=True)
    elif matrix.nnz and any(
        each.min() < 0 or each.max() >= n for each, n in zip(_places(matrix), matrix.shape, strict=True)
    ):
        raise ValueError("it has an entry outside its rows and columns")
    return csr_array(matrix)


def _places(matrix: Any) -> tuple[Array, Array]:
    """Row and column of each entry of a matrix in coordinates."""
    return matrix.row, matrix.col


def _symmetric(graph: Any) -> Any:
    """The larger of both directions: some tools store one only."""
    graph = csr_array(checked_rows(graph))
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
                check_fits(COPIES * image.width * image.height * len(image.getbands()), path)
                image.load()
                if image.mode in ("RGBA", "LA", "P", "PA"):
                    over = image.convert("RGBA")
                    image = image_module.alpha_composite(image_module.new("RGBA", over.size, "white"), over)
                image = image.convert("L" if gray or image.mode in ("1", "L", "I", "I;16", "F") else "RGB")
                return np.asarray(image if size is None else image.resize(size[::-1]))
    except (image_module.DecompressionBombError, image_module.DecompressionBombWarning) as error:
        raise FileError(f"{str(path)!r} has too many pixels to be opened safely: {first_line(error)}.") from error
    except Exception as error:  # Pillow's parsers raise many kinds
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
