"""Models in one `.npz` file: arrays and JSON, no pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._archives import check_archive, check_arrays
from ._fit import Fitted
from ._predict import Trained
from ._records import HISTORY, MOST_EXPONENT, REACH, Array, Points, Problem, Solution, Status, Units
from ._row_map import RowMap
from ._settings import CONSTRAINTS, check_parameters, effective_threads, is_number
from ._validation import check_lam
from .graph.affinity import Affinity
from .graph.anchors import Anchors
from .graph.laplacian import build_graph

OFF_SIMPLEX = 1e-4
"""How far the sum of shares in a file may be from 1."""
FORMAT = 2
"""Everything in the file is in the order of the fit's rows; `sample_of` and `row_of` name the samples."""


class OtherFormatError(ValueError):
    """The file is a model, but of a version that writes another format."""


def save_model(model: Any, file: str | os.PathLike[str], notes: dict[str, str] | None = None) -> None:
    """Write a fitted estimator, whole or not at all."""
    if type(model) is not _classes().get(type(model).__name__):
        raise ValueError(f"Only lapmodes' own estimators can be saved. Got {type(model).__name__}.")
    if callable(model.affinity):
        raise ValueError("A model with a callable 'affinity' cannot be saved. Name the affinity or pass a graph.")
    notes = dict(getattr(model, "notes_", {})) if notes is None else notes
    if not all(isinstance(text, str) for pair in notes.items() for text in pair):
        raise ValueError("'notes' must be a dict of str to str.")
    with atomic_write(file) as stream:
        header = json.dumps(_header(model, notes))
        np.savez(stream, allow_pickle=False, header=np.asarray(header), **_arrays(model))


def _header(model: Any, notes: dict[str, str]) -> dict[str, Any]:
    trained = model._trained
    fitted, rule = trained.fitted, trained.fitted.affinity
    return {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": _plain_parameters(model),
        "lam": fitted.problem.lam,
        "prior_weight": fitted.problem.prior_weight,
        "objective": fitted.solution.objective,
        "gap": fitted.solution.gap,
        "status": [fitted.solution.status.name, fitted.solution.status.message],
        "recall": fitted.recall,
        "exponent": trained.units.exponent,
        "affinity": rule and {"kind": rule.kind, "n_neighbors": rule.n_neighbors, "width": rule.width},
        "n_neighbors": trained.n_neighbors,
        "metric": trained.metric,
        "laplacian": trained.laplacian,
        "n_samples": trained.rows.n_samples,
        "notes": notes,
        "cluster_names": list(getattr(model, "cluster_names_", ())),
    }


