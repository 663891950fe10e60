"""The work of `lapmodes predict`: read a piece, map it, write it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer

from .._rows import largest_columns
from ..files import FileError, PreparedModel, Table
from ..files.atomic import PIPE, check_file_target, delivered, spooled
from ..files.formats import batches, is_picture
from ..files.results import sink
from .config import names
from .outputs import kept_columns, output_suffix
from .progress import bars
from .run import reading


@dataclass(frozen=True)
class Query:
    """The options of ``lapmodes predict``."""

    model: Path
    data: Path
    output: Path | None = None
    soft: bool = False
    keep: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    array: str | None = None
    jobs: int | None = None


def predict_command(query: Query, *, overwrite: bool, quiet: bool) -> None:
    """Map all rows; the output is whole or not there."""
    if is_picture(query.data):
        raise FileError("A picture's segments are its own. Use lapmodes segment on each picture.")
    if query.model.is_file() and query.model.suffix.lower() != ".npz":
        raise FileError(f"{str(query.model)!r} is no model. Name first the folder that fit wrote, then the data.")
    target = query.output or default_file(query.data)
    if target != PIPE:
        check_file_target(target, overwrite=overwrite)
    if target.exists() and query.data.exists() and target.samefile(query.data):
        raise FileError(f"The output {str(target)!r} is the input. Name another with -o.")
    prepared = PreparedModel.load(query.model / "model.npz" if query.model.is_dir() else query.model)
    prepared.model.set_params(n_jobs=query.jobs)
    with (
        spooled(query.data) as data,
        delivered(target) as file,
        bars(quiet=quiet) as shown,
        shown.phase("Rows") as step,
    ):
        counts = map_rows(replace(query, data=data), prepared, file, step)
    if not quiet:
        typer.echo(f"{counts.sum():,} rows: {', '.join(f'{count:,}' for count in counts)}.", err=True)
        if target != PIPE:
            typer.echo(f"Result in {target}", err=True)


def default_file(data: Path) -> Path:
    """Where a result goes if nobody says: named after the data, or through the pipe that the data came from."""
    return PIPE if data == PIPE else Path(f"{data.stem}.clusters{output_suffix(data)}")


def map_rows(query: Query, prepared: PreparedModel, target: Path, step: object) -> np.ndarray:
    """Write the cluster of each row; returns how many went where."""
    assert callable(step)
    keep = names(query.keep) or []
    counts = np.zeros(prepared.model.n_clusters, dtype=np.int64)
    how = reading(query.delimiter, query.encoding, query.array, None)
    pieces = batches(query.data, how, prepared.recipe.columns, keep)
    first = next(pieces, None)
    if first is None or first.n_rows == 0:
        raise FileError(f"{str(query.data)!r} has no rows.")
    with sink(target, counts.size, soft=query.soft, row_names=first.row_names) as out:
        table: Table | None = first
        while table is not None:
            if table.n_rows:
                Z = prepared.predict_proba(table, first_row=int(counts.sum()))
                labels = largest_columns(Z)
                out.write(labels, Z, kept_columns(table, keep))
                counts += np.bincount(labels, minlength=counts.size)
                step(table.n_rows)
            table = next(pieces, None)
    return counts
