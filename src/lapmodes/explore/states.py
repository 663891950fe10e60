"""States of an exploration, and the pure function that leads from one to the next by an act."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import LaplacianKModes, Layers, fit_layers, sub_cluster
from .._records import Array
from .._rows import contingency
from .._warnings import warnings_as_notes
from .acts import (
    PER_DOUBLING,
    WITHOUT_FIT,
    Act,
    Hide,
    Label,
    LeaveOut,
    Level,
    Link,
    Merge,
    Name,
    Paint,
    Split,
    Turn,
)
from .refit import merge_clusters, refit

Hook = Callable[[str, int, int | None, str], Any]
"""hook(phase, done, total, info), as the parameter `verbose` of the estimators; what it raises ends the work."""
MANY_ROWS = 20_000
"""Above this, only few levels are computed ahead."""
AROUND = 20, 4
"""How far levels reach from the number of clusters, for few rows and for many."""


@dataclass(frozen=True)
class State:
    """A clustering, and everything that a person said about it."""

    model: LaplacianKModes
    names: tuple[str, ...]
    """Of each cluster; empty where it has none."""
    colors: tuple[str, ...]
    """Of each cluster; empty for the usual one."""
    hidden: tuple[bool, ...]
    notches: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PER_DOUBLING, 0))
    known: Array | None = None
    """The cluster that was said of each sample, -1 where none was."""
    links: tuple[tuple[int, ...], ...] = ()
    left_out: Array | None = None
    """Mask of the samples that were left out."""
    notes: tuple[str, ...] = ()
    """Warnings of the fit."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.model.n_clusters_)

    @property
    def labels(self) -> Array:
        """The cluster of each sample; -1 for those that were left out."""
        labels = np.asarray(self.model.labels_)
        return labels if self.left_out is None else np.where(self.left_out, -1, labels)

    @property
    def held(self) -> Array | None:
        """What was said of samples that are not left out."""
        if self.known is None or self.left_out is None:
            return self.known
        return np.where(self.left_out, -1, self.known)

    @property
    def nbytes(self) -> int:
        """Memory of what this state does not share with others."""
        Z = self.model.assignments_
        return 3 * int(Z.nbytes if isinstance(Z, np.ndarray) else Z.data.nbytes * 2)


class Base:
    """Where an exploration begins: a fitted model and its rows, and the levels that follow from them."""

    def __init__(self, model: LaplacianKModes, points: Any, levels: tuple[int, ...] | None = None) -> None:
        seed = model.random_state
        self.model = model
        self.points = points
        self.seed = seed if isinstance(seed, (int, np.integer)) else 0
        self.levels = usual_levels(model, points.shape[0]) if levels is None else levels
        self._layers: Layers | None = None
        self._lock = threading.Lock()

    def first_state(self) -> State:
        """The fit itself."""
        K = self.model.n_clusters_
        names = tuple(getattr(self.model, "cluster_names_", None) or [""] * K)
        return State(self.model, names, ("",) * K, (False,) * K)

    @property
    def has_layers(self) -> bool:
        """Whether the levels are computed."""
        return self._layers is not None

    def layers(self, hook: Hook | None = None, **changed: Any) -> Layers:
        """The levels, computed once, by whoever asks first; `changed` are parameters that do not change the result."""
        with self._lock:
            if self._layers is None:
                parameters = self.model.get_params(deep=False)
                own = {"n_clusters", "init", "n_init", "verbose", "random_state"}
                kept = {name: value for name, value in parameters.items() if name not in own} | changed
                graph = self.model.graph_ if self.model.graph_given_ else None
                self._layers = fit_layers(
                    self.points, self.levels, graph=graph, random_state=self.seed, verbose=hook or False, **kept
                )
            return self._layers

    def fingerprint(self) -> str:
        """What tells this beginning from others."""
        digest = hashlib.sha256(np.ascontiguousarray(self.model.labels_, dtype=np.int32).tobytes())
        digest.update(np.asarray([self.model.lam_, self.model.objective_], dtype=np.float64).tobytes())
        return digest.hexdigest()[:16]


