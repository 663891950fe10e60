"""The Z-step in rounds: a few native sweeps over each part with its halo held, then the halo rows that changed.

With the rows of other parts held, the Z-step of a part is a Z-step of its own: what the halo contributes is linear, and
b_n + 2 lam (W Z)_n over the halo takes the place of b_n. Energy and certificate of all points are sums over parts,
taken at the beginning of each round, where every halo is what the other parts have. Solving all parts at once never
raises the energy where each is solved well, since D - W within parts + W between parts is positive semi-definite. Where
that is slow, or a rough solution raised it, the parts take accelerated steps (Beck & Teboulle 2009) in the metric of
twice the Laplacian within parts, which bounds the whole one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from .._records import Array, Problem
from .._rows import Message, as_dense, largest_columns, largest_values, one_hot, replaced_rows, scaled_rows
from ..solve.assignments import Momentum, accelerate, make_sweeps
from ..solve.newton import remaining_sweeps
from ..solve.objective import certify, nearest_mode
from ..solve.terms import DenseTerm, SparseTerm, linear_term
from .cluster import Sized, Tasks
from .graph import LocalGraph
from .parts import Part

SWEEPS = 8
"""Sweeps between two exchanges: measured, more of them save few exchanges and fewer of them cost many."""
CAREFUL_SWEEPS = 128
IDLE = 0.1
"""A part whose gap is below this share of what it may have waits for the others."""
LOCAL = 0.1
CAREFUL = 0.03
"""A part is solved until its gap is this share of what it was."""
FIRST_LOOK = 8
"""Rounds before it is asked whether they are too slow."""
SLOW = 25
"""Rounds still to come that are too many."""
MAX_ROUNDS = 400


@dataclass(frozen=True)
class Model:
    """What is minimised, the same for all parts."""

    C: Array
    lam: float
    bandwidth: float | None
    """None: each part has one width for each row."""
    pull: float
    """How much the prior counts."""
    sparse: bool

    @property
    def in_kmeans_limit(self) -> bool:
        """Whether the bandwidth is infinite."""
        return self.bandwidth is not None and bool(np.isinf(self.bandwidth))


@dataclass(frozen=True)
class Plan:
    """How a round is done."""

    tol: float
    sweeps: int = SWEEPS
    careful: bool = False
    momentum: float = 0.0


@dataclass(frozen=True)
class Stats:
    """What a round found at its beginning, over one part, and what it sent."""

    energy: float = 0.0
    gap: float = 0.0
    scale: float = 0.0
    rows_sent: int = 0
    """Halo rows of other parts that changed."""
    bytes_sent: int = 0
    sweeps: float = 0.0
    """Times rows: what the sweeps cost."""
    changed: bool = True
    uphill: float = 0.0
    """Positive where the step goes against the momentum."""


@dataclass(frozen=True)
class Round(Sized):
    """The assignments of a part after a round."""

    Z: Any
    """CSR (n, K)."""
    halo: Any
    """The halo's assignments that were held, CSR (h, K)."""
    before: Any
    """The assignments before the round, where momentum needs them."""
    out: dict[int, Message]
    """For each neighbouring part its halo rows that changed."""
    stats: Stats


def begin(local: LocalGraph, Z: Any) -> Round:
    """The first assignments; all of the halo is sent."""
    out = {q: Message.of(np.arange(rows.size), csr_array(Z[rows])) for q, rows in local.boundary.items()}
    sent = Stats(rows_sent=sum(m.gaps.size for m in out.values()), bytes_sent=sum(m.nbytes for m in out.values()))
    halo = csr_array((local.halo.size, Z.shape[1]), dtype=Z.dtype)
    return Round(Z, halo, None, out, sent)


def message_to(last: Round, part: int) -> Message | None:
    """What a round sends to one part."""
    return last.out.get(part)


def stats_of(last: Round) -> Stats:
    """The numbers of a round."""
    return last.stats


