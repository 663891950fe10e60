"""The page: sections in the order in which a reader asks."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from .. import __version__
from .._diagnostics import log_density, uncertainty
from .._persistence import atomic_write
from .._records import Array
from .._rows import largest_values
from .clusters import cluster_cards
from .colors import hex_colors
from .figures import DRAWN, Map, project
from .parameters import parameter_table
from .payload import payload
from .rows import SURE, outliers, uncertain_rows
from .story import Story
from .words import badge, number, percent, table

NEEDS_PLOTLY = "The report needs plotly, which is not installed: pip install 'lapmodes[cli]'"
# Nothing may be fetched from anywhere. WebGL charts compile their drawing code, hence 'unsafe-eval'.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)


def write_page(file: Path, story: Story) -> None:
    """Write the page, whole or not at all."""
    text = page(story)
    with atomic_write(file) as stream:
        stream.write(text.encode())


def page(story: Story) -> str:
    """The whole page as text."""
    entropy, density = uncertainty(story.model.assignments_), log_density(story.model, story.points)
    units = story.rows if story.points.shape[1] <= 2 else story.points
    modes = story.modes if story.points.shape[1] <= 2 else story.model.cluster_centers_
    place = project(units, np.asarray(modes, dtype=np.float64), story.features)
    sizes = np.bincount(story.model.labels_, minlength=story.n_clusters)
    sections = [
        opening(story, sizes, entropy),
        map_section(story, place),
        section(
            "clusters", "The clusters", size_bars(story, sizes) + introduction(story) + cluster_cards(story, sizes)
        ),
        section("uncertain", "Rows between clusters", uncertain_rows(story, entropy)),
        section("outliers", "Outliers", outliers(story, density)),
        section("proof", "Can the result be trusted?", proof(story)),
        section("how", "How it was done", preparation(story) + parameter_table(story)),
        section("next", "Where to go from here", following(story)),
    ]
    data = json.dumps(payload(story, place, density, entropy), separators=(",", ":")).replace("</", "<\\/")
    return TEMPLATE.format(
        title=escape(story.title),
        policy=POLICY,
        style=asset("report.css"),
        body="\n".join(sections),
        version=__version__,
        data=data,
        plotly=plotly_file().read_text(encoding="utf-8").replace("</script", "<\\/script"),
        script=asset("report.js"),
    )


def section(name: str, title: str, content: str) -> str:
    """A section with a heading that links can lead to."""
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{content}</section>'


def opening(story: Story, sizes: Array, entropy: Array) -> str:
    """What was done, in one paragraph and a few numbers."""
    n, d = story.points.shape
    sure = float((largest_values(story.model.assignments_) >= SURE).mean())
    cards = [
        (f"{n:,}", "rows"),
        (f"{d:,}", "columns used"),
        (f"{story.n_clusters}", "clusters"),
        (percent(sure), f"of rows belong to one cluster to {SURE:.0%} or more"),
    ]
    cards += [
        (f"{value:.2f}", f"{name.replace('_', ' ')} with the known classes") for name, value in story.agreement.items()
    ]
    numbers = "".join(f"<div><dt>{escape(label)}</dt><dd>{value}</dd></div>" for value, label in cards)
    notes = "".join(f'<p class="note"><strong>Note.</strong> {escape(note)}</p>' for note in story.notes)
    return (
        f"<header><h1>{escape(story.title)}</h1>"
        f"<p class=lead>{n:,} rows were sorted into {story.n_clusters} groups of similar rows, called clusters. The "
        f"largest has {int(sizes.max()):,} rows, the smallest {int(sizes.min()):,}. Each cluster is described by its "
        "<em>mode</em>, the most typical row it could have. Rows between clusters belong partly to several.</p>"
        f'</header><dl class="numbers-row">{numbers}</dl>{notes}'
    )


def map_section(story: Story, place: Map) -> str:
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
    sample = f" A random {DRAWN:,} of the {story.n:,} rows are drawn." if story.n > DRAWN else ""
    legend = "".join(f"<li>{badge(k, color)}</li>" for k, color in enumerate(hex_colors(story.n_clusters)[:40]))
    label = f"Scatter plot of {story.n:,} rows in {story.n_clusters} clusters. The tables below say the same in words."
    return section(
        "map",
        "A map of the data",
        f"<p>Each dot is a row; rows that are alike lie close together. A diamond marks each mode. {place.caption}"
        f'{sample}</p><fieldset class="choices"><legend>Colour the dots by</legend>{radios}</fieldset>'
        f'<figure><div id="map-chart" class="chart tall" role="img" aria-label="{escape(label)}"></div>'
        f'<figcaption><ul class="legend" id="legend">{legend}</ul>'
        "<p>Drag to zoom in, double-click to zoom out.</p></figcaption></figure>",
    )


def introduction(story: Story) -> str:
    """What the cards show."""
    bars = story.image_shape is None and not (story.named and issparse(story.rows))
    return CLUSTERS.format(BARS if bars else "")


def size_bars(story: Story, sizes: Array) -> str:
    """Cluster sizes as bars that are a table."""
    top = max(int(sizes.max()), 1)
    rows = [
        [
            badge(k, color),
            f"{int(size):,}",
            percent(size / story.n),
            f'<span class="bar" aria-hidden="true"><i style="width:{size / top:.1%};background:{color}"></i></span>',
        ]
        for k, (size, color) in enumerate(zip(sizes, hex_colors(story.n_clusters), strict=True))
    ]
    return table("Sizes of the clusters", ["cluster", "rows", "share", "drawn to scale"], rows)


def proof(story: Story) -> str:
    """Convergence and the certificate in plain words."""
    model = story.model
    solution = model.path_[-1].solution
    scale = max(abs(model.objective_), np.finfo(float).tiny)
    rest = "came to rest" if solution.converged else "was stopped before it came to rest"
    kept = "this was proven to the accuracy asked for" if solution.certified else "this is more than was asked for"
    gain = f"by more than {number(model.gap_)} ({percent(model.gap_ / scale)} of it)" if model.gap_ > 0 else "at all"
    return (
        f"<p>The search {rest} after {model.n_iter_} rounds. Given these modes, no other way of sharing the rows "
        f"among the clusters could lower the objective {gain}; {kept}. The modes themselves are a good solution, not "
        "provably the best of all: another start may find "
        'another.</p><figure><div id="convergence-chart" class="chart" role="img" aria-label="Objective and proven gap '
        f'over {model.n_iter_} rounds; the objective ends at {number(model.objective_)}."></div>'
        "<figcaption>Objective (lower is better) and proven bound on what could still be gained.</figcaption></figure>"
        + selection_table(story)
    )


def selection_table(story: Story) -> str:
    """How the number of clusters was chosen."""
    if story.selection is None:
        return ""
    chosen = story.selection
    rows = [
        [f"{row[0]}{' (chosen)' if row[0] == chosen.n_clusters else ''}", *map(number, row[1:])] for row in chosen.rows
    ]
    return f"<p>{chosen.n_clusters} clusters: {escape(chosen.why)}. {COMPARED}</p>" + table(
        "Numbers of clusters that were compared", list(chosen.header), rows, even=True
    )


def preparation(story: Story) -> str:
    """What happened to the data before."""
    if not story.preparation:
        return ""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in story.preparation) + "</ul>"


def following(story: Story) -> str:
    """Commands, and what the words mean."""
    commands = "".join(
        f"<dt>{escape(purpose)}</dt><dd><code>{escape(command)}</code></dd>" for purpose, command in story.commands
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
COMPARED = (
    "Smallest is the size of the smallest cluster. In the other columns more is better: valley, how empty the borders "
    "are; eigengap, how much weaker links get with one cluster more; stability, how alike clusters are when a tenth of "
    "the rows is left out; agreement between unlike ways of clustering."
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