def usual_levels(model: LaplacianKModes, n: int) -> tuple[int, ...]:
    """Numbers of clusters to go through: up to twice as many, at least 12; where rows are many, only those around."""
    K = int(model.n_clusters_)
    if type(model) is not LaplacianKModes or model.lam_ == 0 or K > 200:
        return ()
    around = AROUND[n > MANY_ROWS]
    most = min(K + around, max(12, 2 * K), n // 2)
    return tuple(range(max(2, K - around), most + 1))


def apply(base: Base, state: State, act: Act, hook: Hook | None = None) -> State:
    """The state after an act. It depends on its arguments alone, so a chain of acts can be repeated anywhere."""
    if isinstance(act, WITHOUT_FIT):
        return _described(state, act)
    watched = _watched(state.model, hook)
    with warnings_as_notes() as notes:
        changed = _fitted(base, replace(state, model=watched), act, hook)
    changed.model.set_params(verbose=False)
    return replace(changed, notes=tuple(notes))


def _watched(model: LaplacianKModes, hook: Hook | None) -> LaplacianKModes:
    """The same fitted model, whose further work is watched."""
    copy: LaplacianKModes = clone(model)
    copy.__dict__.update(model.__dict__)
    return copy.set_params(verbose=hook or False)


def _described(state: State, act: Name | Paint | Hide) -> State:
    match act:
        case Name(cluster, name):
            return replace(state, names=_with(state.names, cluster, name))
        case Paint(cluster, color):
            return replace(state, colors=_with(state.colors, cluster, color))
        case Hide(cluster, hidden):
            return replace(state, hidden=_with(state.hidden, cluster, hidden))


def _with(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _fitted(base: Base, state: State, act: Act, hook: Hook | None) -> State:
    model, n = state.model, state.model.labels_.size
    match act:
        case Turn(knob, notch):
            return turn(base, state, knob, notch)
        case Level(n_clusters):
            return to_level(base, state, n_clusters, hook)
        case Split(cluster, parts):
            finer = sub_cluster(model, cluster, parts, random_state=base.seed)
            more = finer.n_clusters_ - state.n_clusters
            known = None if state.known is None else np.where(state.known >= 0, finer.labels_, -1)
            return _grown(replace(state, model=finer, known=known), more)
        case Merge(one, other):
            return merge(state, one, other)
        case Link(rows):
            linked = replace(state, links=(*state.links, rows))
            return replace(linked, model=refit(model, must_link=chain(rows, state.left_out)))
        case Label(rows, cluster):
            known = np.full(n, -1, dtype=np.int32) if state.known is None else state.known.copy()
            known[list(rows)] = cluster
            labelled = replace(state, known=known)
            return replace(labelled, model=refit(model, partial_labels=labelled.held))
        case LeaveOut(rows):
            mask = np.zeros(n, dtype=bool) if state.left_out is None else state.left_out.copy()
            mask[list(rows)] = True
            return replace(state, model=refit(model, leave_out=mask), left_out=mask)
    raise AssertionError(act)


def turn(base: Base, state: State, knob: str, notch: int) -> State:
    """Follow the solution from the knob's notch to another, notch by notch."""
    model, now = state.model, state.notches[knob]
    for at in range(now, notch, 1 if notch > now else -1):
        following = at + (1 if notch > now else -1)
        model = refit(model, **{knob: knob_value(base.model, knob, following)})
    return replace(state, model=model, notches=state.notches | {knob: notch})


def knob_value(model: LaplacianKModes, knob: str, notch: int) -> Any:
    """The value of a knob at a notch; an array where each sample has a bandwidth of its own."""
    first = model.prior_weight if knob == "prior_weight" else getattr(model, f"{knob}_")
    return first * 2.0 ** (notch / PER_DOUBLING[knob])


def usable_knobs(model: LaplacianKModes) -> dict[str, str]:
    """For each knob why it cannot be turned; empty where it can."""
    return {
        "lam": "" if model.lam_ > 0 else "This model has no graph to be smooth over.",
        "bandwidth": "" if np.isfinite(model.bandwidth_).all() else "The kernel is infinitely wide.",
        "prior_weight": "" if model.prior_ is not None else "The start of this model brought no prior.",
    }


def to_level(base: Base, state: State, n_clusters: int, hook: Hook | None) -> State:
    """The level of so many clusters, with all that was said of rows said again, and names where most rows went."""
    if n_clusters == base.model.n_clusters_:
        level = base.model
    elif n_clusters not in base.levels:
        there = ", ".join(map(str, base.levels)) or "none"
        raise ValueError(f"There is no level of {n_clusters} clusters. Levels: {there}.")
    else:
        level = base.layers(hook)[n_clusters]
    level = _watched(level, hook)
    successor, heir = matched(state.labels, level.labels_, state.n_clusters, n_clusters)
    known = None if state.known is None else np.where(state.known >= 0, successor[state.known], -1)
    said: dict[str, Any] = {knob: knob_value(base.model, knob, notch) for knob, notch in state.notches.items() if notch}
    if state.left_out is not None:
        said["leave_out"] = state.left_out
    if state.links:
        said["must_link"] = np.concatenate([chain(rows) for rows in state.links])
    if known is not None:
        said["partial_labels"] = known
    return replace(
        state,
        model=refit(level, **said) if said else level,
        known=known,
        names=tuple(state.names[k] if k >= 0 else "" for k in heir),
        colors=tuple(state.colors[k] if k >= 0 else "" for k in heir),
        hidden=tuple(state.hidden[k] if k >= 0 else False for k in heir),
    )


def matched(before: Array, after: Array, n_before: int, n_after: int) -> tuple[Array, Array]:
    """(for each cluster before the one where most of its rows went, for each one after whose heir it is, or -1)."""
    there = before >= 0
    common = contingency(before[there], after[there], max(n_before, n_after))
    successor = common[:n_before, :n_after].argmax(axis=1)
    heir = np.full(n_after, -1)
    for k in np.argsort(common.max(axis=1)[:n_before], kind="stable"):  # the largest comes last and wins
        heir[successor[k]] = k
    return successor, heir


def merge(state: State, one: int, other: int) -> State:
    """Join two clusters; the name of the larger one stays, or that of the other where it has none."""
    coarser = merge_clusters(state.model, one, other)
    sizes = np.bincount(state.model.labels_, minlength=state.n_clusters)
    kept, gone = (one, other) if sizes[one] >= sizes[other] else (other, one)
    names = list(state.names)
    names[kept] = names[kept] or names[gone]
    known = state.known
    if known is not None:
        joined = np.where(known == gone, kept, known)
        known = np.where(joined > gone, joined - 1, joined)
    return replace(
        state,
        model=coarser,
        names=tuple(names[:gone] + names[gone + 1 :]),
        colors=state.colors[:gone] + state.colors[gone + 1 :],
        hidden=state.hidden[:gone] + state.hidden[gone + 1 :],
        known=known,
    )


def _grown(state: State, more: int) -> State:
    """The state with room for further clusters."""
    return replace(
        state,
        names=state.names + ("",) * more,
        colors=state.colors + ("",) * more,
        hidden=state.hidden + (False,) * more,
    )


def chain(rows: Iterable[int], left_out: Array | None = None) -> Array:
    """Pairs that tie rows into a ring, without those left out: each is next to two others, none to many."""
    ring = np.fromiter(rows, dtype=np.intp)
    ring = ring if left_out is None else ring[~left_out[ring]]
    pairs = np.column_stack([ring, np.roll(ring, -1)])
    return pairs[: ring.size - 1] if ring.size <= 2 else pairs
