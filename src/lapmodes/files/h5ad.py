"""AnnData files of single-cell work, with the neighbour graph that they bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from .._records import Array
from .problems import FileError, first_line, listed, require
from .table import Reading, Table

PURPOSE = "Reading and writing .h5ad files"
GRAPH = "connectivities"
PREFERRED = "X_pca"


def read(path: Path, reading: Reading) -> Table:
    """Principal components if there are any, else X; and the graph in `obsp`."""
    anndata = require("anndata", "singlecell", PURPOSE)
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
        graph=None if graph is None else symmetric(graph),
        row_names=tuple(map(str, data.obs_names)),
        note=f"Read {source}" + ("" if graph is None else f" and the graph obsp[{GRAPH!r}]"),
    )


def write(stream_path: Path, labels: Array, Z: Any, row_names: tuple[str, ...] | None) -> None:
    """An AnnData of the soft assignments, with the clusters in `obs`."""
    anndata = require("anndata", "singlecell", PURPOSE)
    pandas = require("pandas", "singlecell", PURPOSE)
    index = pandas.Index(row_names or [str(i) for i in range(len(labels))], dtype=str)
    clusters = [str(k) for k in range(Z.shape[1])]
    obs = pandas.DataFrame({"cluster": pandas.Categorical(labels.astype(str), categories=clusters)}, index=index)
    names = pandas.DataFrame(index=pandas.Index([f"cluster_{k}" for k in clusters], dtype=str))
    anndata.AnnData(X=csr_matrix(Z) if issparse(Z) else np.asarray(Z), obs=obs, var=names).write_h5ad(stream_path)


def symmetric(graph: Any) -> Any:
    """The larger of both directions: some tools store one only."""
    from scipy.sparse import csr_array

    graph = csr_array(graph)
    return graph.maximum(graph.T)


def _representation(path: Path, data: Any, wanted: str | None) -> tuple[Any, tuple[str, ...], str]:
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
