"""The outer loop over parts: C-step, Z-step, until the modes rest. The driver holds modes and numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._progress import Step, no_step
from .._records import HISTORY, Array, Status
from .._rows import largest_columns, replaced_rows, scaled_rows
from ..graph.neighbors import make_index
from ..solve.alternate import Stopping, status_of
from ..solve.modes import Members, Shift, Sums, add_up, climb, cluster_sums
from ..solve.objective import inverse_width
from ..solve.terms import linear_term
from .assignments import Model, Pieces, Round, Solved, prior_pull, problem_of, solve_parts
from .cluster import Tasks
from .graph import LocalGraph, PartedGraph
from .parts import Part

FAINT = 1e-6
"""Kernel values below this share of the usual ones do not reach a component."""


@dataclass(frozen=True)
class Solution:
    """A fixed point of the alternation: futures of the assignments, and small arrays."""

    C: Array
    rounds: list[Any]
    objective: float
    gap: float
    history: Array
    sizes: Array
    """Samples in each cluster."""
    status: Status
    traffic: Array
    """For each alternation (rounds, sweeps, halo rows sent, bytes sent)."""


def list_members(part: Part, last: Round) -> Members:
    """The rows with a share in each cluster."""
    Z = last.Z if part.weight is None else scaled_rows(last.Z, part.weight)
    return Members.of(Z, 1)


def shift_sums(part: Part, members: Members, C: Array, sigma: Any, width: Any, active: Array) -> Sums:
    """What mean-shift adds up over one part."""
    h = inverse_width(width if sigma is None else sigma, part.X.dtype)
    return cluster_sums(part.points(), members, C, h, active)


def shift_parts(tasks: Tasks, pieces: Pieces, rounds: list[Any], model: Model, tol: float, length: float) -> Any:
    """The C-step: mean-shift over all parts, whose sums are added in their order."""
    P = len(rounds)
    members = tasks.each("members", list_members, [(pieces.parts[p], rounds[p]) for p in range(P)])

    def shift(C: Array, active: Array) -> Shift:
        arguments = [(pieces.parts[p], members[p], C, model.bandwidth, pieces.widths[p], active) for p in range(P)]
        found = tasks.gather(tasks.each("shift", shift_sums, arguments))
        by_cluster = [
            np.stack([getattr(each, name) for each in found], axis=1) for name in ("peak", "mass", "value", "sums")
        ]
        flat = [each.reshape(-1, *each.shape[2:]) for each in by_cluster]
        return add_up(Sums(*flat), np.arange(0, C.shape[0] * P + 1, P))

    sigma = np.inf if model.in_kmeans_limit else length
    return climb(model.C, sigma, shift, tol=tol)


def alternate(
    tasks: Tasks,
    pieces: Pieces,
    model: Model,
    rounds: list[Any],
    stopping: Stopping,
    length: float,
    step: Step = no_step,
    keep: Callable[[list[Any], Model, list[Any]], list[Any]] | None = None,
    history: list[Any] | None = None,
) -> tuple[Model, Solved, Array, Status, Array]:
    """Minimise the objective from a start; `keep` is called after each alternation, to write a checkpoint."""
    rest = stopping.tol * length
    history = list(history or [])
    traffic: list[tuple[float, ...]] = []
    rests = stopped = False
    while len(history) < stopping.max_iter and not (rests or stopped):
        began = perf_counter()
        modes = shift_parts(tasks, pieces, rounds, model, 0.1 * rest, length)
        model, middle = replace(model, C=modes.C), perf_counter()
        found = solve_parts(tasks, pieces, rounds, model, stopping.gap)
        rests = modes.moved <= rest and (model.lam > 0 or not stopping.exact or not found.changed)
        rounds, seconds = found.rounds, (middle - began, perf_counter() - middle)
        steps = max(1, round(found.sweeps))
        history.append((found.energy, found.gap, modes.moved, modes.n_iter, steps, *seconds))
        traffic.append((found.n_rounds, found.sweeps, found.rows_sent, found.bytes_sent))
        stopped = step(1, f"objective {found.energy:.6g}  gap {found.gap:.1e}  moved {modes.moved:.1e}")
        if keep is not None:
            rounds = keep(rounds, model, history)
            found = replace(found, rounds=rounds)
    table = np.array(history, dtype=HISTORY)
    status = status_of(table, found.certified, rests, stopped)
    return model, found, table, status, np.array(traffic)


def reached(part: Part, local: LocalGraph, prior: Any, width: Any, model: Model, component: Array) -> Array:
    """(Sum of the largest entries of the linear term, number of rows) of each component of the graph, (2, m)."""
    problem, pull = problem_of(part, local, width, model), prior_pull(part, prior, model)
    highest = linear_term(problem, model.C, sparse=model.sparse, kept=1, extra=pull).highest
    numbers, count = component[local.component], int(component.max()) + 1
    return np.stack([np.bincount(numbers, weights=highest, minlength=count), np.bincount(numbers, minlength=count)])


def unreached_components(tasks: Tasks, pieces: Pieces, graph: PartedGraph, model: Model) -> Array:
    """The components whose kernel values sum to less than the certificate resolves: any assignment is optimal there."""
    if model.lam == 0 or model.in_kmeans_limit or graph.n_components == 1:
        return np.empty(0, dtype=np.int64)
    arguments = [
        (pieces.parts[p], pieces.local[p], pieces.priors[p], pieces.widths[p], model, graph.component[p])
        for p in range(len(pieces.parts))
    ]
    sums, sizes = np.zeros(graph.n_components), np.zeros(graph.n_components)
    for highest, count in tasks.gather(tasks.each("reached", reached, arguments)):
        sums[: highest.size] += highest
        sizes[: count.size] += count
    return np.flatnonzero(sums <= FAINT * sums.sum() * sizes / sizes.sum())


def nearest_reached(part: Part, local: LocalGraph, component: Array, unreached: Array, X: Array) -> Any:
    """For each unreached component (its number, the least distance from a reached row, which one)."""
    numbers = component[local.component]
    rows = np.flatnonzero(np.isin(numbers, unreached))
    if rows.size == 0:
        return []
    near = make_index(X, 1).query(part.X[rows], 1)
    order = np.lexsort((near.distances[:, 0], numbers[rows]))
    found, first = np.unique(numbers[rows][order], return_index=True)
    at = order[first]
    return list(zip(found.tolist(), near.distances[at, 0].tolist(), near.indices[at, 0].tolist(), strict=True))


def reached_rows(part: Part, local: LocalGraph, component: Array, unreached: Array, last: Round, most: int) -> Any:
    """Some rows of reached components and their assignments."""
    rows = np.flatnonzero(~np.isin(component[local.component], unreached))
    rows = rows[:: max(1, -(-rows.size // most))]
    return part.X[rows], csr_array(last.Z[rows])


def with_components(local: LocalGraph, component: Array, rows: dict[int, Any], last: Round) -> Round:
    """Some components, whole, with the assignments of a row elsewhere."""
    numbers = component[local.component]
    at = np.isin(numbers, list(rows))
    if not at.any():
        return last
    from scipy.sparse import vstack

    new = csr_array(vstack([rows[number] for number in numbers[at].tolist()], format="csr"), dtype=last.Z.dtype)
    return replace(last, Z=replaced_rows(last.Z, at, new))


def cluster_sizes(part: Part, last: Round) -> Array:
    """Samples in each cluster."""
    labels = largest_columns(last.Z)[np.arange(part.n) if part.rows.row_of is None else part.rows.row_of]
    return np.bincount(labels, minlength=last.Z.shape[1])


def finish_assignments(last: Round) -> Round:
    """A share of 1 may be a rounding error above it; what is only for the rounds goes."""
    Z = last.Z.copy()
    np.minimum(Z.data, 1, out=Z.data)
    return replace(last, Z=Z, before=None, out={})
