"""The page: sections in the order in which a reader asks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import __version__
from .._persistence import atomic_write
from .._records import Array
from ..metrics import assignment_entropy, neighbor_log_density
from .clusters import cluster_cards
from .content import ReportContent, report_content
from .markup import badge, hex_colors, percent, section, table
from .method import parameter_table, preparation, proof
from .payload import DRAWN, Map, payload, project
from .rows import SURE, outliers, uncertain_rows

NEEDS_PLOTLY = "The report needs plotly, which is not installed: pip install 'lapmodes[cli]'"
# Nothing may be fetched from anywhere. WebGL charts compile their drawing code, hence 'unsafe-eval'.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)


def write_report(
    file: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
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
    ...     page.stat().st_size > 100_000
    True
    """
    content = report_content(model, X, title=title, feature_names=feature_names, image_shape=image_shape)
    write_page(Path(file), content)


def write_page(file: Path, content: ReportContent) -> None:
    """Write the page, whole or not at all."""
    text = page(content)
    with atomic_write(file) as stream:
        stream.write(text.encode())


def page(content: ReportContent) -> str:
    """The whole page as text."""
    model = content.model
    entropy, density = assignment_entropy(model.assignments_), neighbor_log_density(model, content.points)
    placed = project(*content.on_the_map, content.features)
    sizes = np.bincount(model.labels_, minlength=content.n_clusters)
    clusters = size_bars(content, sizes) + introduction(content) + cluster_cards(content, sizes)
    sections = [
        opening(content, sizes),
        map_section(content, placed),
        section("clusters", "The clusters", clusters),
        section("uncertain", "Rows between clusters", uncertain_rows(content, entropy)),
        section("outliers", "Outliers", outliers(content, density)),
        section("proof", "Can the result be trusted?", proof(content)),
        section("how", "How it was done", preparation(content) + parameter_table(content)),
        section("next", "Where to go from here", following(content)),
    ]
    data = json.dumps(payload(content, placed, density, entropy), separators=(",", ":")).replace("</", "<\\/")
    return TEMPLATE.format(
        title=escape(content.title),
        policy=POLICY,
        style=asset("report.css"),
        body="\n".join(sections),
        version=__version__,
        data=data,
        plotly=plotly_file().read_text(encoding="utf-8").replace("</script", "<\\/script"),
        script=asset("report.js"),
    )


def opening(content: ReportContent, sizes: Array) -> str:
    """What was done, in one paragraph and a few numbers."""
    n, d = content.points.shape
    sure = float((content.model.probabilities_ >= SURE).mean())
    cards = [
        (f"{n:,}", "rows"),
        (f"{d:,}", "columns used"),
        (f"{content.n_clusters}", "clusters"),
        (percent(sure), f"of rows belong to one cluster to {SURE:.0%} or more"),
    ]
    for name, value in content.agreement.items():
        cards.append((f"{value:.2f}", f"{name.replace('_', ' ')} with the known classes"))
    numbers = "".join(f"<div><dt>{escape(label)}</dt><dd>{value}</dd></div>" for value, label in cards)
    notes = "".join(f'<p class="note"><strong>Note.</strong> {escape(note)}</p>' for note in content.notes)
    return (
        f"<header><h1>{escape(content.title)}</h1>"
        f"<p class=lead>{n:,} rows were sorted into {content.n_clusters} groups of similar rows, called clusters. The "
        f"largest has {int(sizes.max()):,} rows, the smallest {int(sizes.min()):,}. Each cluster is described by its "
        "<em>mode</em>, the most typical row it could have. Rows between clusters belong partly to several.</p>"
        f'</header><dl class="numbers-row">{numbers}</dl>{notes}'
    )


def map_section(content: ReportContent, placed: Map) -> str:
    """The map with a choice of colours."""
    choices = (
        ("cluster", "cluster", True),
        ("soft", "shares (mixed where a row is between clusters)", False),
        ("density", "density (how crowded)", False),
        ("entropy", "uncertainty", False),
    )
    radios = "".join(
        f'<label><input type="radio" name="colour" value="{value}"{" checked" if on else ""}> {label}</label>'
        for value, label, on in choices
    )
    sample = f" A random {DRAWN:,} of the {content.n:,} rows are drawn." if content.n > DRAWN else ""
    legend = "".join(f"<li>{badge(k, color)}</li>" for k, color in enumerate(hex_colors(content.n_clusters)[:40]))
    label = f"Scatter plot of {content.n:,} rows in {content.n_clusters} clusters. The tables below say the same."
    return section(
        "map",
        "A map of the data",
        f"<p>Each dot is a row; rows that are alike lie close together. A diamond marks each mode. {placed.caption}"
        f'{sample}</p><fieldset class="choices"><legend>Colour the dots by</legend>{radios}</fieldset>'
        f'<figure><div id="map-chart" class="chart tall" role="img" aria-label="{escape(label)}"></div>'
        f'<figcaption><ul class="legend" id="legend">{legend}</ul>'
        "<p>Drag to zoom in, double-click to zoom out.</p></figcaption></figure>",
    )


def introduction(content: ReportContent) -> str:
    """What the cards show."""
    bars = content.image_shape is None and not (content.named and issparse(content.rows))
    return CLUSTERS.format(BARS if bars else "")


def size_bars(content: ReportContent, sizes: Array) -> str:
    """Cluster sizes as bars that are a table."""
    top = max(int(sizes.max()), 1)
    rows = [
        [
            badge(k, color),
            f"{int(size):,}",
            percent(size / content.n),
            f'<span class="bar" aria-hidden="true"><i style="width:{size / top:.1%};background:{color}"></i></span>',
        ]
        for k, (size, color) in enumerate(zip(sizes, hex_colors(content.n_clusters), strict=True))
    ]
    return table("Sizes of the clusters", ["cluster", "rows", "share", "drawn to scale"], rows)


def following(content: ReportContent) -> str:
    """Commands, and what the words mean."""
    commands = "".join(
        f"<dt>{escape(purpose)}</dt><dd><code>{escape(command)}</code></dd>" for purpose, command in content.commands
    )
    return (f'<dl class="commands">{commands}</dl>' if commands else "") + GLOSSARY


def asset(name: str) -> str:
    """A file that belongs to the page."""
    return files("lapmodes.report").joinpath("assets", name).read_text(encoding="utf-8")


def plotly_file() -> Path:
    """The drawing library; it is found without being imported, which would take a second."""
    spec = find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(NEEDS_PLOTLY)
    return Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"


CLUSTERS = "<p>The mode of a cluster is where its rows are densest: its most typical values.{}</p>"
BARS = " The bars compare it with the average of all rows; a full bar is three standard deviations."
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
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<div class="top"><nav aria-label="Sections"><a href="#map">Map</a> <a href="#clusters">Clusters</a>
<a href="#uncertain">Between</a> <a href="#outliers">Outliers</a> <a href="#proof">Trust</a> <a href="#how">How</a>
<a href="#next">Next</a></nav><button type="button" id="theme" aria-pressed="false">Dark</button></div>
<main id="main">{body}</main>
<footer><p>Made by lapmodes {version}. This page is complete in itself and sends nothing anywhere.</p></footer>
<noscript><p class="note">The two charts need JavaScript; all tables can be read without it.</p></noscript>
<script type="application/json" id="data">{data}</script>
<script>{plotly}</script>
<script>{script}</script></body></html>
"""
