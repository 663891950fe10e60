"""The sections on the method: whether the result can be trusted, how the data was prepared, and each parameter."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .content import ReportContent, selection_reason, selection_rows
from .markup import counted, line_chart, number, percent, table

MEANING = {
    "n_clusters": "How many clusters.",
    "lam": "Smoothness λ: how strongly neighbouring rows are drawn into one cluster.",
    "bandwidth": "Kernel width σ: how far around a mode counts as near it.",
    "affinity": "How the similarity of neighbours is weighed.",
    "n_neighbors": "Neighbours of each row in the graph.",
    "metric": "How distance is measured.",
    "laplacian": "How the smoothness is normalised.",
    "init": "Where the search starts.",
    "prior_weight": "How much the votes of the start count, where it has any.",
    "sparse_assignments": "Whether shares are kept without their zeros.",
    "n_init": "How many starts were tried.",
    "max_iter": "Most rounds of the search.",
    "tol": "When the search rests.",
    "random_state": "Seed of the random start; the same seed gives the same result.",
}
UNFINISHED = ("stopped", "not converged")
"""How a fit ends whose modes still moved."""
HIDDEN = ("verbose", "n_jobs")
COMPARED = (
    "Smallest is the size of the smallest cluster. In the other columns more is better: agreement between unlike ways "
    "of clustering; separation, how empty the borders are (about 1 may be chance); stability, what share of a cluster "
    "comes back from a random half of the rows, with its spread over such halves."
)


def proof(content: ReportContent) -> str:
    """Convergence and the certificate in plain words."""
    model = content.model
    scale = max(abs(model.objective_), np.finfo(float).tiny)
    rest = "was stopped before it came to rest" if model.status_ in UNFINISHED else "came to rest"
    exact = model.status_ != "not certified"
    kept = "this was proven to the accuracy asked for" if exact else "this is more than was asked for"
    gain = f"by more than {number(model.gap_)} ({percent(model.gap_ / scale)} of it)" if model.gap_ > 0 else "at all"
    rounds = list(range(1, model.n_iter_ + 1))
    charts = [
        line_chart(title, "rounds", rounds, model.history_[field].tolist())
        for title, field in (("Objective, lower is better", "objective"), ("Proven gap", "gap"))
    ]
    return (
        f"<p>The search {rest} after {counted(model.n_iter_, 'round')}. Given these modes, no other way of sharing "
        f"the rows among the clusters could lower the objective {gain}; {kept}. The modes themselves are a good "
        "solution, not provably the best of all: another start may find another.</p>"
        f'<div class="charts">{"".join(charts)}</div>'
    )


def selection_charts(content: ReportContent) -> str:
    """How the number of clusters was chosen: a small chart for each criterion, the figures folded away."""
    selection = content.selection
    assert selection is not None
    chosen = selection.n_clusters
    header, rows = selection_rows(selection)
    tried = [row[0] for row in rows]
    mark = chosen if chosen in tried else None
    charts = [
        line_chart(title, header[0], tried, [row[i] for row in rows], chosen=mark, best=selection.preferred.get(title))
        for i, title in enumerate(header)
        if i > 0 and title != "spread"
    ]
    cells = [[f"{row[0]}{' (chosen)' if row[0] == chosen else ''}", *map(number, row[1:])] for row in rows]
    return (
        f"<p>{counted(chosen, 'cluster')}: {escape(selection_reason(selection))}.</p>"
        f'<div class="charts">{"".join(charts[::-1])}</div>'
        f"<p class=quiet>The upright line marks the number that was taken, a large dot what a criterion would take by "
        f"itself. {COMPARED}</p><details><summary>The figures</summary>"
        f"{table('Numbers of clusters that were compared', header, cells, kind='wide')}</details>"
    )


def parameter_table(content: ReportContent) -> str:
    """Name, value, meaning and reason of each parameter."""
    rows = []
    for name, value in sorted(content.model.get_params(deep=False).items(), key=lambda pair: order(pair[0])):
        if name in HIDDEN or (name not in MEANING and value is None):
            continue
        rows.append(
            [f"<code>{name}</code>", used(content, name, value), MEANING.get(name, ""), reason(content, name, value)]
        )
    return table("Every parameter of the fit", ["parameter", "value", "what it is", "why"], rows, kind="list")


def order(name: str) -> int:
    """The parameters that matter most come first."""
    known = list(MEANING)
    return known.index(name) if name in known else len(known)


def used(content: ReportContent, name: str, value: Any) -> str:
    """The value that was used in the end."""
    if name == "lam":
        return number(float(content.model.lam_))
    if name == "bandwidth":
        width = content.model.bandwidth_
        return f"one for each row, about {number(float(np.median(width)))}" if np.ndim(width) else number(float(width))
    if np.ndim(value) > 0 or isinstance(value, tuple):
        return "given as arrays"
    return escape(number(value) if not callable(value) else "your own function")


def reason(content: ReportContent, name: str, value: object) -> str:
    """Who chose the value."""
    if name == "n_clusters" and content.selection is not None:
        return f"Chosen: {escape(selection_reason(content.selection))}."
    if value == "auto" or (name == "bandwidth" and isinstance(value, str)):
        return "Chosen from the data by the rule “" + value + "”."
    return "Set for this run." if name in content.given else "The default."