def received(local: LocalGraph, halo: Any, senders: list[int], messages: list[Message | None]) -> Any:
    """The halo with the rows that came."""
    places, rows = [], []
    for q, message in zip(senders, messages, strict=True):
        if message is not None and message.gaps.size:
            places.append(local.bounds[q][0] + message.places)
            rows.append(message.rows())
    if not places:
        return halo
    at = np.zeros(halo.shape[0], dtype=bool)
    every = np.concatenate(places)
    at[every] = True
    stacked = csr_array(vstack(rows, format="csr"))
    return replaced_rows(halo, at, stacked[np.argsort(every, kind="stable")])


def problem_of(part: Part, local: LocalGraph, width: Any, model: Model) -> Problem:
    """The part's own problem, without what the prior and the halo add."""
    return Problem(
        part.points(), local.graph(), model.lam, width if model.bandwidth is None else model.bandwidth, part.weight
    )


def prior_pull(part: Part, prior: Any, model: Model) -> Any:
    """What the prior adds to the linear term, CSR; None without one."""
    if prior is None or model.pull == 0:
        return None
    pull = prior * prior.dtype.type(model.pull)
    return csr_array(pull if part.weight is None else scaled_rows(pull, part.weight))


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else csr_array(one + other)


def relax(
    part: Part,
    local: LocalGraph,
    prior: Any,
    width: Any,
    last: Round,
    senders: list[int],
    messages: list[Message | None],
    model: Model,
    plan: Plan,
) -> Round:
    """Receive the halo, certify the assignments as they are, and improve the own ones."""
    Z, halo = last.Z, received(local, last.halo, senders, messages)
    problem, pull = problem_of(part, local, width, model), prior_pull(part, prior, model)
    kind = Z.dtype.type
    cross = csr_array(local.cross @ halo)
    term = linear_term(problem, model.C, sparse=model.sparse, extra=_sum(pull, cross * kind(2 * model.lam)))
    scale = last.stats.scale or linear_term(problem, model.C, sparse=model.sparse, kept=1, extra=pull).scale
    energy, gap = _certificate(problem, term, model.lam, Z)
    stats = Stats(energy + model.lam * float(Z.multiply(cross).sum(dtype=np.float64)), gap, scale, changed=False)
    target = plan.tol * scale
    if plan.sweeps == 0 or (gap <= IDLE * target and not plan.careful):
        return Round(Z, halo, Z if plan.careful else None, {}, stats)
    lam, y, uphill = model.lam, Z, 0.0
    if plan.careful:
        y = Z if last.before is None else ahead(Z, last.before, plan.momentum)
        further = csr_array(local.cross @ ahead(halo, last.halo, plan.momentum)) * kind(2 * lam)
        extra = _sum(_sum(pull, further), within(local, y) * kind(2 * lam))
        term, lam = linear_term(problem, model.C, sparse=model.sparse, extra=extra), 2 * lam
    sweeps = make_sweeps(problem.graph, term, lam, Z if model.sparse else as_dense(Z), target, 1)
    run = accelerate(sweeps, max((CAREFUL if plan.careful else LOCAL) * gap, 0.05 * target), plan.sweeps)
    new = csr_array(sweeps.rounded(proven=run.proven))
    if plan.careful:
        if not run.proven and _certificate(problem, term, lam, new)[0] > run.start:
            new = Z
        uphill = float((y - new).multiply(within(local, csr_array(new - Z))).sum(dtype=np.float64))
    out = changed_rows(local, Z, new)
    sent = {"rows_sent": sum(m.gaps.size for m in out.values()), "bytes_sent": sum(m.nbytes for m in out.values())}
    stats = replace(stats, **sent, sweeps=float(run.n_iter * part.n), changed=True, uphill=uphill)
    return Round(new, halo, Z if plan.careful else None, out, stats)


def ahead(now: Any, before: Any, momentum: float) -> Any:
    """Rows further on in the direction of the last step."""
    return csr_array(now + (now - before) * now.dtype.type(momentum))


def within(local: LocalGraph, Z: Any) -> Any:
    """(D - W) Z over the own rows."""
    return csr_array(diags_array(local.diagonal) @ Z - local.inner @ Z)