def _arrays(model: Any) -> dict[str, Array]:
    trained = model._trained
    problem, solution, rule = trained.fitted.problem, trained.fitted.solution, trained.fitted.affinity
    matrices = {"X": problem.points.X, "graph": problem.graph.affinity, "Z": solution.Z, "prior": problem.prior}
    arrays = {
        "C": solution.C,
        "history": solution.history,
        "unreached": solution.unreached,
        "bandwidth": np.asarray(problem.bandwidth, dtype=None if np.ndim(problem.bandwidth) else np.float64),
        "sample_weight": problem.sample_weight,
        "known": problem.known,
        "sample_of": trained.rows.sample_of,
        "row_of": trained.rows.row_of,
        "affinity_scale": rule and rule.scale,
        "feature_names": getattr(model, "feature_names_in_", None),
    }
    if rule and (anchors := rule.anchors):
        arrays |= {"anchor_places": anchors.places, "anchor_mass": anchors.mass}
        arrays["anchor_nearest"] = np.asarray(anchors.n_nearest)
        matrices["anchor_half"] = anchors.half
    if arrays["feature_names"] is not None:
        arrays["feature_names"] = np.asarray(arrays["feature_names"], dtype=str)
    packed = {name: array for name, array in arrays.items() if array is not None}
    for name, matrix in matrices.items():
        if matrix is not None:
            packed |= pack(name, matrix)
    return packed


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
        number, and a callable 'verbose' are not kept: they come back as the defaults.
    """
    with open(file, "rb"):
        pass  # that there is no such file, or no permission, is said in the usual words
    try:
        check_archive(file)
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        header = json.loads(str(data["header"][()]))
        if header["format"] != FORMAT:
            raise OtherFormatError(
                f"{os.fspath(file)!r} was written by another version of lapmodes (format {header['format']}; this one "
                f"reads {FORMAT}). Fit the model again."
            )
        check_arrays(data, int(header["n_samples"]))
        model = _classes()[header["class"]](**header["parameters"])
        _check_header(model, header, len(data["C"]))
        _restore(model, header, data)
    except OtherFormatError:
        raise
    except Exception as error:  # zipfile, NumPy and JSON raise many kinds
        raise ValueError(
            f"{os.fspath(file)!r} is not a lapmodes model, or it is damaged. Save the model again with model.save()."
        ) from error
    return model


def _classes() -> dict[str, Any]:
    from ._estimator import LaplacianKModes
    from ._special_cases import KModes, LaplacianKMeans

    return {each.__name__: each for each in (LaplacianKModes, KModes, LaplacianKMeans)}


def _check_header(model: Any, header: dict[str, Any], n_clusters: int) -> None:
    """Refuse what no fit writes: the fitted values and the graph's rule must be valid parameters too."""
    owner, values = header["class"], {name: getattr(model, name) for name in CONSTRAINTS}
    fitted = {name: header[name] for name in ("lam", "n_neighbors", "metric", "laplacian", "prior_weight")}
    check_parameters(owner, values)
    check_parameters(owner, values | fitted)
    numbers = [header[name] for name in ("objective", "gap", "recall")]
    if (rule := header["affinity"]) is not None:
        check_parameters(owner, values | {"affinity": rule["kind"], "n_neighbors": rule["n_neighbors"]})
        check_parameters(owner, values | {"bandwidth": rule["width"]})
        numbers.append(rule["width"])
    if not all(is_number(number) for number in numbers) or header["gap"] < 0:
        raise ValueError("the objective, its gap, the recall and the width are not those of a fit")
    if not isinstance(header["notes"], dict) or len(header["status"]) != 2:
        raise ValueError("notes and status are not those of a fit")
    exponent = header.get("exponent", 0)
    if not is_number(exponent, Integral) or abs(exponent) > max(MOST_EXPONENT.values()):
        raise ValueError("the units are not those of a fit")
    if len(header.get("cluster_names", [])) not in (0, n_clusters):
        raise ValueError("there is not a name for each cluster")


def _restore(model: Any, header: dict[str, Any], data: dict[str, Array]) -> None:
    """Fill a new estimator as its fit did."""
    solution = Solution(
        data["C"],
        unpack("Z", data),
        float(header["objective"]),
        float(header["gap"]),
        data["history"],
        data["unreached"],
        Status(*map(str, header["status"])),
    )
    width = data["bandwidth"]
    problem = Problem(
        Points(unpack("X", data), effective_threads(model.n_jobs), Units(header.get("exponent", 0))),
        build_graph(unpack("graph", data), header["laplacian"]),
        float(header["lam"]),
        width if width.ndim else float(width),
        data.get("sample_weight"),
        unpack("prior", data) if {"prior", "prior_data"} & data.keys() else None,
        float(header["prior_weight"]),
        data.get("known"),
    )
    rule = header["affinity"]
    affinity = None if rule is None else Affinity(**rule, scale=data.get("affinity_scale"), anchors=_anchors(data))
    rows = RowMap(int(header["n_samples"]), data.get("sample_of"), data.get("row_of"))
    _check_values(problem, solution, affinity)
    fitted = Fitted(problem, solution, affinity, None, float(header["recall"]))
    model.n_features_in_ = int(problem.points.X.shape[1])
    if "feature_names" in data:
        model.feature_names_in_ = data["feature_names"].astype(object)
    model.notes_ = {str(name): str(text) for name, text in header["notes"].items()}
    if names := header.get("cluster_names"):
        model.cluster_names_ = tuple(map(str, names))
    with np.errstate(over="ignore"):
        model._store(Trained(fitted, rows, int(header["n_neighbors"]), header["metric"], header["laplacian"]))
    shown = [model.cluster_centers_, model.objective_, model.gap_, model.lam_]
    shown += [model.history_[name] for name in HISTORY.names or ()]
    shown += [] if problem.in_kmeans_limit else [model.bandwidth_]
    if not all(np.isfinite(each).all() for each in shown):
        raise ValueError("its numbers are not those of a fit in the units of the user")


