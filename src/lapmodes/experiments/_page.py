"""One page with every experiment that was run: claims, tables, pictures; no script and no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from .._persistence import atomic_write

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f4f6f8; --line: #d9dee4; --good: #00674a;
  --bad: #a33b00; --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --soft: #1e2327; --line: #343b42;
  --good: #4cc79b; --bad: #ff9a5c; --accent: #6bb7ea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 5rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; } h2 { margin-top: 3.5rem; font-size: 1.4rem; }
p { max-width: 46rem; } a { color: var(--accent); }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; padding: 0; list-style: none; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption, caption { color: inherit; opacity: .8; font-size: .92rem; text-align: left; padding: .3rem 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--soft); font-weight: 600; }
.claims { padding: 0; list-style: none; } .claims li { padding: .6rem .8rem; margin: .5rem 0; background: var(--soft);
  border-left: 4px solid var(--good); border-radius: 4px; } .claims li.fails { border-color: var(--bad); }
.verdict { font-weight: 600; color: var(--good); } .fails .verdict { color: var(--bad); }
"""


@dataclass(frozen=True)
class Section:
    """An experiment as the page shows it: text only, so that it can be kept as JSON."""

    name: str
    title: str
    story: str
    seconds: float = 0.0
    claims: Sequence[dict[str, Any]] = field(default_factory=list)
    tables: Sequence[dict[str, Any]] = field(default_factory=list)
    pictures: Sequence[dict[str, str]] = field(default_factory=list)


def write_page(sections: Sequence[Section], file: Path, *, quick: bool) -> None:
    """Write the page; pictures stay beside it."""
    links = "".join(f'<li><a href="#{each.name}">{escape(each.title)}</a></li>' for each in sections)
    kind = "A quick run: smaller data and fewer restarts than in the paper. " if quick else ""
    body = "".join(section_html(section) for section in sections)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Laplacian K-modes: the paper's tables and figures</title><style>{STYLE}</style></head>
<body><main><h1>Laplacian K-modes: the paper's tables and figures, measured</h1>
<p>{kind}Wang &amp; Carreira-Perpiñán, “The Laplacian K-modes algorithm for clustering” (2014), beside what this
software measures. Made by <code>lapmodes reproduce</code>; each table is also a CSV file in this folder.</p>
<nav aria-label="Experiments"><ul>{links}</ul></nav>
{body}</main></body></html>
"""
    with atomic_write(file) as stream:
        stream.write(page.encode())


def section_html(section: Section) -> str:
    """One experiment."""
    parts = [f'<section id="{section.name}"><h2>{escape(section.title)}</h2>']
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.story.split("\n\n")]
    if section.claims:
        parts.append(f'<ul class="claims">{"".join(claim_html(**claim) for claim in section.claims)}</ul>')
    parts += [picture_html(**picture) for picture in section.pictures]
    parts += [table_html(**table) for table in section.tables]
    if section.seconds:
        parts.append(f"<p><small>Took {section.seconds:.0f} s.</small></p>")
    return "\n".join([*parts, "</section>\n"])


def claim_html(text: str, measured: str, holds: bool) -> str:
    """A claim with its verdict in words, not only in colour."""
    verdict, style = ("Holds", "holds") if holds else ("Does not hold here", "fails")
    label = f'<span class="verdict">{verdict}:</span>'
    return f'<li class="{style}">{label} {escape(text)}<br>Measured: {escape(measured)}</li>'


def picture_html(name: str, caption: str, alt: str) -> str:
    """A picture and its caption."""
    return (
        f'<figure><a href="{name}.png"><img src="{name}.png" alt="{escape(alt)}" loading="lazy"></a>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table_html(name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a link to its file."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)} (<a href="{name}.csv">CSV</a>)</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )
