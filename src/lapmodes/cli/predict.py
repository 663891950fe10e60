"""`lapmodes predict`: put the rows of another file into the clusters of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import ArrayName, Config, Decimal, Delimiter, Encoding, Jobs, Overwrite, Quiet
from .terminal import printer, progress_bars, with_error_messages


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """The options of ``lapmodes predict`` that decide the result."""

    model: Path
    data: Path
    output: Path | None = None
    soft: bool = False
    keep: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    array: str | None = None
    jobs: int | None = None


@with_error_messages
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.npz, or the folder that fit wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file with the same columns; - is a CSV on stdin.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Result; - is stdout. [default: DATA.clusters.csv, …]"),
    ] = None,
    soft: Annotated[bool, typer.Option(help="Also write the soft assignments.")] = False,
    keep: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to copy. [default: none]")] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    array: ArrayName = None,
    jobs: Jobs = None,
    overwrite: Overwrite = False,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Put the rows of DATA into the clusters of MODEL.

    A Parquet, Feather, CSV or NPY file may be larger than memory.
    """
    options = PredictOptions(
        model=model,
        data=data,
        output=output,
        soft=soft,
        keep=keep,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        array=array,
        jobs=jobs,
    )
    predict_file(options, overwrite=overwrite, quiet=quiet)


def predict_file(options: PredictOptions, *, overwrite: bool, quiet: bool) -> None:
    """Map all rows; the output is whole or not there."""
    from ..files import FileError, PreparedModel
    from ..files.atomic import PIPE, check_file_target, delivered, spooled
    from ..files.formats import is_picture

    if is_picture(options.data):
        raise FileError("A picture's segments are its own. Use lapmodes segment on each picture.")
    if options.model.is_file() and options.model.suffix.lower() != ".npz":
        raise FileError(f"{str(options.model)!r} is no model. Name first the folder that fit wrote, then the data.")
    target = options.output or default_target(options.data)
    if target != PIPE:
        check_file_target(target, overwrite=overwrite)
    if target.exists() and options.data.exists() and target.samefile(options.data):
        raise FileError(f"The output {str(target)!r} is the input. Name another with -o.")
    prepared = PreparedModel.load(options.model / "model.npz" if options.model.is_dir() else options.model)
    prepared.model.set_params(n_jobs=options.jobs)
    say = printer(quiet=quiet)
    with (
        spooled(options.data) as data,
        delivered(target) as file,
        progress_bars(quiet=quiet) as bars,
        bars.phase("Rows") as advance,
    ):
        counts = map_rows(replace(options, data=data), prepared, file, advance, say)
    say(f"{counts.sum():,} rows: {', '.join(f'{count:,}' for count in counts)}.")
    if target != PIPE:
        say(f"Result in {target}")


def default_target(data: Path) -> Path:
    """Where a result goes if nobody says: named after the data, or through the pipe that the data came from."""
    from ..files.atomic import PIPE, stem
    from .outputs import output_suffix

    return PIPE if data == PIPE else Path(f"{stem(data)}.clusters{output_suffix(data)}")


def map_rows(
    options: PredictOptions,
    prepared: Any,
    target: Path,
    advance: Callable[[int], None],
    say: Callable[[str], None],
) -> Any:
    """Write the cluster of each row, piece by piece; returns how many rows went where."""
    import numpy as np

    from .._rows import largest_columns
    from ..files import FileError, batches
    from ..files.results import sink
    from .options import column_list, reading_of
    from .outputs import kept_columns

    keep = column_list(options.keep)
    reading = prepared.recipe.reading(
        reading_of(options.delimiter, options.encoding, options.array, decimal=options.decimal)
    )
    pieces = (table for table in batches(options.data, reading, prepared.recipe.columns, keep) if table.n_rows)
    table = next(pieces, None)
    if table is None:
        raise FileError(f"{str(options.data)!r} has no rows.")
    for line in table.understood:
        say(line)
    counts = np.zeros(prepared.model.n_clusters, dtype=np.int64)
    with sink(target, counts.size, soft=options.soft, row_names=table.row_names) as out:
        while table is not None:
            Z = prepared.predict_proba(table, first_row=int(counts.sum()))
            labels = largest_columns(Z)
            out.write(labels, Z, kept_columns(table, keep))
            counts += np.bincount(labels, minlength=counts.size)
            advance(table.n_rows)
            table = next(pieces, None)
    return counts
