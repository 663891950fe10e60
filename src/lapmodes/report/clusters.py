"""The clusters: what sets each apart, in words and on a card, and how columns that were not used describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._records import Array
from .._rows import as_dense, one_hot
from ..plotting.layout import choose_rows
from .content import ReportContent, dense_row, other_values, row_name, used_values, value_range
from .markup import badge, bar, counted, name, number, percent, picture, table

SHOWN = 6
TERMS = 12
TYPICAL = 6
CARDS = 60
"""Clusters that get a card each; the table at the top has all."""
FOLDED = 1500
"""Further columns on all cards together, folded away."""
PROFILED = 20_000
"""Rows from which quantiles are taken, or fewer where there are many columns."""
PROFILED_ENTRIES = 4_000_000
NOTABLE, STRIKING = 0.5, 1.5
"""Differences, in units of the spread of all rows, from which words name a column, and call it much higher or lower."""
IN_WORDS = 3
STEPS = 5
"""Columns with at most so many different values are compared by their means."""
LARGE_SHARE = 0.05
"""Of the rows: smaller clusters are compared with all rows, which the others are nearly."""
FEW_COLUMNS = 10
"""So many columns are named in words even if their names are only numbers."""
VALUES = 10
"""Values of a column in a table; the others are counted together."""
STATEMENTS = 4
LIFT = 1.1
"""How much more common a value must be in a cluster to be named."""
SPREAD = "<p>Its values are spread over the clusters much as in all rows.</p>"
OTHER = "other"


@dataclass(frozen=True)
class Profile:
    """How the values of each column are spread, in all rows and in each cluster."""

    quantiles: Array
    """(3, d): 0.02, 0.5 and 0.98 of all rows."""
    inside: Array
    """(K, 3, d): the quartiles of each cluster; NaN where it is empty."""
    difference: Array
    """(K, d): how far a cluster's middle lies from that of the other rows, in units of the spread of all rows."""
    spread: Array
    """(d,): quartile range of all rows over 1.349, or the standard deviation; infinite where a column is constant."""


@dataclass(frozen=True)
class Trait:
    """A column that sets a cluster apart."""

    column: int
    name: str
    difference: float
    """In units of the spread of all rows, or of weights where rows are sparse."""
    words: str
    """For example 'much higher flavanoids'; of sparse rows, the column's name."""


