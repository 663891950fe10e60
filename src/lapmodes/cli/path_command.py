"""The work of `lapmodes path`: one line a step."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ..files import FileError
from ..files.atomic import check_file_target, file_name, whole_file
from ..files.formats import TABLE_FORMATS
from ..files.results import write_columns
from .progress import bars
from .run import Wish, run


def path_command(
    wish: Wish, steps: int, output: Path | None, labels: Path | None, *, overwrite: bool, quiet: bool
) -> None:
    """Solve along the path, print a table, write it."""
    target = output or Path(f"{file_name(wish.data).stem}.path.csv")
    for each in (target, labels):
        if each is not None:
            check_file_target(each, overwrite=overwrite)
            if each.suffix.lower() not in TABLE_FORMATS:
                raise FileError(f"{str(each)!r} has no ending of a table. Use one of {', '.join(TABLE_FORMATS)}.")
    with bars(quiet=quiet) as shown:
        outcome = run(wish, shown, lambda line: None, path=steps)
    table = path_table(outcome.model.path_)
    if not quiet:
        typer.echo("\n".join(lines(table)))
    write_whole(target, table)
    if labels is not None:
        steps_labels = (point.solution.labels for point in outcome.model.path_)
        write_whole(labels, {f"step_{i + 1}": each for i, each in enumerate(steps_labels)})


def path_table(path: list[Any]) -> dict[str, Any]:
    """What is known of each step."""
    solutions = [point.solution for point in path]
    changed = [0] + [int((a.labels != b.labels).sum()) for a, b in pairwise(solutions)]
    counts = [np.bincount(each.labels, minlength=each.Z.shape[1]) for each in solutions]
    return {
        "step": np.arange(1, len(path) + 1),
        "lam": np.array([point.lam for point in path], dtype=float),
        "bandwidth": np.array([float(np.mean(point.bandwidth)) for point in path]),
        "objective": np.array([each.objective for each in solutions]),
        "gap": np.array([each.gap for each in solutions]),
        "rows_changed": np.array(changed),
        "smallest_cluster": np.array([count.min() for count in counts]),
        "largest_cluster": np.array([count.max() for count in counts]),
    }


def lines(table: dict[str, Any]) -> list[str]:
    """The table for the terminal."""
    cells = [[name, *(f"{value:.4g}" for value in column)] for name, column in table.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def write_whole(target: Path, columns: dict[str, Any]) -> None:
    """A table that appears when it is whole."""
    with whole_file(target) as partial:
        write_columns(partial, columns, target.suffix.lower())
