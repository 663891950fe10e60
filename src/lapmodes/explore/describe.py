"""What the page is told: the state in numbers and words, the clusters, what an act changed, rows to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .._rows import as_dense, contingency
from ..metrics import assignment_entropy
from ..report.clusters import Portraits, portray, typical_rows
from ..report.content import row_name
from ..report.markup import number
from ..report.payload import two_largest
from ..report.rows import training_score
from .acts import KNOB_NAMES, NOTCHES, PER_DOUBLING, in_words
from .maps import CODES, View
from .session import Session
from .states import State, knob_value, usable_knobs
from .study import Study, cluster_colors, cut

FLOWS = 8
"""Movements between clusters that are named."""
NOTABLE = 0.2
"""A cluster has split, or two have merged, where at least this share of its rows went, or came from, elsewhere."""
SHOWN_VALUES = 8
"""Columns of a cluster that are shown."""
SHOWN_TERMS = 10
REVIEWED = 200
"""Rows in each list of those to look at."""
SCALES = {"light": ("#00306f", "#7d7c78", "#d8a200"), "dark": ("#5f87c4", "#a5a08a", "#ffe94e")}
"""From low to high; both ends stand out from the page."""
STEPS = 64
"""Of a scale of colours."""


def snapshot(study: Study, session: Session, version: int, change: dict[str, Any] | None) -> dict[str, Any]:
    """The state as the page shows it; small, whatever the number of rows."""
    state = session.state
    return {
        "version": version,
        "n": study.n,
        "title": study.title,
        "clusters": clusters_in_brief(state),
        "knobs": knobs(session, state),
        "levels": list(session.base.levels),
        "levels_ready": session.base.has_layers,
        "objective": float(state.model.objective_),
        "gap": float(state.model.gap_),
        "status": state.model.status_,
        "notes": list(state.notes),
        "acts": act_list(session),
        "done": session.done,
        "change": change,
        "decided": 0 if state.known is None else int((state.known >= 0).sum()),
        "left_out": 0 if state.left_out is None else int(state.left_out.sum()),
    }


def clusters_in_brief(state: State) -> list[dict[str, Any]]:
    """Size, name, colour of each cluster, and whether it is shown."""
    labels = state.labels
    sizes = np.bincount(labels[labels >= 0], minlength=state.n_clusters)
    return [
        {"size": int(size), "name": name, "color": color, "hidden": hidden}
        for size, name, color, hidden in zip(sizes, state.names, cluster_colors(state), state.hidden, strict=True)
    ]


def knobs(session: Session, state: State) -> list[dict[str, Any]]:
    """Each knob with its notch, the values at all notches, and why it cannot be turned, if it cannot."""
    base = session.base.model
    found = []
    for knob, why in usable_knobs(base).items():
        notches = range(-NOTCHES[knob], NOTCHES[knob] + 1)
        values = [] if why else [float(np.median(knob_value(base, knob, notch))) for notch in notches]
        texts = [number(value) for value in values]
        found.append({"knob": knob, "name": KNOB_NAMES[knob], "notch": state.notches[knob], "most": NOTCHES[knob]})
        found[-1] |= {"values": texts, "why": why, "per_doubling": PER_DOUBLING[knob]}
    return found


def act_list(session: Session) -> list[str]:
    """All acts in words, those that were undone included."""
    return [in_words(act) for act in session.acts]


def change_between(before: State, after: State, act: str) -> dict[str, Any]:
    """What an act changed: rows that moved, clusters that split or merged, objective and gap."""
    old, new = before.labels, after.labels
    there = (old >= 0) & (new >= 0)
    size = max(before.n_clusters, after.n_clusters)
    common = contingency(old[there], new[there], size)[: before.n_clusters, : after.n_clusters]
    home = _home(common)
    moved = there & (new != home[np.maximum(old, 0)])
    flows = [(int(common[k, j]), k, j) for k, j in np.argwhere(common > 0).tolist() if j != home[k]]
    flows = sorted(flows, reverse=True)[:FLOWS]
    from_one = common / np.maximum(common.sum(axis=1, keepdims=True), 1)
    into_one = common / np.maximum(common.sum(axis=0, keepdims=True), 1)
    return {
        "act": act,
        "moved": int(moved.sum()),
        "flows": [{"rows": count, "from": k, "to": j} for count, k, j in flows],
        "split": [k for k in range(before.n_clusters) if (from_one[k] >= NOTABLE).sum() > 1],
        "merged": [j for j in range(after.n_clusters) if (into_one[:, j] >= NOTABLE).sum() > 1],
        "n_clusters": [before.n_clusters, after.n_clusters],
        "objective": [float(before.model.objective_), float(after.model.objective_)],
        "gap": [float(before.model.gap_), float(after.model.gap_)],
        "iterations": int(after.model.n_iter_),
    }


def _home(common: Array) -> Array:
    """For each cluster before the one after it that is its own: the same number, or where most of its rows are."""
    n = min(common.shape)
    home = common.argmax(axis=1)
    own = np.diagonal(common)
    same = own >= 0.5 * np.maximum(common.sum(axis=1)[:n], 1)
    home[:n][same] = np.arange(n)[same]
    return np.asarray(home)


def cluster_details(study: Study, state: State) -> list[dict[str, Any]]:
    """For each cluster its mode and a real row, what sets it apart, and how dense it is."""
    content = study.of(state)
    portraits = portray(content)
    density = study.log_density
    middle = float(np.median(density))
    found = []
    for k in range(state.n_clusters):
        members = np.flatnonzero(state.labels == k)
        dense = float(np.median(density[members])) - middle if members.size else 0.0
        found.append(
            {
                "words": portraits.words[k],
                "density": float(np.clip(np.exp(dense), 0, 1e6)),
                "values": mode_values(content, portraits, k),
                "terms": terms(portraits, k) if issparse(content.rows) else [],
                "typical": typical_rows(content, k) if content.image_shape is not None and members.size else [],
                "exemplar": cut(row_name(content, int(state.model.exemplars_[k]))),
            }
        )
    return found


def mode_values(content: Any, portraits: Portraits, k: int) -> list[dict[str, Any]]:
    """The mode in the columns' units, the most telling columns first, and where it lies among all rows."""
    found = portraits.profile
    if found is None or content.image_shape is not None:
        return []
    values = []
    for each in portraits.traits[k][:SHOWN_VALUES]:
        i = each.column
        low, middle, high = (float(value) for value in found.quantiles[:, i])
        first, _, third = (float(value) for value in found.inside[k, :, i])
        mode = float(content.modes[k, i])
        left, right = min(low, mode), max(high, mode)
        at = [(value - left) / ((right - left) or 1.0) for value in (low, high, first, third, middle, mode)]
        place = [float(np.clip(np.nan_to_num(value), 0, 1)) for value in at]
        values.append({"name": cut(content.features[i]), "text": number(mode), "at": place})
    return values


