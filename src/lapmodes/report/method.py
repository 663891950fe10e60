"""The section on parameters: what each was, and why."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .story import Story
from .words import number, table

MEANING = {
    "n_clusters": "How many clusters.",
    "lam": "Smoothness λ: how strongly neighbouring rows are drawn into one cluster.",
    "bandwidth": "Kernel width σ: how far around a mode counts as near it.",
    "affinity": "How the similarity of neighbours is weighed.",
    "n_neighbors": "Neighbours of each row in the graph.",
    "metric": "How distance is measured.",
    "laplacian": "How the smoothness is normalised.",
    "init": "Where the search starts.",
    "anchor": "How much the start counts against the objective.",
    "balance": "How strongly clusters are kept from growing.",
    "sparse_assignments": "Whether shares are kept without their zeros.",
    "path": "Steps from K-means on the way to the result.",
    "n_init": "How many starts were tried.",
    "max_iter": "Most rounds of the search.",
    "tol": "When the search rests.",
    "random_state": "Seed of the random start; the same seed gives the same result.",
}
HIDDEN = ("callback", "verbose", "n_jobs")


def parameter_table(story: Story) -> str:
    """Name, value, meaning and reason of each parameter."""
    rows = []
    for name, value in sorted(story.model.get_params(deep=False).items(), key=lambda pair: order(pair[0])):
        if name in HIDDEN or (name not in MEANING and value is None):
            continue
        rows.append(
            [f"<code>{name}</code>", used(story, name, value), MEANING.get(name, ""), reason(story, name, value)]
        )
    return table("Every parameter of the fit", ["parameter", "value", "what it is", "why"], rows, numeric=False)


def order(name: str) -> int:
    """The parameters that matter most come first."""
    known = list(MEANING)
    return known.index(name) if name in known else len(known)


def used(story: Story, name: str, value: Any) -> str:
    """The value that was used in the end."""
    if name == "lam":
        return number(float(story.model.lam_))
    if name == "bandwidth":
        width = story.model.bandwidth_
        return f"one for each row, about {number(float(np.median(width)))}" if np.ndim(width) else number(float(width))
    if np.ndim(value) > 0 or isinstance(value, tuple):
        return "given as arrays"
    return escape(number(value) if not callable(value) else "your own function")


def reason(story: Story, name: str, value: object) -> str:
    """Who chose the value."""
    if name == "n_clusters" and story.selection is not None:
        return f"Chosen: {escape(story.selection.why)}."
    if isinstance(value, str) and value in ("auto", "adaptive"):
        return "Chosen from the data by the rule “" + value + "”."
    return "Set for this run." if name in story.given else "The default."
