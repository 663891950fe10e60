"""Fitted models and checkpoints on disk: a folder with a file for each part, written by the workers, or one file.

The folder must be one that all workers and this process see. Nothing in it can run code: arrays and JSON only.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from .. import __version__
from .. import _fit as single
from .._estimator import LaplacianKModes as SingleMachine
from .._persistence import atomic_write, pack, unpack
from .._predict import Trained
from .._records import Array, Points, Status
from .._records import Problem as SingleProblem
from .._records import Solution as SingleSolution
from .._row_map import RowMap
from .._rows import as_dense
from ..graph.affinity import Affinity
from ..graph.laplacian import build_graph
from .assignments import Round, Stats
from .cluster import Tasks, first_of
from .fit import Fitted, Problem, Solution
from .graph import GraphFacts, LocalGraph, PartedGraph, Rule
from .parts import Cells, Part, PartFacts
from .sample import Begin

FORMAT = 1
HEADER = "model.json"
SHARED = "shared.npz"
EVERY = 120.0
"""Seconds between two checkpoints, at least."""


def part_file(folder: str, name: str, p: int) -> str:
    """The file of one part."""
    return os.path.join(folder, f"{name}-{p:05d}.npz")


def write_arrays(file: str, arrays: dict[str, Any]) -> int:
    """Arrays and CSR matrices in one file, whole or not at all; None is left out."""
    packed: dict[str, Array] = {}
    for name, value in arrays.items():
        if value is not None:
            packed |= pack(name, value)
    with atomic_write(file) as stream:
        np.savez(stream, allow_pickle=False, **packed)
    return os.path.getsize(file)


def read_arrays(file: str) -> dict[str, Any]:
    """What `write_arrays` wrote, CSR matrices in pieces."""
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def write_part(folder: str, p: int, part: Part, local: LocalGraph, width: Any) -> int:
    """A part and its graph."""
    bounds = np.array([(q, a, b) for q, (a, b) in local.bounds.items()], dtype=np.int64).reshape(-1, 3)
    arrays = {field.name: getattr(local, field.name) for field in fields(local) if field.name not in ("bounds", "unit")}
    arrays |= {"X": part.X, "weight": part.weight, "numbers": part.numbers, "width": width, "bounds": bounds}
    arrays |= {"sample_of": part.rows.sample_of, "row_of": part.rows.row_of, "unit": np.asarray(local.unit)}
    return write_arrays(part_file(folder, "part", p), arrays)


def read_part(folder: str, p: int) -> tuple[Part, LocalGraph, Any]:
    """What `write_part` wrote."""
    data = read_arrays(part_file(folder, "part", p))
    rows = RowMap(data["numbers"].size, data.get("sample_of"), data.get("row_of"))
    bounds = {int(q): (int(a), int(b)) for q, a, b in data["bounds"]}
    plain = {name: data[name] for name in ("diagonal", "degrees", "component", "halo", "reach")}
    graph = LocalGraph(
        unpack("inner", data),
        unpack("cross", data),
        bounds=bounds,
        scale=data.get("scale"),
        unit=float(data["unit"]),
        **plain,
    )
    return Part(data["X"], data.get("weight"), data["numbers"], rows), graph, data.get("width")


def write_rows(folder: str, name: str, p: int, rows: Any) -> int:
    """Assignments or prior of a part."""
    return write_arrays(part_file(folder, name, p), {"rows": rows.Z if isinstance(rows, Round) else rows})


def read_rows(folder: str, name: str, p: int) -> Any:
    """What `write_rows` wrote."""
    return unpack("rows", read_arrays(part_file(folder, name, p)))


def as_round(Z: Any, local: LocalGraph) -> Round:
    """Assignments that were read, as those of a finished round."""
    return Round(Z, csr_array((local.halo.size, Z.shape[1]), dtype=Z.dtype), None, {}, Stats())


def write_header(folder: str, header: dict[str, Any]) -> None:
    """The file that says what is there; it is written last."""
    with atomic_write(os.path.join(folder, HEADER)) as stream:
        stream.write((json.dumps({"format": FORMAT, "lapmodes": __version__} | header, indent=1) + "\n").encode())


def read_header(folder: str) -> dict[str, Any]:
    """What a folder holds."""
    try:
        header = json.loads(Path(folder, HEADER).read_text(encoding="utf-8"))
        if header["format"] != FORMAT:
            raise ValueError(f"{folder!r} was written by another version of lapmodes. Fit the model again.")
        return dict(header)
    except (OSError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder!r} is not a folder of a distributed model, or it is damaged.") from error


def write_problem(tasks: Tasks, folder: str, problem: Problem) -> dict[str, Any]:
    """Parts and graph, one file each, and the facts for the header."""
    if problem.rule is not None and callable(problem.rule.kind):
        raise ValueError("A model with a callable 'affinity' cannot be written. Name the affinity or pass a graph.")
    widths = problem.graph.widths or [None] * len(problem.parts)
    local = problem.graph.local
    arguments = [(folder, p, problem.parts[p], local[p], widths[p]) for p in range(len(local))]
    tasks.gather(tasks.each("write", write_part, arguments))
    component = problem.graph.component
    shared = {"centers": problem.cells.centers, "cell_parts": problem.cells.part, "starts": problem.graph.starts}
    shared |= {"component": np.concatenate(component), "n_component": np.array([each.size for each in component])}
    shared |= {"sums": np.stack([each.sums for each in problem.facts])}
    write_arrays(os.path.join(folder, SHARED), shared)
    names = ("lam", "bandwidth", "length", "spread", "recall", "asked", "share")
    facts = {name: _plain(getattr(problem, name)) for name in names}
    facts["rule"] = None if problem.rule is None else asdict(problem.rule)
    facts["parts"] = [{k: v for k, v in asdict(each).items() if k != "sums"} for each in problem.facts]
    facts["graphs"] = [asdict(each) for each in problem.graph.facts]
    return facts


def _plain(value: Any) -> Any:
    """JSON has no infinity of its own that others read."""
    return None if value is None else "infinite" if np.isinf(value) else float(value)


def _number(value: Any) -> Any:
    return np.inf if value == "infinite" else value


def read_problem(tasks: Tasks, folder: str, facts: dict[str, Any]) -> Problem:
    """The problem of a folder; parts are read by tasks."""
    shared = read_arrays(os.path.join(folder, SHARED))
    P = len(facts["parts"])
    read = tasks.each("read", read_part, [(folder, p) for p in range(P)])
    parts, local, widths = (tasks.each("read-of", first_of, [(each, i) for each in read]) for i in range(3))
    component = np.split(shared["component"], np.cumsum(shared["n_component"])[:-1])
    graphs = [GraphFacts(**each) for each in facts["graphs"]]
    bandwidth = _number(facts["bandwidth"])
    own = widths if bandwidth is None else None
    graph = PartedGraph(local, graphs, shared["starts"], component, bandwidth, own)
    rule = None if facts["rule"] is None else Rule(**facts["rule"])
    part_facts = [PartFacts(sums=sums, **each) for sums, each in zip(shared["sums"], facts["parts"], strict=True)]
    numbers = {name: facts[name] for name in ("lam", "length", "spread", "recall", "asked", "share")}
    cells = Cells(shared["centers"], shared["cell_parts"])
    return Problem(tasks, cells, parts, part_facts, graph, bandwidth=bandwidth, rule=rule, **numbers)


@dataclass(frozen=True)
class Resumed:
    """Where a fit goes on."""

    start: Begin
    lam: float
    history: list[Any]


class Checkpoint:
    """A folder from which a fit goes on after the program or the scheduler is gone.

    Parts and graph are written once, assignments and modes every few minutes. What was written is read again by the
    tasks that follow, so that a lost worker costs no more than what came after.
    """

    def __init__(self, folder: Any, tasks: Tasks) -> None:
        self.folder, self._tasks, self._last = os.path.abspath(os.fspath(folder)), tasks, monotonic()
        self.header: dict[str, Any] = {}
        if os.path.exists(os.path.join(self.folder, HEADER)):
            self.header = read_header(self.folder)
        elif os.path.isdir(self.folder) and os.listdir(self.folder):
            left = [name for name in os.listdir(self.folder) if not name.endswith(".npz") and not name.startswith(".")]
            if left:
                raise ValueError(f"The folder {self.folder!r} of 'checkpoint' holds other files. Name another one.")
        os.makedirs(self.folder, exist_ok=True)

    def seeds(self, drawn: list[int]) -> list[int]:
        """Those of the fit that is resumed, or else the new ones."""
        return list(self.header.get("seeds", drawn))

    def problem(self, fingerprint: dict[str, Any]) -> Problem | None:
        """The problem as it was, if it was written; refuses the checkpoint of another fit."""
        if not self.header:
            return None
        for name, value in fingerprint.items():
            if self.header["fingerprint"].get(name) != value:
                raise ValueError(
                    f"The checkpoint in {self.folder!r} was written for other {name}. Remove it, or name another."
                )
        return read_problem(self._tasks, self.folder, self.header["problem"])

    def keep_problem(self, problem: Problem, fingerprint: dict[str, Any], seeds: list[int]) -> Problem:
        """Write the problem, and go on from what was written."""
        facts = write_problem(self._tasks, self.folder, problem)
        self.header = {"fingerprint": fingerprint, "seeds": seeds, "problem": facts}
        write_header(self.folder, self.header)
        return read_problem(self._tasks, self.folder, facts)

    def keep_start(self, start: Begin) -> Begin:
        """Write the prior, which every round needs."""
        if start.priors[0] is None:
            return start
        self._write("prior", start.priors)
        return replace(start, priors=self._read("prior", len(start.priors)))

    def keep_state(self, rounds: list[Any], model: Any, history: list[Any], *, at_once: bool = False) -> list[Any]:
        """Write assignments and modes if the last time is some minutes ago; futures to go on from."""
        if not at_once and monotonic() - self._last < EVERY:
            return rounds
        before = self.header.get("state")
        number = 1 + (before["number"] if before else 0)
        self._write(f"state-{number}", rounds)
        state = {"number": number, "lam": model.lam, "pull": model.pull, "history": [list(row) for row in history]}
        state |= {"C": model.C.tolist(), "dtype": str(model.C.dtype)}
        self.header = self.header | {"state": state}
        write_header(self.folder, self.header)
        if before:
            for p in range(len(rounds)):
                Path(part_file(self.folder, f"state-{before['number']}", p)).unlink(missing_ok=True)
        self._last = monotonic()
        return rounds

    def resumed(self, P: int) -> Resumed | None:
        """The last state that was written."""
        state = self.header.get("state")
        if state is None:
            return None
        priors = self._read("prior", P) if state["pull"] else [None] * P
        C = np.array(state["C"], dtype=state["dtype"])
        history = [tuple(row) for row in state["history"]]
        return Resumed(Begin(C, self._read(f"state-{state['number']}", P), priors), state["lam"], history)

    def _write(self, name: str, rows: list[Any]) -> None:
        arguments = [(self.folder, name, p, each) for p, each in enumerate(rows)]
        self._tasks.gather(self._tasks.each("write", write_rows, arguments))

    def _read(self, name: str, P: int) -> list[Any]:
        return self._tasks.each("read", read_rows, [(self.folder, name, p) for p in range(P)])


# Models.


def write_folder(path: Path, fitted: Fitted, parameters: dict[str, Any], facts: dict[str, Any]) -> None:
    """A partitioned model, whole or not at all."""
    tasks, solution = fitted.problem.tasks, fitted.solution
    partial = path.absolute().with_name(f".{path.name}.{uuid4().hex[:8]}.partial")
    partial.mkdir()
    try:
        folder = os.fspath(partial)
        problem = write_problem(tasks, folder, fitted.problem)
        P = len(solution.rounds)
        tasks.gather(tasks.each("write", write_rows, [(folder, "state", p, solution.rounds[p]) for p in range(P)]))
        if fitted.priors[0] is not None:
            tasks.gather(tasks.each("write", write_rows, [(folder, "prior", p, fitted.priors[p]) for p in range(P)]))
        arrays = {name: getattr(solution, name) for name in ("C", "history", "sizes", "traffic")}
        write_arrays(os.path.join(folder, "solution.npz"), arrays)
        status = [solution.status.name, solution.status.message]
        found = {"objective": solution.objective, "gap": solution.gap, "status": status, "pull": fitted.prior_weight}
        found["has_prior"] = fitted.priors[0] is not None
        write_header(folder, {"parameters": parameters, "problem": problem, "solution": found} | facts)
        if path.exists():
            shutil.rmtree(path)
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_folder(path: Path, tasks: Tasks) -> tuple[dict[str, Any], Fitted]:
    """(Header, model) of a folder."""
    folder = os.path.abspath(path)
    header = read_header(folder)
    problem, found = read_problem(tasks, folder, header["problem"]), header["solution"]
    P = len(problem.parts)
    Z = tasks.each("read", read_rows, [(folder, "state", p) for p in range(P)])
    rounds = tasks.each("as-round", as_round, [(Z[p], problem.graph.local[p]) for p in range(P)])
    priors = [None] * P
    if found["has_prior"]:
        priors = tasks.each("read", read_rows, [(folder, "prior", p) for p in range(P)])
    arrays = read_arrays(os.path.join(folder, "solution.npz"))
    status = Status(*found["status"])
    solution = Solution(
        arrays["C"],
        rounds,
        found["objective"],
        found["gap"],
        arrays["history"],
        arrays["sizes"],
        status,
        arrays["traffic"],
    )
    return header, Fitted(problem, solution, priors, found["pull"])


def local_copy(part: Part, local: LocalGraph, last: Round, prior: Any, width: Any) -> dict[str, Any]:
    """What one machine needs of a part."""
    return {"part": part, "local": local, "Z": last.Z, "prior": prior, "width": width}


def gather_model(fitted: Fitted, parameters: dict[str, Any], names: Any, laplacian: str, metric: str) -> SingleMachine:
    """The model of one machine, from all parts."""
    problem, solution, tasks = fitted.problem, fitted.solution, fitted.problem.tasks
    P, starts = len(problem.parts), problem.starts
    widths = problem.graph.widths or [None] * P
    own = [(problem.parts[p], problem.graph.local[p], solution.rounds[p]) for p in range(P)]
    arguments = [(*own[p], fitted.priors[p], widths[p]) for p in range(P)]
    found = tasks.gather(tasks.each("copy", local_copy, arguments))
    n = sum(each["part"].numbers.size for each in found)
    row_of, sparse = np.empty(n, dtype=np.intp), bool(parameters.get("sparse_assignments"))
    for p, each in enumerate(found):
        rows = each["part"].rows.row_of
        row_of[each["part"].numbers] = starts[p] + (np.arange(each["part"].n) if rows is None else rows)
    sample_of = np.concatenate([each["part"].row_numbers for each in found]).astype(np.intp)
    W = csr_array(vstack([_affinity(each["local"], starts, p) for p, each in enumerate(found)], format="csr"))
    if laplacian == "normalized":
        root = np.sqrt(np.concatenate([each["local"].degrees for each in found]))
        W = csr_array(diags_array(root) @ W @ diags_array(root / found[0]["local"].unit)).astype(W.dtype)
    X = np.concatenate([each["part"].X for each in found])
    weight = _joined([each["part"].weight for each in found], [each["part"].n for each in found], X.dtype)
    Z, prior = (_stacked([each[name] for each in found], sparse) for name in ("Z", "prior"))
    width = problem.bandwidth if problem.bandwidth is not None else np.concatenate([each["width"] for each in found])
    unit = problem.spread**2 if problem.bandwidth is not None and np.isinf(problem.bandwidth) else 1.0
    posed = SingleProblem(
        Points(X), build_graph(W, laplacian), problem.lam, width, weight, prior, fitted.prior_weight / unit
    )
    solved = SingleSolution(
        solution.C, Z, solution.objective, solution.gap, solution.history, np.zeros(len(X), dtype=bool), solution.status
    )
    rule, affinity = problem.rule, None
    if rule is not None:
        scale = None if found[0]["local"].scale is None else np.concatenate([each["local"].scale for each in found])
        affinity = Affinity(rule.kind, rule.n_neighbors, rule.width, scale)
    model = SingleMachine(**parameters)
    model.n_features_in_ = X.shape[1]
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    rows = RowMap(n, sample_of, row_of)
    fitted_one = single.Fitted(posed, solved, affinity, None, problem.recall)
    model._store(Trained(fitted_one, rows, int(parameters["n_neighbors"]), metric, laplacian))
    return model


def _affinity(local: LocalGraph, starts: Array, p: int) -> Any:
    """The rows of W of a part, columns by the rows of all parts."""
    n, first = local.inner.shape[0], int(starts[p])
    columns = np.concatenate([np.arange(first, first + n), local.halo])
    rows = csr_array(hstack([local.inner, local.cross], format="csr"))
    return csr_array((rows.data, columns[rows.indices], rows.indptr), shape=(n, int(starts[-1])))


def _stacked(rows: list[Any], sparse: bool) -> Any:
    if rows[0] is None:
        return None
    stacked = csr_array(vstack(rows, format="csr"))
    return stacked if sparse else as_dense(stacked)


def _joined(values: list[Any], sizes: list[int], dtype: Any) -> Array | None:
    if all(value is None for value in values):
        return None
    ones = [np.ones(size, dtype=dtype) for size in sizes]
    return np.concatenate([one if value is None else value for one, value in zip(ones, values, strict=True)])


def write_labels(file: str, labels: Array, shares: Array, first: int) -> int:
    """The clusters of one block of rows as a Parquet file; whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.arange(first + 1, first + 1 + labels.size)
    with atomic_write(file) as stream:
        pq.write_table(pa.table({"row": rows, "cluster": labels, "share": shares}), stream)
    return int(labels.size)
