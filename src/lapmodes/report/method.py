"""The sections on the method: levels, how many clusters, whether the result can be trusted, and each parameter."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .content import ReportContent, row_name, selection_reason, selection_rows
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
LEVEL = '<p>{0}</p><svg role="img" aria-label="{0}" preserveAspectRatio="none" viewBox="0 0 1000 10">{1}</svg>'
LISTED = 200
"""Clusters in the table of all levels."""
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


def level_tree(content: ReportContent) -> str:
    """The levels as bars, and the clusters of all of them in a table that is folded away."""
    layers = content.layers
    assert layers is not None
    levels, rows = list(layers.n_clusters), layers.table
    cells = [
        [
            f"{row['cluster']} of {row['n_clusters']}",
            escape(row_name(content, int(row["id"]))),
            number(int(row["size"])),
            "" if row["parent"] < 0 else f"{row['parent']} of {levels[levels.index(row['n_clusters']) - 1]}",
        ]
        for row in rows[:LISTED]
    ]
    title = "Clusters of all levels" if rows.size <= LISTED else f"The first {LISTED} clusters of all levels"
    header = ["cluster", "densest around", "rows", "part of cluster"]
    least = float(layers.consistency.min(initial=1.0))
    share = "all rows" if least == 1 else f"at least {percent(least)} of the rows"
    return (
        f"<p>The rows were clustered on {counted(len(levels), 'level')} at once, and this page is about the one with "
        f"{counted(content.n_clusters, 'cluster')}. Each bar is a cluster, as wide as it has rows, below the one that "
        f"it is a part of; {share} lie in the cluster that theirs is a part of.</p>"
        f"{level_bars(content, rows, levels)}"
        f"<details><summary>The clusters</summary>{table(title, header, cells, kind='wide')}</details>"
    )


def level_bars(content: ReportContent, rows: Any, levels: list[int]) -> str:
    """A row of bars for each level; finer clusters have the colour of that on the page's own level."""
    own, color, left = levels.index(content.n_clusters), "", [0.0] * len(levels)
    bars: list[list[str]] = [[] for _ in levels]
    for row in rows:
        level, width = levels.index(row["n_clusters"]), 1000 * float(row["size"]) / content.n
        color = f' class="k{row["cluster"]}"' if level == own else color if level > own else ""
        label = f"cluster {row['cluster']} of {row['n_clusters']}: {counted(int(row['size']), 'row')}"
        place = f'x="{left[level]:.1f}" width="{width:.1f}" height="10"'
        bars[level].append(f"<rect{color} {place}><title>{label}</title></rect>")
        left[level] += width
    shown = zip(levels, bars, strict=True)
    return (
        '<div class="levels">'
        + "".join(LEVEL.format(counted(K, "cluster"), "".join(each)) for K, each in shown)
        + "</div>"
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
