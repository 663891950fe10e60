"""Models in one `.npz` file: arrays and JSON, no pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csr_array, issparse

from ._records import Array, PathPoint, Solution
from ._threads import effective_threads
from .graph.affinity import Affinity
from .graph.neighbors import NeighborIndex

FORMAT = 1
NUMBERS = ("objective_", "gap_", "n_iter_", "lam_", "n_components_")
ARRAYS = ("assignments_", "cluster_centers_", "exemplars_", "history_")


def save_model(model: Any, file: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, whole or not at all."""
    if callable(model.affinity):
        raise ValueError("A model with a callable 'affinity' cannot be saved. Name the affinity or pass a graph.")
    arrays: dict[str, Any] = {name: getattr(model, name) for name in ARRAYS}
    arrays["unlit"] = model.path_[-1].solution.unlit
    arrays["bandwidth_"] = np.asarray(model.bandwidth_)
    for name, matrix in (("X", model._fit_X), ("graph", model.graph_)):
        arrays.update(_pack(name, matrix))
    for name in ("sample_weight_", "feature_names_in_"):
        if getattr(model, name, None) is not None:
            arrays[name] = np.asarray(getattr(model, name), dtype=str if name.startswith("feature") else None)
    if model._affinity is not None and model._affinity.scale is not None:
        arrays["affinity_scale"] = model._affinity.scale
    header = {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": _plain_parameters(model),
        "numbers": {name: float(getattr(model, name)) for name in NUMBERS},
        "affinity": None
        if model._affinity is None
        else {"kind": model._affinity.kind, "n_neighbors": model._affinity.n_neighbors, "width": model._affinity.width},
        "converged": bool(model.path_[-1].solution.converged),
        "certified": bool(model.path_[-1].solution.certified),
    }
    with atomic_write(file) as stream:
        np.savez(stream, header=np.asarray(json.dumps(header)), **arrays)


def load(file: str | os.PathLike[str]) -> Any:
    """Read a model that was written by ``model.save(file)``.

    Nothing in the file can run code: it holds arrays and JSON only.

    Parameters
    ----------
    file : path
        The `.npz` file.

    Returns
    -------
    estimator
        Fitted, of the class that was saved. Starts that were given as arrays and a random state
        that was not a number are not kept: they come back as the defaults.
    """
    from . import _special_cases
    from ._estimator import LaplacianKModes

    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        header = json.loads(str(data["header"][()]))
        classes = {"LaplacianKModes": LaplacianKModes, **vars(_special_cases)}
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
        model = classes[header["class"]](**header["parameters"])
        _restore(model, header, data)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(file)!r} is not a lapmodes model, or it is damaged: {error}.") from error
    return model


def _restore(model: Any, header: dict[str, Any], data: dict[str, Array]) -> None:
    for name in ARRAYS:
        setattr(model, name, data[name])
    for name in NUMBERS:
        setattr(model, name, header["numbers"][name])
    model.n_iter_, model.n_components_ = int(model.n_iter_), int(model.n_components_)
    model.bandwidth_ = data["bandwidth_"] if data["bandwidth_"].ndim else float(data["bandwidth_"])
    model._fit_X, model.graph_ = _unpack("X", data), _unpack("graph", data)
    model.sample_weight_ = data.get("sample_weight_")
    if "feature_names_in_" in data:
        model.feature_names_in_ = data["feature_names_in_"].astype(object)
    model.n_features_in_ = int(model._fit_X.shape[1])
    model._n_features_out = model.n_clusters
    rule = header["affinity"]
    model._affinity = None if rule is None else Affinity(**rule, scale=data.get("affinity_scale"))
    needs_neighbors = model._affinity is not None or model.bandwidth_ is data["bandwidth_"]
    model._index = NeighborIndex(model._fit_X, effective_threads(model.n_jobs)) if needs_neighbors else None
    solution = Solution(
        model.cluster_centers_,
        model.assignments_,
        model.objective_,
        model.gap_,
        model.n_iter_,
        header["converged"],
        header["certified"],
        model.history_,
        data["unlit"],
    )
    model.labels_ = solution.labels
    model.path_ = [PathPoint(model.lam_, model.bandwidth_, solution)]
    n, d = model._fit_X.shape
    if model.assignments_.shape != (n, model.n_clusters) or model.cluster_centers_.shape != (model.n_clusters, d):
        raise ValueError("its arrays do not fit together")


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON; what is not a plain value is left at its default."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            plain[name] = value
    return plain


def _pack(name: str, matrix: Any) -> dict[str, Array]:
    if not issparse(matrix):
        return {name: matrix}
    return {
        f"{name}_data": matrix.data,
        f"{name}_indices": matrix.indices,
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.asarray(matrix.shape),
    }


def _unpack(name: str, data: dict[str, Array]) -> Any:
    if name in data:
        return data[name]
    parts = (data[f"{name}_data"], data[f"{name}_indices"], data[f"{name}_indptr"])
    matrix = csr_array(parts, shape=tuple(data[f"{name}_shape"]))
    matrix.check_format(full_check=True)
    return matrix


@contextmanager
def atomic_write(file: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream that becomes `file` when all went well, and leaves nothing otherwise."""
    target = Path(file)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
