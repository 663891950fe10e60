"""Models in one `.npz` file: arrays and JSON, no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from scipy.sparse import csr_array, issparse

from ._archives import check_archive, check_arrays
from ._predict import Trained
from ._records import Array, PathPoint, Solution
from ._threads import effective_threads
from .graph.affinity import Affinity
from .graph.anchors import Anchors
from .graph.neighbors import NeighborIndex

FORMAT = 1
NUMBERS = ("objective_", "gap_", "n_iter_", "lam_", "anchor_", "n_components_", "neighbor_recall_")
ARRAYS = ("cluster_centers_", "exemplars_", "history_", "bandwidth_")


def save_model(model: Any, file: str | os.PathLike[str], extra: dict[str, Array] | None = None) -> None:
    """Write a fitted estimator, whole or not at all; `extra` arrays ride along for :func:`load_extra`."""
    if type(model) is not _classes().get(type(model).__name__):
        raise ValueError(f"Only lapmodes' own estimators can be saved. Got {type(model).__name__}.")
    if callable(model.affinity):
        raise ValueError("A model with a callable 'affinity' cannot be saved. Name the affinity or pass a graph.")
    with atomic_write(file) as stream:
        arrays = _arrays(model) | (extra or {})
        np.savez(stream, allow_pickle=False, header=np.asarray(json.dumps(_header(model))), **arrays)


def _header(model: Any) -> dict[str, Any]:
    trained, solution = model._trained, model.path_[-1].solution
    rule = trained.affinity
    return {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": _plain_parameters(model),
        "numbers": {name: float(getattr(model, name)) for name in NUMBERS},
        "affinity": rule and {"kind": rule.kind, "n_neighbors": rule.n_neighbors, "width": rule.width},
        "n_neighbors": int(trained.n_neighbors),
        "metric": trained.metric,
        "flags": {name: bool(getattr(solution, name)) for name in ("converged", "stopped", "certified")},
    }


def _arrays(model: Any) -> dict[str, Array]:
    trained = model._trained
    arrays = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    arrays["unlit"] = model.path_[-1].solution.unlit
    matrices = {"X": trained.X, "graph": model.graph_, "assignments_": model.assignments_, "votes": model.votes_}
    for name, matrix in matrices.items():
        if matrix is not None:
            arrays.update(_pack(name, matrix))
    optional = {
        "sample_weight": trained.sample_weight,
        "degrees": trained.degrees,
        "masses": trained.masses,
        "kept": trained.kept,
        "affinity_scale": trained.affinity and trained.affinity.scale,
    }
    if trained.affinity and (anchors := trained.affinity.anchors):
        arrays.update(anchor_places=anchors.places, anchor_mass=anchors.mass, **_pack("anchor_half", anchors.half))
        arrays["anchor_nearest"] = np.asarray(anchors.n_nearest)
    if hasattr(model, "feature_names_in_"):
        optional["feature_names_in_"] = np.asarray(model.feature_names_in_, dtype=str)
    return arrays | {name: array for name, array in optional.items() if array is not None}


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
        Fitted, of the class that was saved. Starts that were given as arrays, a random state that was not a
        number, and a callback are not kept: they come back as the defaults.
    """
    try:
        check_archive(file)
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        check_arrays(data)
        header = json.loads(str(data["header"][()]))
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
        model = _classes()[header["class"]](**header["parameters"])
        _restore(model, header, data)
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{os.fspath(file)!r} is not a lapmodes model, or it is damaged. Save the model again with model.save()."
        ) from error
    return model


def load_extra(file: str | os.PathLike[str], name: str) -> str | None:
    """Text that was saved along with a model; None if there is none of that name."""
    check_archive(file)
    with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return str(stored[name][()]) if name in stored.files else None


def _classes() -> dict[str, Any]:
    from ._estimator import LaplacianKModes
    from ._special_cases import KModes, LaplacianKMeans

    return {each.__name__: each for each in (LaplacianKModes, KModes, LaplacianKMeans)}


def _restore(model: Any, header: dict[str, Any], data: dict[str, Array]) -> None:
    for name in ARRAYS:
        setattr(model, name, data[name])
    for name in NUMBERS:
        setattr(model, name, header["numbers"][name])
    model.n_iter_, model.n_components_ = int(model.n_iter_), int(model.n_components_)
    if model.bandwidth_.ndim == 0:
        model.bandwidth_ = float(model.bandwidth_)
    model.graph_, model.assignments_ = _unpack("graph", data), _unpack("assignments_", data)
    model.votes_ = _unpack("votes", data) if {"votes", "votes_data"} & data.keys() else None
    if "feature_names_in_" in data:
        model.feature_names_in_ = data["feature_names_in_"].astype(object)
    solution = Solution(
        C=model.cluster_centers_,
        Z=model.assignments_,
        objective=model.objective_,
        gap=model.gap_,
        n_iter=model.n_iter_,
        history=model.history_,
        unlit=data["unlit"],
        votes=model.votes_,
        **header["flags"],
    )
    model.labels_ = solution.labels
    model.path_ = [PathPoint(model.lam_, model.bandwidth_, solution)]
    model._trained = trained = _trained(model, header, data)
    model.n_features_in_, model._n_features_out = int(trained.X.shape[1]), model.n_clusters
    if trained.Z.shape != (trained.X.shape[0], model.n_clusters) or trained.C.shape != (
        model.n_clusters,
        trained.X.shape[1],
    ):
        raise ValueError("the arrays do not fit together")


def _anchors(data: dict[str, Array]) -> Anchors | None:
    if "anchor_places" not in data:
        return None
    half = _unpack("anchor_half", data)
    return Anchors(data["anchor_places"], data["anchor_mass"], half, int(data["anchor_nearest"]))


def _trained(model: Any, header: dict[str, Any], data: dict[str, Array]) -> Trained:
    X, kept, rule = _unpack("X", data), data.get("kept"), header["affinity"]
    per_point = isinstance(model.bandwidth_, np.ndarray)
    needs_neighbors = rule is not None or per_point
    return Trained(
        X=X,
        Z=model.assignments_ if kept is None else model.assignments_[kept],
        C=model.cluster_centers_,
        lam=model.lam_,
        bandwidth=model.bandwidth_[kept] if per_point and kept is not None else model.bandwidth_,
        sample_weight=data.get("sample_weight"),
        degrees=data.get("degrees"),
        masses=data.get("masses"),
        affinity=rule and Affinity(**rule, scale=data.get("affinity_scale"), anchors=_anchors(data)),
        n_neighbors=header["n_neighbors"],
        metric=header["metric"],
        kept=kept,
        n_samples=model.assignments_.shape[0],
        index=NeighborIndex(X, effective_threads(model.n_jobs)) if needs_neighbors else None,
    )


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON; what is not a plain value is left at its default."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.generic):
            value = value.item()
        if name == "path" and isinstance(value, (list, tuple, np.ndarray)):
            value = [[each if isinstance(each, str) else float(each) for each in pair] for pair in value]
        if value is None or isinstance(value, (bool, int, float, str)) or name == "path":
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
    partial = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with open(partial, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
