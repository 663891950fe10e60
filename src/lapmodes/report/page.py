"""The page: sections in the order in which a reader asks."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from scipy.sparse import issparse

from .. import __version__
from .._persistence import atomic_write
from .._records import Array
from ..metrics import assignment_entropy, neighbor_log_density
from ..plotting.layout import Layout, Watch
from .clusters import Portraits, cluster_cards, descriptions, portray
from .content import ReportContent, report_content, value_range
from .markup import badge, bar, color_rules, counted, name, percent, picture, section, sentence, table
from .method import level_tree, parameter_table, proof, selection_charts
from .payload import map_layouts, payload
from .rows import SURE, outliers, uncertain_rows

POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'"
)
"""Nothing may be fetched from anywhere, and nothing runs or styles the page but what was written with it."""
LISTED = 200
"""Clusters in the table at the top."""
GLANCED = 16
"""Of them, how many are seen at once."""
LINES = 8
"""Lines about the preparation that are seen at once."""


def write_report(
    file: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    described_by: Mapping[str, Sequence[Any]] | None = None,
    layers: Any = None,
) -> None:
    """Write the report of a fitted model: one HTML file, without network, that anybody can read.

    Parameters
    ----------
    file : path
        Where to write; whole or not at all.
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        The rows it was fitted on.
    title : str, optional
        Heading of the page.
    feature_names : sequence of str, optional
        Names of the columns; those of a data frame by default.
    image_shape : tuple, optional
        (height, width) or (height, width, 3) where each row is a picture.
    described_by : mapping or data frame, optional
        Columns that the fit did not use, with a value for each row, such as known classes: the report says how they are
        spread over the clusters, and colours the map by them.
    layers : lapmodes.Layers, optional
        The levels that the model is one of, from :func:`lapmodes.fit_layers`: the report shows their tree.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.report import write_report
    >>> X, y = make_moons_with_outliers(100, n_outliers=0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     write_report(page, LaplacianKModes(2, random_state=0).fit(X), X, feature_names=["across", "up"])
    ...     30_000 < page.stat().st_size < 300_000
    True
    """
    content = report_content(
        model,
        X,
        title=title,
        feature_names=feature_names,
        image_shape=image_shape,
        described_by=described_by,
        layers=layers,
    )
    write_page(Path(file), content)


def write_page(file: Path, content: ReportContent, watch: Watch | None = None) -> None:
    """Write the page, whole or not at all; `watch` is told how far the map is."""
    text = page(content, watch)
    with atomic_write(file) as stream:
        stream.write(text.encode())


def page(content: ReportContent, watch: Watch | None = None) -> str:
    """The whole page as text."""
    model = content.model
    entropy, density = assignment_entropy(model.assignments_), neighbor_log_density(model, content.points)
    portraits = portray(content)
    rows, layouts = map_layouts(content, watch)
    described = descriptions(content, portraits.sizes)
    parts = {
        "map": ("Map", "A map of the data", map_section(content, rows, layouts)),
        "clusters": ("Clusters", "The clusters", introduction(content) + cluster_cards(content, portraits)),
        "levels": ("Levels", "Levels of clusters", level_tree(content) if content.layers else ""),
        "described": ("Other columns", "Columns that were not used", DESCRIBED + described if described else ""),
        "number": ("How many", "How many clusters?", selection_charts(content) if content.selection else ""),
        "uncertain": ("Between", "Rows between clusters", uncertain_rows(content, portraits, entropy)),
        "outliers": ("Outliers", "Outliers", outliers(content, portraits, density)),
        "proof": ("Trust", "Can the result be trusted?", proof(content)),
        "how": ("How", "How it was done", parameter_table(content)),
        "next": ("Next", "Where to go from here", following(content)),
    }
    parts = {key: part for key, part in parts.items() if part[2]}
    sections = [section(key, title, body) for key, (_, title, body) in parts.items()]
    data = payload(content, rows, layouts, portraits, density, entropy)
    return complete(
        title=escape(content.title),
        body="\n".join([opening(content, portraits), *sections]),
        links=" ".join(f'<a href="#{key}">{short}</a>' for key, (short, _, _) in parts.items()),
        data=json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        style=asset("report.css") + color_rules(content.n_clusters),
    )


def complete(*, style: str, **parts: str) -> str:
    """The page around its parts, with a policy that allows its own style and script only."""
    script = asset("figure.js").replace("export ", "") + asset("report.js")
    policy = POLICY.format(script=digest(script), style=digest(style))
    return TEMPLATE.format(policy=policy, style=style, script=script, version=__version__, **parts)


def digest(text: str) -> str:
    """How a policy names an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def opening(content: ReportContent, portraits: Portraits) -> str:
    """What was done in one paragraph and a few numbers, what to mind, and the clusters at a glance."""
    n, d = content.points.shape
    sure = float((content.model.probabilities_ >= SURE).mean())
    cards = [
        (f"{n:,}", "row" if n == 1 else "rows"),
        (f"{d:,}", "column used" if d == 1 else "columns used"),
        (f"{content.n_clusters:,}", "cluster" if content.n_clusters == 1 else "clusters"),
        (percent(sure), f"of rows belong to one cluster to {percent(SURE)} or more"),
    ]
    for key, value in content.agreement.items():
        cards.append((f"{value:.2f}", f"{key.replace('_', ' ')} with the known classes"))
    numbers = "".join(f"<div><dt>{escape(label)}</dt><dd>{value}</dd></div>" for value, label in cards)
    return (
        f'<header class="opening"><h1>{name(content.title)}</h1><p class="lead">{summary(content, portraits)}</p>'
        f'</header><dl class="tiles">{numbers}</dl>{to_mind(content)}{glance(content, portraits)}'
    )


def summary(content: ReportContent, portraits: Portraits) -> str:
    """What was done, for somebody who has never heard of it."""
    described = "described by its <em>mode</em>, the most typical row it could have"
    if content.n_clusters == 1:
        return f"{counted(content.n, 'row')} were taken as one group of similar rows, a cluster. It is {described}."
    largest, smallest = int(portraits.sizes.max()), int(portraits.sizes.min())
    return (
        f"{counted(content.n, 'row')} were sorted into {counted(content.n_clusters, 'group')} of similar rows, called "
        f"clusters. The largest has {counted(largest, 'row')}, the smallest {smallest:,}. Each cluster is {described}. "
        "Rows between clusters belong partly to several."
    )


def to_mind(content: ReportContent) -> str:
    """Notes of the fit, and what was done with the data before it."""
    notes = "".join(f'<p class="note"><strong>Note.</strong> {sentence(note)}</p>' for note in content.notes)
    if not content.preparation:
        return notes
    lines = [f"<li>{sentence(line)}</li>" for line in content.preparation]
    rest = len(lines) - LINES
    more = f"<details><summary>{counted(rest, 'more line')}</summary><ul>{''.join(lines[LINES:])}</ul></details>"
    return (
        f'{notes}<section class="prepared" aria-labelledby="prepared-title"><h2 id="prepared-title">What was read</h2>'
        f"<ul>{''.join(lines[:LINES])}</ul>{more if rest > 0 else ''}</section>"
    )


def glance(content: ReportContent, portraits: Portraits) -> str:
    """Each cluster in a line: its size, drawn to scale, and what sets it apart, in words or as a picture."""
    top, last = max(int(portraits.sizes.max()), 1), last_column(content, portraits)
    lines = []
    for k, size in enumerate(portraits.sizes.tolist()[:LISTED]):
        share = f'<span class="k{k}">{percent(size / content.n)}{bar(size / top)}</span>'
        lines.append([badge(k, content.names), f"{size:,}", share, *([last[1][k]] if last else [])])
    header = ["cluster", "rows", "share", *([last[0]] if last else [])]
    shown = table("The clusters at a glance", header, lines[:GLANCED], kind="glance")
    if content.n_clusters <= GLANCED:
        return shown
    rest = table(f"Clusters {GLANCED} to {len(lines) - 1}", header, lines[GLANCED:], kind="glance")
    more = counted(len(lines) - GLANCED, "more cluster")
    left = f"<p>The first {LISTED} of {content.n_clusters:,} are listed.</p>" if content.n_clusters > LISTED else ""
    return f"{shown}<details><summary>{more}</summary>{rest}{left}</details>"


def last_column(content: ReportContent, portraits: Portraits) -> tuple[str, list[str]] | None:
    """The title of what sets each cluster apart, and a cell for each, if there is anything to say."""
    if content.image_shape is not None:
        low, high = value_range(content.rows)
        shape, modes = content.image_shape, content.modes[:LISTED]
        return "mode", [picture(mode, shape, f"Mode of cluster {k}", low, high) for k, mode in enumerate(modes)]
    words = [name(each) if each else "nothing in particular" for each in portraits.words]
    return ("what sets it apart", words) if any(portraits.words) else None


def map_section(content: ReportContent, rows: Array, layouts: Sequence[Layout]) -> str:
    """The map with a choice of views and colours."""
    n = content.n
    sample = f" {rows.size:,} of the {n:,} rows are drawn, some of each cluster." if rows.size < n else ""
    views = "".join(
        f'<label><input type="radio" name="view" value="{i}"{"" if i else " checked"}>'
        f"<span>{VIEWS[each.name]}</span></label>"
        for i, each in enumerate(layouts)
    )
    choice = f'<fieldset class="segments"><legend>Places by</legend>{views}</fieldset>' if len(layouts) > 1 else ""
    captions = "".join(
        f'<p data-view="{i}"{" hidden" if i else ""}>{name(each.caption)}</p>' for i, each in enumerate(layouts)
    )
    label = f"Map of {counted(rows.size, 'row')} in {counted(content.n_clusters, 'cluster')}; {KEYS}"
    return (
        f"<p>Each dot is a row; rows that are alike lie close together. A diamond marks {MARKED[layouts[0].name]}."
        f'{sample}</p>{NO_SCRIPT}<div class="map" id="map-chart" hidden><div class="tools">{choice}'
        f'<label class="choice"><span>Colour by</span><select id="colour"></select></label>{ZOOM}</div>'
        f'<div class="plane"><canvas tabindex="0" role="img" aria-label="{escape(label)}"></canvas>'
        '<output class="tip" hidden></output></div>'
        f'<div id="legend" class="legend"></div>{captions}<p class="quiet" id="hint"></p></div>'
    )


def introduction(content: ReportContent) -> str:
    """What the cards show."""
    strips = content.image_shape is None and not issparse(content.rows)
    return CLUSTERS.format(STRIPS if strips else "")


def following(content: ReportContent) -> str:
    """Commands, and what the words mean."""
    commands = "".join(
        f"<dt>{escape(purpose)}</dt><dd><code>{escape(command)}</code></dd>" for purpose, command in content.commands
    )
    return (f'<dl class="commands">{commands}</dl>' if commands else "") + GLOSSARY


def asset(file: str) -> str:
    """A file that belongs to the page."""
    return files("lapmodes.report").joinpath("assets", file).read_text(encoding="utf-8")


VIEWS = {"columns": "Columns", "neighbours": "Neighbours", "components": "Principal components"}
MARKED = {
    "columns": "each mode",
    "neighbours": "each mode, or here the row nearest to it",
    "components": "each mode",
}
KEYS = "arrow keys move it, plus and minus zoom, 0 shows all of it, Enter names the row in the middle."
NO_SCRIPT = (
    '<p class="note" id="no-script">The map needs JavaScript. Everything else on this page can be read without it.</p>'
)
ZOOM = (
    '<div class="zoom" role="group" aria-label="Zoom">'
    '<button type="button" data-zoom="in" aria-label="Zoom in">+</button>'
    '<button type="button" data-zoom="out" aria-label="Zoom out">−</button>'
    '<button type="button" data-zoom="all">Whole map</button></div>'
)
CLUSTERS = "<p>The mode of a cluster is where its rows are densest: its most typical values.{}</p>"
STRIPS = (
    " In each line the grey track holds nearly all rows, from the lowest to the highest 2\u202f%, with a tick at their "
    "median; the coloured band holds the middle half of the cluster, and the dot is its mode."
)
DESCRIBED = (
    "<p>These columns had no part in the clustering, so where they agree with it, that is evidence. The most telling "
    "column comes first; shares are of the rows of a cluster.</p>"
)
GLOSSARY = """<details><summary>What the words mean</summary><dl>
<dt>Cluster</dt><dd>A group of rows that are alike, or linked by a chain of rows that are alike.</dd>
<dt>Mode</dt><dd>The place where a cluster is densest. Unlike an average it always looks like real data.</dd>
<dt>Share (soft assignment)</dt><dd>How much a row belongs to each cluster; the shares of a row add up to 100 %.</dd>
<dt>Density</dt><dd>How many rows lie near a row, measured with a bell curve of the width σ.</dd>
<dt>Uncertainty</dt><dd>0 when a row belongs to one cluster entirely, 1 when it belongs to all alike.</dd>
<dt>Proven gap</dt><dd>A bound on how much better any other shares could be with the same modes.</dd>
</dl></details><p>Method: Laplacian K-modes (W. Wang and M. Á. Carreira-Perpiñán, 2014).</p>"""
TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="color-scheme" content="light dark">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<div class="top"><nav aria-label="Sections">{links}</nav><button type="button" id="theme" hidden>Dark</button></div>
<main id="main">{body}</main>
<footer><p>Made by lapmodes {version}. This page is complete in itself and sends nothing anywhere.</p></footer>
<script type="application/json" id="data">{data}</script>
<script>{script}</script></body></html>
"""