def _certificate(problem: Problem, term: DenseTerm | SparseTerm, lam: float, Z: Any) -> tuple[float, float]:
    """Energy of the part's own problem and its gap, in double precision."""
    if isinstance(term, DenseTerm):
        found = certify(problem.graph, term.B, lam, as_dense(Z))
    else:
        found = term.certificate(problem.graph.arrays, lam, Z)
    return found.energy, found.gap


def changed_rows(local: LocalGraph, old: Any, new: Any) -> dict[int, Message]:
    """For each neighbouring part those of its halo rows that are not what they were."""
    differ = np.diff(csr_array(old != new).indptr) > 0
    found = {}
    for q, rows in local.boundary.items():
        places = np.flatnonzero(differ[rows])
        if places.size:
            found[q] = Message.of(places, csr_array(new[rows[places]]))
    return found


def assign_nearest(part: Part, local: LocalGraph, prior: Any, width: Any, last: Round, model: Model) -> Round:
    """The Z-step without smoothing."""
    problem, pull = problem_of(part, local, width, model), prior_pull(part, prior, model)
    term = linear_term(problem, model.C, sparse=model.sparse, kept=1, extra=pull)
    plain = pull is None and not model.in_kmeans_limit
    best = nearest_mode(problem.points, model.C) if plain else term.best
    Z = one_hot(best, model.C.shape[0], part.X.dtype, sparse=True)
    energy = term.energy(Z if model.sparse else as_dense(Z))
    changed = csr_array(Z != last.Z).nnz > 0
    return Round(Z, last.halo, None, {}, Stats(energy, 0.0, term.scale, changed=changed))


def reached(part: Part, local: LocalGraph, prior: Any, width: Any, model: Model, component: Array) -> Array:
    """(Sum of the largest entries of the linear term, number of rows) of each component of the graph, (2, m)."""
    problem, pull = problem_of(part, local, width, model), prior_pull(part, prior, model)
    highest = linear_term(problem, model.C, sparse=model.sparse, kept=1, extra=pull).highest
    numbers, count = component[local.component], int(component.max()) + 1
    return np.stack([np.bincount(numbers, weights=highest, minlength=count), np.bincount(numbers, minlength=count)])


@dataclass(frozen=True)
class Solved:
    """The result of a Z-step: futures of the parts' assignments, and what is proven of all together."""

    rounds: list[Any]
    energy: float
    gap: float
    certified: bool
    sweeps: float
    """Sweeps over all rows."""
    n_rounds: int
    rows_sent: int
    bytes_sent: int
    changed: bool


@dataclass(frozen=True)
class Pieces:
    """Futures of what the steps work on, for each part, and who is whose neighbour."""

    parts: list[Any]
    local: list[Any]
    priors: list[Any]
    widths: list[Any]
    neighbors: list[list[int]]
    n_rows: int


def run_round(tasks: Tasks, pieces: Pieces, rounds: list[Any], model: Model, plan: Plan) -> tuple[Any, Any]:
    """One round over all parts: (futures, their numbers)."""
    number = tasks.number()
    graph: dict[Any, Any] = {}
    for p, senders in enumerate(pieces.neighbors):
        for q in senders:
            graph[tasks.key("message", number, q, p)] = (message_to, rounds[q], p)
        messages = [tasks.key("message", number, q, p) for q in senders]
        own = pieces.parts[p], pieces.local[p], pieces.priors[p], pieces.widths[p], rounds[p]
        graph[tasks.key("relax", number, p)] = (relax, *own, senders, messages, model, plan)
        graph[tasks.key("stats", number, p)] = (stats_of, tasks.key("relax", number, p))
    P = range(len(rounds))
    futures = tasks.run(graph, [tasks.key(name, number, p) for name in ("relax", "stats") for p in P])
    stats = tasks.gather([futures[tasks.key("stats", number, p)] for p in P])
    return [futures[tasks.key("relax", number, p)] for p in P], stats