def profile(rows: Array, labels: Array, n_clusters: int) -> Profile:
    """Quantiles and differences of dense rows, from a sample where there are many."""
    some = choose_rows(labels, min(PROFILED, max(2000, PROFILED_ENTRIES // rows.shape[1])))
    values, labels = np.asarray(rows[some], dtype=np.float64), labels[some]
    ordered = np.sort(values, axis=0)
    low, first, middle, third, high = np.quantile(ordered, [0.02, 0.25, 0.5, 0.75, 0.98], axis=0)
    few = (np.diff(ordered, axis=0) > 0).sum(axis=0) < STEPS
    by_mean = few | (third <= first)
    spread = np.where(by_mean, values.std(axis=0), (third - first) / 1.349)
    spread = np.where(spread > 0, spread, np.inf)
    inside = np.full((n_clusters, 3, values.shape[1]), np.nan)
    difference = np.zeros((n_clusters, values.shape[1]))
    for k in range(n_clusters):
        own = labels == k
        if not own.any():
            continue
        inside[k] = np.quantile(values[own], [0.25, 0.5, 0.75], axis=0)
        rest = values if own.mean() < LARGE_SHARE or own.all() else values[~own]
        others = np.where(by_mean, rest.mean(axis=0), middle if rest is values else np.median(rest, axis=0))
        difference[k] = np.where(by_mean, values[own].mean(axis=0), inside[k, 1]) - others
    return Profile(np.stack([low, middle, high]), inside, difference / spread, spread)


def cluster_traits(rows: Any, labels: Array, n_clusters: int, features: Sequence[str]) -> list[list[Trait]]:
    """For each cluster the columns that set it apart from all other rows, the most telling first.

    Of dense rows the medians are compared, in units of the spread of all rows (of columns with few values the means);
    of sparse rows, such as texts, the mean weights, and only columns of which a cluster has more are named.
    """
    if issparse(rows):
        return [
            [Trait(i, features[i], lead, features[i]) for i, lead in each] for each in leads(rows, labels, n_clusters)
        ]
    return dense_traits(profile(rows, labels, n_clusters), features)


def dense_traits(found: Profile, features: Sequence[str]) -> list[list[Trait]]:
    """All columns for each cluster, the most telling first."""
    orders = np.argsort(-np.abs(found.difference), axis=1, kind="stable")
    return [
        [trait(int(i), features[i], float(difference[i])) for i in order]
        for order, difference in zip(orders, found.difference, strict=True)
    ]


def trait(column: int, feature: str, difference: float) -> Trait:
    """A column of dense rows with its difference in words."""
    much = "much " if abs(difference) >= STRIKING else ""
    return Trait(column, feature, difference, f"{much}{'higher' if difference > 0 else 'lower'} {feature}")


def leads(rows: Any, labels: Array, n_clusters: int) -> list[list[tuple[int, float]]]:
    """For each cluster the columns whose mean is most above that of all other rows, and by how much."""
    sums = csr_array(one_hot(labels, n_clusters, np.float64, sparse=True).T @ rows)
    total, sizes = np.asarray(sums.sum(axis=0)).ravel(), np.bincount(labels, minlength=n_clusters)
    found = []
    for k, size in enumerate(sizes):
        own = as_dense(sums[[k]])[0]
        lead = own / max(size, 1) - (total - own) / max(labels.size - size, 1)
        best = np.argsort(-lead, kind="stable")[:TERMS]
        found.append([(int(i), float(lead[i])) for i in best if lead[i] > 0])
    return found


def in_words(traits: Sequence[Trait], *, sparse: bool = False) -> str:
    """What sets a cluster apart, for example 'higher flavanoids, lower hue'; empty if nothing does."""
    if sparse:
        return f"more {', '.join(each.words for each in traits[:5])}" if traits else ""
    return ", ".join([each.words for each in traits if abs(each.difference) >= NOTABLE][:IN_WORDS])


@dataclass(frozen=True)
class Portraits:
    """What the whole page knows of the clusters."""

    sizes: Array
    profile: Profile | None
    """None where rows are pictures or sparse."""
    traits: list[list[Trait]]
    """No traits where rows are pictures."""
    words: list[str]
    """What sets each cluster apart; empty where nothing does, or where the columns have no names."""


def portray(content: ReportContent) -> Portraits:
    """Look at each cluster once, for all sections."""
    labels, n_clusters, features = content.model.labels_, content.n_clusters, content.features
    sizes = np.bincount(labels, minlength=n_clusters)
    if content.image_shape is not None:
        return Portraits(sizes, None, [[] for _ in sizes], ["" for _ in sizes])
    sparse = issparse(content.rows)
    found = None if sparse else profile(content.rows, labels, n_clusters)
    traits = (
        cluster_traits(content.rows, labels, n_clusters, features) if found is None else dense_traits(found, features)
    )
    named = content.named or len(features) <= FEW_COLUMNS
    return Portraits(sizes, found, traits, [in_words(each, sparse=sparse) if named else "" for each in traits])


def cluster_cards(content: ReportContent, portraits: Portraits) -> str:
    """A card for each cluster."""
    shown = range(min(content.n_clusters, CARDS))
    more = (
        f"<p>Cards are shown for the first {CARDS} of {content.n_clusters:,} clusters.</p>"
        if content.n_clusters > CARDS
        else ""
    )
    return f'<div class="cards">{"".join(card(content, k, portraits) for k in shown)}</div>{more}'


def card(content: ReportContent, k: int, portraits: Portraits) -> str:
    """A cluster: its size, what sets it apart, its mode as a picture, as terms or as values, and a real row."""
    size = int(portraits.sizes[k])
    if size == 0:
        text = "<p>No row belongs to it: fewer clusters, or a smaller smoothness, would suit this data better.</p>"
    elif content.image_shape is not None:
        text = as_pictures(content, k)
    elif portraits.profile is None:
        text = as_terms(portraits.traits[k]) + exemplar(content, k)
    else:
        words = portraits.words[k]
        said = f'<p class="words">{name(words[:1].upper() + words[1:])}</p>' if words else ""
        text = said + as_values(content, k, portraits.profile, portraits.traits[k]) + exemplar(content, k)
    own = badge(k, content.names)
    return (
        f'<article class="card k{k}" aria-labelledby="cluster-{k}"><header><h3 id="cluster-{k}">{own}</h3>'
        f"<p>{counted(size, 'row')}, {percent(size / content.n)}</p></header>{text}</article>"
    )


def as_pictures(content: ReportContent, k: int) -> str:
    """The mode and the rows nearest to it."""
    shape = content.image_shape
    assert shape is not None
    low, high = value_range(content.rows)
    mode = picture(content.modes[k], shape, f"Mode of cluster {k}", low, high)
    near = "".join(
        picture(dense_row(content.rows, row), shape, f"{row_name(content, row)}, near the mode", low, high)
        for row in typical_rows(content, k)
    )
    return (
        f'<div class="pictures"><figure>{mode}<figcaption>mode</figcaption></figure>'
        f"<figure><div>{near}</div><figcaption>rows nearest to it</figcaption></figure></div>"
    )


def typical_rows(content: ReportContent, k: int) -> list[int]:
    """The rows of a cluster nearest to its mode."""
    members = np.flatnonzero(content.model.labels_ == k)
    members = members[: 20_000 // max(1, content.modes.shape[1] // 1000 + 1)]
    difference = as_dense(content.points[members]) - content.model.cluster_centers_[k]
    order = np.argsort(np.einsum("nd,nd->n", difference, difference), kind="stable")
    return [int(row) for row in members[order[:TYPICAL]]]


def as_terms(traits: Sequence[Trait]) -> str:
    """The columns of which a cluster has most, with a bar for how much more than the other rows."""
    top = max((each.difference for each in traits), default=1.0)
    items = "".join(f"<li>{name(each.name)}{bar(each.difference / top)}</li>" for each in traits)
    return f'<p class="quiet">More common here than in other rows:</p><ul class="terms">{items}</ul>'


def as_values(content: ReportContent, k: int, found: Profile, traits: Sequence[Trait]) -> str:
    """The mode's values, the most telling columns first, the others folded away."""
    folded = max(4, FOLDED // min(content.n_clusters, CARDS))
    first, rest = (
        "".join(value_strip(content, k, found, each.column) for each in part)
        for part in (traits[:SHOWN], traits[SHOWN : SHOWN + folded])
    )
    left = len(traits) - SHOWN
    title = counted(left, "more column") if left <= folded else f"{folded} of {left:,} more columns"
    more = f'<details><summary>{title}</summary><dl class="values">{rest}</dl></details>' if left > 0 else ""
    return f'<dl class="values">{first}</dl>{more}'


def value_strip(content: ReportContent, k: int, found: Profile, i: int) -> str:
    """A column: the mode's value, and where it and the cluster lie among all rows."""
    mode, (first, _, third), (low, middle, high) = content.modes[k, i], found.inside[k, :, i], found.quantiles[:, i]
    left, right = min(low, first, mode), max(high, third, mode)
    at = [2 + 96 * (float(value) - left) / ((right - left) or 1) for value in (low, high, first, third, middle, mode)]
    label = (
        f"mode {number(float(mode))}, middle half of the cluster {number(float(first))} to {number(float(third))}, "
        f"median of all rows {number(float(middle))}"
    )
    return (
        f"<div><dt>{name(content.features[i])}</dt><dd>{number(float(mode))}</dd>"
        f'<dd><svg class="strip" role="img"><title>{escape(label)}</title>'
        f'<rect class="all" x="{at[0]:.1f}%" width="{at[1] - at[0]:.1f}%" y="7" height="4" rx="2"/>'
        f'<rect class="own" x="{at[2]:.1f}%" width="{max(at[3] - at[2], 0.8):.1f}%" y="5" height="8" rx="3"/>'
        f'<rect class="middle" x="{at[4]:.1f}%" width="2" y="2" height="14"/>'
        f'<circle class="mode" cx="{at[5]:.1f}%" cy="9" r="5"/></svg></dd></div>'
    )


def exemplar(content: ReportContent, k: int) -> str:
    """The real row nearest to the mode."""
    row = int(content.model.exemplars_[k])
    values = [*other_values(content, row), *used_values(content, row)][:24]
    cells = "".join(f"<div><dt>{name(key)}</dt><dd>{name(text)}</dd></div>" for key, text in values)
    return (
        f"<details><summary>A typical row: {name(row_name(content, row))}</summary>"
        f'<dl class="pairs">{cells}</dl></details>'
    )


def descriptions(content: ReportContent, sizes: Array) -> str:
    """A table for each column that was not used and says something about the clusters, the most telling first."""
    found = []
    for column, values in content.described_by.items():
        names, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
        if 2 <= names.size <= content.n / 2:
            counts = np.zeros((content.n_clusters, names.size), dtype=np.int64)
            np.add.at(counts, (content.model.labels_, codes), 1)
            surprise = surprises(counts)
            found.append((float(surprise.sum()), cross_table(column, names, counts, surprise, content.names)))
    return "".join(text for _, text in sorted(found, key=lambda pair: -pair[0]))


def surprises(counts: Array) -> Array:
    """How much more often each value is in a cluster than expected, as rows times the logarithm of the lift.

    A count is taken to be smaller by its own uncertainty, so that few rows surprise nobody.
    """
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    sure = counts - np.sqrt(counts)
    return np.where(sure > expected, counts * np.log(np.maximum(sure, 1) / np.maximum(expected, 1e-12)), 0.0)


def cross_table(column: str, names: Array, counts: Array, surprise: Array, clusters: Sequence[str] = ()) -> str:
    """Clusters by values, the most surprising values first, and the most surprising cells in words."""
    order = np.lexsort((-counts.sum(axis=0), -surprise.max(axis=0)))
    kept, rest = order[:VALUES], order[VALUES:]
    if rest.size == 1:
        kept, rest = order, rest[:0]
    header = ["cluster", *(str(names[v]) for v in kept), *([f"{OTHER} ({rest.size:,} values)"] if rest.size else [])]
    columns = [counts[:, v] for v in kept] + ([counts[:, rest].sum(axis=1)] if rest.size else [])
    sizes = counts.sum(axis=1)
    rows = [
        [badge(k, clusters), *(count_cell(int(cells[k]), int(sizes[k])) for cells in columns)]
        for k in range(min(len(counts), CARDS))
    ]
    rows.append(["all rows", *(count_cell(int(cells.sum()), int(sizes.sum())) for cells in columns)])
    return (
        f"<article class=described><h3>{name(column)}</h3>{statements(names, counts, surprise, clusters) or SPREAD}"
        f"{table(f'Rows of each cluster by {column}', header, rows, kind='wide')}</article>"
    )


def count_cell(count: int, size: int) -> str:
    """So many rows, and their share of the cluster."""
    share = count / max(size, 1)
    return f'<span class="heat h{round(9 * share)}">{count:,} <small>{percent(share)}</small></span>'


def statements(names: Array, counts: Array, surprise: Array, clusters: Sequence[str] = ()) -> str:
    """The cells that would surprise most, as sentences."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    lift = share / (counts.sum(axis=0) / counts.sum())
    cells = [divmod(int(cell), names.size) for cell in np.argsort(-surprise, axis=None, kind="stable")[:STATEMENTS]]
    lines = [
        f"<li>{badge(k, clusters)}: {percent(float(share[k, v]))} {name(str(names[v]))}, "
        f"{times(float(lift[k, v]))}</li>"
        for k, v in cells
        if surprise[k, v] > 0 and lift[k, v] >= LIFT
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def times(lift: float) -> str:
    """How much more common a value is than elsewhere."""
    return f"{lift:.1f} times its share of all rows" if lift < 10 else f"{lift:.0f} times its share of all rows"