def _check_values(problem: Problem, solution: Solution, affinity: Affinity | None) -> None:
    """Refuse numbers that no fit has: such as would make an answer that is no number, or a row off the simplex."""
    X, W, known = problem.points.X, problem.graph.affinity, [problem.sample_weight]
    lengths, weights = [X, solution.C], [W, solution.Z, problem.prior, problem.sample_weight]
    if affinity is not None and affinity.anchors is not None:
        lengths, weights = [*lengths, affinity.anchors.places], [*weights, affinity.anchors.half]
        known.append(affinity.anchors.mass)
    widths = np.atleast_1d(problem.bandwidth)
    if widths.size > 1:
        known.append(widths)
    if affinity is not None and affinity.scale is not None:
        known.append(affinity.scale)
    limit = 2.0 ** REACH[X.dtype]
    longest = limit if problem.points.units.exponent == 0 else 2.0
    fits = all(_within(each, -longest, longest) for each in lengths) and bool((widths > 0).all())
    fits = fits and all(_within(each, 0.0, limit) for each in weights if each is not None)
    fits = fits and all(_within(each, 2.0**-1000, limit) for each in known if each is not None)
    shares = [each for each in (solution.Z, problem.prior) if each is not None]
    fits = fits and all(np.abs(each.sum(axis=1) - 1).max() < OFF_SIMPLEX for each in shares)
    history = solution.history
    fits = fits and history.dtype == HISTORY and all(np.isfinite(history[name]).all() for name in HISTORY.names or ())
    if not fits or any(each.dtype != X.dtype for each in (solution.C, W, *shares)):
        raise ValueError("its numbers are not those of a fit")
    check_lam("load", problem.lam, problem.graph.diagonal)


def _within(values: Any, low: float, high: float) -> bool:
    """Whether all numbers lie between both."""
    data = values.data if issparse(values) else values
    return bool(data.size == 0 or (np.isfinite(data).all() and low <= data.min() <= data.max() <= high))


def _anchors(data: dict[str, Array]) -> Anchors | None:
    if "anchor_places" not in data:
        return None
    half = unpack("anchor_half", data)
    return Anchors(data["anchor_places"], data["anchor_mass"], half, int(data["anchor_nearest"]))


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON; what is not a plain value is left at its default."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, (bool, int, float, str)):
            plain[name] = value
    return plain


def pack(name: str, matrix: Any) -> dict[str, Array]:
    """An array, or the arrays of a CSR matrix, by their names in a file."""
    if not issparse(matrix):
        return {name: matrix}
    return {
        f"{name}_data": matrix.data,
        f"{name}_indices": matrix.indices,
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.asarray(matrix.shape),
    }


def unpack(name: str, data: dict[str, Array]) -> Any:
    """What `pack` made arrays of, checked."""
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


STORED = (
    *("assignments_", "labels_", "probabilities_", "cluster_centers_", "n_clusters_", "_exemplars", "objective_"),
    "gap_",
    *("status_", "n_iter_", "history_", "lam_", "bandwidth_", "prior_", "graph_", "n_components_", "neighbor_recall_"),
    *("graph_given_", "_n_features_out", "_trained"),
)
"""What `_store` writes, and what a pickle can therefore leave out."""


class Persistent(BaseEstimator):
    """Fitted models in files, and as what pickle, joblib and skops see of them."""

    notes_: dict[str, str]

    def save(self, file: str | os.PathLike[str], notes: dict[str, str] | None = None) -> None:
        """Write the fitted model to one `.npz` file, without pickle; :func:`lapmodes.load` reads it.

        Parameters
        ----------
        file : path
            Written whole or not at all.
        notes : dict of str to str, optional
            Texts that are kept with the model; :func:`lapmodes.load` gives them back as `notes_`.
        """
        check_is_fitted(self)
        save_model(self, file, notes)

    def __copy__(self) -> Any:
        model = type(self).__new__(type(self))
        model.__dict__.update(self.__dict__)
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Parameters, and what was fitted as plain values and arrays: no tree, no record, nothing to distrust."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "_trained" in state:
            state = {name: value for name, value in state.items() if name not in STORED}
            state["_fitted"] = {"header": _header(self, {}), "arrays": _arrays(self)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        fitted = state.pop("_fitted", None)
        super().__setstate__(state)
        if fitted is not None:
            _restore(self, fitted["header"], fitted["arrays"])
            del self.notes_  # there are some only if the state says so
            self.__dict__.update(state)
