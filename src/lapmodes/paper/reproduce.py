"""Run experiments and write what they find: CSV files, pictures and one page without scripts or network access."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any

from .._persistence import atomic_write
from .._progress import Progress
from ..plotting.style import import_matplotlib
from . import figure1, figure2, figure3, figure4, figures5_6, homotopy, table1, table3
from .data import DataNotFoundError
from .results import Result, Setting, Table

EXPERIMENTS: dict[str, Callable[[Setting], Result]] = {
    "table1": table1.run,
    "table3": table3.run,
    "figure1": figure1.run,
    "figure2": figure2.run,
    "figure3": figure3.run,
    "figure4": figure4.run,
    "figure5": figures5_6.run_figure5,
    "figure6": figures5_6.run_figure6,
    "homotopy": homotopy.run,
}
"""In the order of the page."""
DPI = 150
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
    introduction: str
    seconds: float = 0.0
    claims: Sequence[dict[str, Any]] = field(default_factory=list)
    tables: Sequence[dict[str, Any]] = field(default_factory=list)
    pictures: Sequence[dict[str, str]] = field(default_factory=list)


def reproduce(
    names: Iterable[str] = tuple(EXPERIMENTS),
    output: Path = Path("results"),
    *,
    quick: bool = False,
    progress: Progress | None = None,
) -> list[Section]:
    """Run experiments of the paper and write their tables, pictures and a page with all of them.

    What an earlier call wrote into the same folder stays on the page; an interrupted table 3 goes on where it was.

    Parameters
    ----------
    names : iterable of str
        Any of `EXPERIMENTS`.
    output : Path, default=Path("results")
        Folder, made if it does not exist.
    quick : bool, default=False
        Smaller data and fewer restarts, 5 minutes in all. Kept apart from full runs by the folder name `quick`
        inside `output`.
    progress : Progress, optional
        Shows how far each experiment is.

    Returns
    -------
    list of Section
        One for each experiment on the page.
    """
    names = list(names)
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise ValueError(f"Unknown experiment {unknown[0]!r}. Choose from: {', '.join(EXPERIMENTS)}.")
    import_matplotlib("figure")  # a missing package is reported before the work, not after it
    folder = output / "quick" if quick else output
    folder.mkdir(parents=True, exist_ok=True)
    setting = Setting(quick, folder, progress or Progress())
    for name in names:
        began = perf_counter()
        try:
            result = EXPERIMENTS[name](setting)
        except DataNotFoundError as error:
            section = Section(name, name, introduction=f"Not run: {error}")
        else:
            section = write_result(result, folder, perf_counter() - began)
        write_section(section, folder)
    sections = [known for name in EXPERIMENTS if (known := read_section(folder, name))]
    write_page(sections, folder / "index.html", quick=quick)
    return sections


def write_result(result: Result, folder: Path, seconds: float) -> Section:
    """Write the tables and pictures; return what the page shows."""
    for table in result.tables:
        write_csv(table, folder / f"{table.name}.csv")
    for picture in result.pictures:
        with atomic_write(folder / f"{picture.name}.png") as stream:
            picture.figure.savefig(stream, dpi=DPI, bbox_inches="tight", pad_inches=0.05, format="png")
    return Section(
        result.name,
        result.title,
        result.introduction,
        seconds=seconds,
        claims=[asdict(claim) for claim in result.claims],
        tables=[
            {"name": table.name, "caption": table.caption, "header": list(table.header), "rows": cells(table)}
            for table in result.tables
            if table.on_page
        ],
        pictures=[{"name": each.name, "caption": each.caption, "alt": each.alt} for each in result.pictures],
    )


def cells(table: Table) -> list[list[str]]:
    """Each cell as text."""
    return [["" if cell is None else str(cell) for cell in row] for row in table.rows]


def write_csv(table: Table, file: Path) -> None:
    """Write a table for a spreadsheet."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *cells(table)])
    with atomic_write(file) as stream:
        stream.write(text.getvalue().encode())


def write_section(section: Section, folder: Path) -> None:
    """Keep a section, so that a later run of another experiment can put both on the page."""
    with atomic_write(folder / f"{section.name}.json") as stream:
        stream.write(json.dumps(asdict(section), indent=1, ensure_ascii=False).encode())


def read_section(folder: Path, name: str) -> Section | None:
    """The section that was last written into this folder; None without one, or if its fields are of another version."""
    file = folder / f"{name}.json"
    try:
        return Section(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None
    except TypeError:
        return None


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
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.introduction.split("\n\n")]
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