def terms(portraits: Portraits, k: int) -> list[dict[str, Any]]:
    """The columns of sparse rows of which a cluster has most."""
    top = max((each.difference for each in portraits.traits[k]), default=1.0)
    return [
        {"name": cut(each.name), "share": float(each.difference / (top or 1.0))}
        for each in portraits.traits[k][:SHOWN_TERMS]
    ]


def review(study: Study, state: State, kind: str) -> list[dict[str, Any]]:
    """Rows to look at one by one: the most uncertain, or the likeliest outliers; not those already decided on."""
    Z = state.model.assignments_
    if kind == "uncertain":
        score = assignment_entropy(Z)
        score = np.where(score > 0, score, -1)
    else:
        score = np.asarray(training_score(state.model, study.content.points, study.log_density), dtype=float)
    if state.known is not None:
        score = np.where(state.known >= 0, -1, score)
    if state.left_out is not None:
        score = np.where(state.left_out, -1, score)
    most = min(REVIEWED, score.size)
    top = np.argpartition(-score, most - 1)[:most]
    top = top[np.argsort(-score[top], kind="stable")]
    return [{"row": int(row), "score": round(float(score[row]), 6)} for row in top[score[top] >= 0]]


def row_shares(state: State, row: int, most: int = 6) -> list[dict[str, Any]]:
    """The clusters that a row belongs to, the largest share first, and then the next best."""
    shares = as_dense(state.model.assignments_[[row]])[0]
    order = np.argsort(-shares, kind="stable")[:most]
    return [{"cluster": int(k), "share": float(shares[k])} for k in order]


def mode_places(view: View, state: State) -> dict[str, list[list[float]]]:
    """Where the modes and their exemplars are on a map; where only rows have places, modes are at their exemplars."""
    exemplars = view.positions[np.asarray(state.model.exemplars_)].astype(float)
    modes = exemplars
    if view.to_plane is not None:
        modes = np.asarray(view.to_plane(np.asarray(state.model.cluster_centers_, dtype=np.float64)), dtype=float)
    return {"modes": modes.tolist(), "exemplars": exemplars.tolist()}


def scale(dark: bool) -> Array:
    """A scale of colours, (STEPS, 3)."""
    ends = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in SCALES["dark" if dark else "light"]])
    at = np.linspace(0, 2, STEPS)
    return np.stack([np.interp(at, [0, 1, 2], ends[:, part]) for part in range(3)], axis=1)


def colouring(
    study: Study, state: State, choice: str, *, dark: bool, density: Array | None = None
) -> tuple[Array, Array]:
    """(a code for each row, the colour of each code (CODES, 4)) for pictures made by the server."""
    palette = np.zeros((CODES, 4), dtype=np.uint32)
    colors = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in cluster_colors(state)])
    labels, hidden = state.labels, np.asarray(state.hidden)
    gone = (labels < 0) | hidden[np.maximum(labels, 0)]
    if choice == "cluster":
        codes = labels.copy()
        palette[: len(colors), :3], palette[: len(colors), 3] = colors, 1
    elif choice == "soft":
        first, second, weight = two_largest(state.model.assignments_)
        mixed = colors[second] + weight[:, None] * (colors[first] - colors[second])
        red, green, blue = (np.round(mixed.T / 8.226).astype(np.int64)).clip(0, 31)
        codes = red * 1024 + green * 32 + blue
        all_codes = np.arange(32 * 32 * 32)
        parts = np.stack([all_codes // 1024, all_codes // 32 % 32, all_codes % 32], axis=1)
        palette[: all_codes.size, :3], palette[: all_codes.size, 3] = np.round(parts * 8.226), 1
    else:
        codes = np.round((STEPS - 1) * _shares_of_scale(study, state, choice, density)).astype(np.int64)
        palette[:STEPS, :3], palette[:STEPS, 3] = np.round(scale(dark)), 1
    return np.where(gone, CODES - 1, codes).astype(np.uint16), palette


def _shares_of_scale(study: Study, state: State, choice: str, density: Array | None) -> Array:
    """Where each row lies between the ends of a scale, from 0 to 1."""
    if choice == "density":
        assert density is not None
        return density / 255
    if choice == "entropy":
        return np.clip(assignment_entropy(state.model.assignments_), 0, 1)
    if choice.startswith("search:"):
        return study.search(choice.removeprefix("search:")).astype(float)
    i = int(choice.removeprefix("column:"))
    if i >= len(study.content.features):
        names, codes = np.unique(study.content.described_by[study.column_names[i]], return_inverse=True)
        return codes / max(names.size - 1, 1)
    values = as_dense(study.content.rows[:, [i]])[:, 0].astype(float)
    low, middle, high = np.nanquantile(values, [0.02, 0.5, 0.98])
    return np.nan_to_num(np.interp(values, _rising((low, middle, high)), [0, 0.5, 1]))


def _rising(knots: Sequence[float]) -> list[float]:
    """Numbers that rise, each a little above the one before where they are equal."""
    low, middle, high = knots
    step = max(abs(high - low), abs(middle), 1.0) * 1e-9
    return [low, max(middle, low + step), max(high, max(middle, low + step) + step)]
