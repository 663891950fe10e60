"""Progress on the terminal: a bar for each phase of the work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PHASES = {
    "neighbours": "Finding neighbours",
    "start": "Finding a start",
    "alternate": "Clustering",
    "select": "Choosing k",
}


INFO = 24
"""Signs of a phase's own words that fit beside its bar on 80 columns."""


class Bars:
    """Shows phases as rich progress bars; a silent stand-in where nobody looks."""

    def __init__(self, progress: Any = None) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, phase: str, done: int, total: int | None, info: str) -> bool:
        """What the estimators call at each step; never stops them."""
        if self._progress is not None:
            task = self._task(PHASES.get(phase, phase), total)
            self._progress.update(task, completed=done, total=total, info=info[:INFO])
        return False

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Any]:
        """A phase of the command itself; yields a function that advances it."""
        if self._progress is None:
            yield lambda n=1, info="": None
            return
        task = self._task(name, total)
        yield lambda n=1, info="": self._progress.update(task, advance=n, info=info[:INFO])
        finished = self._progress.tasks[self._progress.task_ids.index(task)]
        self._progress.update(task, total=finished.completed or 1, completed=finished.completed or 1)

    def _task(self, name: str, total: int | None) -> Any:
        """The bar of this name; a new phase ends those before it."""
        if name not in self._tasks:
            for task in self._tasks.values():
                self._progress.stop_task(task)
            self._tasks[name] = self._progress.add_task(name, total=total, info="")
        return self._tasks[name]


@contextmanager
def bars(*, quiet: bool) -> Iterator[Bars]:
    """Bars on the terminal while the work goes on."""
    if quiet or not sys.stderr.isatty():
        yield Bars()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[info]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bars(progress)