def solve_parts(
    tasks: Tasks, pieces: Pieces, rounds: list[Any], model: Model, tol: float, *, sweeps: int = SWEEPS
) -> Solved:
    """Minimise the objective over all assignments, from those of the last rounds, to a certified gap."""
    if model.lam == 0:
        return _without_smoothing(tasks, pieces, rounds, model)
    plan, momentum = Plan(tol, sweeps), Momentum(bold=False)
    lower, last, work, sent, size = -np.inf, np.inf, 0.0, 0, 0
    gaps: list[tuple[int, float]] = []
    rounds = tasks.each("restart", forget_scale, [(each,) for each in rounds])
    for n_rounds in range(1, MAX_ROUNDS + 1):
        following, stats = run_round(tasks, pieces, rounds, model, plan)
        energy, gap, scale = (sum(getattr(each, name) for each in stats) for name in ("energy", "gap", "scale"))
        lower = max(lower, energy - gap)
        proven = energy - lower <= tol * scale
        if proven or plan.sweeps == 0:
            break
        work += sum(each.sweeps for each in stats) / pieces.n_rows
        sent, size = sent + sum(each.rows_sent for each in stats), size + sum(each.bytes_sent for each in stats)
        gaps.append((n_rounds, energy - lower))
        if not plan.careful and (energy > last or _is_slow(gaps, tol * scale)):
            plan = replace(plan, careful=True, sweeps=CAREFUL_SWEEPS)
        elif plan.careful:
            momentum.follow(energy > last or sum(each.uphill for each in stats) > 0)
            plan = replace(plan, momentum=momentum.value)
        last, rounds = energy, following
    return Solved(rounds, energy, max(energy - lower, 0.0), proven, work, n_rounds, sent, size, n_rounds > 1)


def forget_scale(last: Round) -> Round:
    """The same assignments at the beginning of another Z-step."""
    return replace(last, before=None, stats=replace(last.stats, scale=0.0))


def _is_slow(gaps: list[tuple[int, float]], target: float) -> bool:
    return len(gaps) >= FIRST_LOOK and remaining_sweeps(gaps, target) > SLOW


def _without_smoothing(tasks: Tasks, pieces: Pieces, rounds: list[Any], model: Model) -> Solved:
    number = tasks.number()
    graph: dict[Any, Any] = {}
    for p, last in enumerate(rounds):
        own = pieces.parts[p], pieces.local[p], pieces.priors[p], pieces.widths[p], last
        graph[tasks.key("assign", number, p)] = (assign_nearest, *own, model)
        graph[tasks.key("stats", number, p)] = (stats_of, tasks.key("assign", number, p))
    P = range(len(rounds))
    futures = tasks.run(graph, [tasks.key(name, number, p) for name in ("assign", "stats") for p in P])
    stats = tasks.gather([futures[tasks.key("stats", number, p)] for p in P])
    energy, changed = sum(each.energy for each in stats), any(each.changed for each in stats)
    return Solved([futures[tasks.key("assign", number, p)] for p in P], energy, 0.0, True, 1.0, 1, 0, 0, changed)


# What the assignments say of a part's samples.


def labels_of(part: Part, last: Round) -> Array:
    """The cluster of each sample."""
    return np.asarray(part.rows.spread(largest_columns(last.Z).astype(np.int32)))


def shares_of(part: Part, last: Round) -> Array:
    """Each sample's share in its own cluster."""
    return np.asarray(part.rows.spread(largest_values(last.Z)))


def assignments_of(part: Part, last: Round) -> Any:
    """The assignments of the samples, CSR."""
    return csr_array(part.rows.spread(last.Z))


def prior_of(part: Part, prior: Any) -> Any:
    """The prior of the samples, CSR."""
    return csr_array(part.rows.spread(prior))


def widths_of(part: Part, widths: Array) -> Array:
    """The bandwidth of each sample."""
    return np.asarray(part.rows.spread(widths))


def cluster_sizes(part: Part, last: Round) -> Array:
    """Samples in each cluster."""
    labels = largest_columns(last.Z)[np.arange(part.n) if part.rows.row_of is None else part.rows.row_of]
    return np.bincount(labels, minlength=last.Z.shape[1])


def finish_assignments(last: Round) -> Round:
    """A share of 1 may be a rounding error above it; what is only for the rounds goes."""
    Z = last.Z.copy()
    np.minimum(Z.data, 1, out=Z.data)
    return replace(last, Z=Z, before=None, out={})
