"""What an experiment hands back: tables, pictures and the paper's claims, each with what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """Rows for a CSV file and for the page."""

    name: str
    """Of the file, without its ending."""
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    on_page: bool = True
    """False: only written as a file, because nobody would read it through."""


@dataclass(frozen=True)
class Picture:
    """A figure and, for those who cannot see it, what it shows."""

    name: str
    caption: str
    alt: str
    figure: Figure


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what was measured, and whether it holds here."""

    text: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Exhibit:
    """All that one table or figure of the paper gives."""

    name: str
    title: str
    story: str
    """A few sentences for a reader who has not read the paper."""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Setting:
    """How an experiment is to be run."""

    quick: bool = False
    """Smaller data and fewer restarts: all experiments together take minutes."""
    folder: Path | None = None
    """Where an experiment that takes long keeps what it has finished, to go on from there; None: nowhere."""
    progress: Progress = field(default_factory=Progress)
