"""Run experiments and write what they find: CSV files, pictures and one page."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any

from .._persistence import atomic_write
from .._progress import Progress
from ..datasets import DataNotFoundError
from ._exhibit import Exhibit, Setting, Table
from ._page import Section, write_page

EXHIBITS = ("table1", "table3", "figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "homotopy")
"""In the order of the page."""
DPI = 150


def reproduce(
    names: Iterable[str] = EXHIBITS,
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
        Any of `EXHIBITS`.
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
    if unknown := [name for name in names if name not in EXHIBITS]:
        raise ValueError(f"Unknown experiment {unknown[0]!r}. Choose from: {', '.join(EXHIBITS)}.")
    folder = output / "quick" if quick else output
    folder.mkdir(parents=True, exist_ok=True)
    setting = Setting(quick, folder, progress or Progress())
    for name in names:
        began = perf_counter()
        try:
            exhibit = import_module(f"lapmodes.experiments.{name}").run(setting)
        except DataNotFoundError as error:
            section = Section(name, name, story=f"Not run: {error}")
        else:
            section = write_exhibit(exhibit, folder, perf_counter() - began)
        write_section(section, folder)
    sections = [known for name in EXHIBITS if (known := read_section(folder, name))]
    write_page(sections, folder / "index.html", quick=quick)
    return sections


def write_exhibit(exhibit: Exhibit, folder: Path, seconds: float) -> Section:
    """Write tables and pictures; what the page needs of them."""
    for table in exhibit.tables:
        write_csv(table, folder / f"{table.name}.csv")
    for picture in exhibit.pictures:
        with atomic_write(folder / f"{picture.name}.png") as stream:
            picture.figure.savefig(stream, dpi=DPI, bbox_inches="tight", pad_inches=0.05, format="png")
    return Section(
        exhibit.name,
        exhibit.title,
        exhibit.story,
        seconds=seconds,
        claims=[asdict(claim) for claim in exhibit.claims],
        tables=[
            {"name": table.name, "caption": table.caption, "header": list(table.header), "rows": cells(table)}
            for table in exhibit.tables
            if table.on_page
        ],
        pictures=[{"name": each.name, "caption": each.caption, "alt": each.alt} for each in exhibit.pictures],
    )


def cells(table: Table) -> list[list[str]]:
    """Each cell as text."""
    return [["" if cell is None else str(cell) for cell in row] for row in table.rows]


def write_csv(table: Table, file: Path) -> None:
    """One table a file."""
    lines: list[Any] = [list(table.header), *cells(table)]
    with atomic_write(file) as stream:
        text = csv_text(lines)
        stream.write(text.encode())


def csv_text(lines: Iterable[Iterable[str]]) -> str:
    """Lines in the format of a spreadsheet."""
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def write_section(section: Section, folder: Path) -> None:
    """Keep a section, so that a later run of another experiment can put both on the page."""
    with atomic_write(folder / f"{section.name}.json") as stream:
        stream.write(json.dumps(asdict(section), indent=1, ensure_ascii=False).encode())


def read_section(folder: Path, name: str) -> Section | None:
    """What an experiment gave when it was last run into this folder; None if it never was."""
    file = folder / f"{name}.json"
    return Section(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None
