"""`lapmodes predict`: put the rows of another file into the clusters of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import ArrayName, Config, Decimal, Delimiter, Encoding, Jobs, NoFormulas, Overwrite, Quiet
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
    no_formulas: bool = False


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
    no_formulas: NoFormulas = False,
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
        no_formulas=no_formulas,
    )
    predict_file(options, overwrite=overwrite, quiet=quiet)


def predict_file(options: PredictOptions, *, overwrite: bool, quiet: bool) -> None:
    """Map all rows; the output is whole or not there."""
    from ..files import FileError, PreparedModel
    from ..files.atomic import PIPE, check_file_target, check_parent, delivered, spooled
    from ..files.base import counted
    from ..files.formats import is_picture

    if is_picture(options.data):
        raise FileError("A picture's segments are its own. Use lapmodes segment on each picture.")
    if options.model.is_file() and options.model.suffix.lower() != ".npz":
        raise FileError(f"{str(options.model)!r} is no model. Name first the folder that fit wrote, then the data.")
    target = options.output or default_target(options.data)
    apart = options.output is None and not overwrite
    if apart:
        check_parent(target)
    elif target != PIPE:
        check_file_target(target, overwrite=overwrite)
    if target.exists() and options.data.exists() and target.samefile(options.data):
        raise FileError(f"The output {str(target)!r} is the input. Name another with -o.")
    prepared = PreparedModel.load(options.model / "model.npz" if options.model.is_dir() else options.model)
    prepared.model.set_params(n_jobs=options.jobs)
    say = printer(quiet=quiet)
    with (
        spooled(options.data) as data,
        delivered(target, apart=f".clusters{target.suffix}" if apart else None) as delivery,
        progress_bars(quiet=quiet) as bars,
        bars.phase("Rows") as advance,
    ):
        found = map_rows(replace(options, data=data), prepared, delivery.file, advance, say)
    say(f"{counted(found.n_rows, 'row')}: {', '.join(f'{count:,}' for count in found.sizes)}.")
    for line in found.lines():
        say(line)
    if delivery.place != PIPE:
        say(f"Result in {delivery.place}")


def default_target(data: Path) -> Path:
    """Where a result goes if nobody says: named after the data, or through the pipe that the data came from."""
    from ..files.atomic import PIPE, stem
    from .outputs import output_suffix

    return PIPE if data == PIPE else Path(f"{stem(data)}.clusters{output_suffix(data)}")


@dataclass
class Mapped:
    """What is known of the rows so far: how many went where, and those that lack values."""

    sizes: Any
    """Rows in each cluster."""
    gaps: list[int] = field(default_factory=list)
    """Rows with missing values, from 1."""
    n_unplaced: int = 0
    """Rows without any value."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum()) + self.n_unplaced

    def add(self, labels: Any, gaps: Any) -> None:
        """Count the next rows."""
        import numpy as np

        self.gaps += (np.flatnonzero(gaps) + self.n_rows + 1).tolist()
        self.sizes += np.bincount(labels[labels >= 0], minlength=self.sizes.size)
        self.n_unplaced += int((labels < 0).sum())

    def lines(self) -> list[str]:
        """What to tell about missing values."""
        from ..files.base import counted, listed

        lines = []
        if self.gaps:
            which = "row" if len(self.gaps) == 1 else "rows"
            lines.append(f"{counted(len(self.gaps), 'row')} with missing values: {which} {listed(self.gaps)}.")
        if self.n_unplaced:
            lines.append(f"{counted(self.n_unplaced, 'row')} without any value, put into no cluster (-1).")
        return lines


def map_rows(
    options: PredictOptions,
    prepared: Any,
    target: Path,
    advance: Callable[[int], None],
    say: Callable[[str], None],
) -> Mapped:
    """Write the cluster of each row, piece by piece; returns how many rows went where."""
    import numpy as np

    from ..files import FileError, batches
    from ..files.prepared import labels_of
    from ..files.results import sink
    from ..report.content import cluster_names
    from .options import column_list, reading_of
    from .outputs import kept_columns

    keep, recipe = column_list(options.keep), prepared.recipe
    as_text = [*keep, *(name for name, _ in recipe.categories)]
    reading = recipe.reading(reading_of(options.delimiter, options.encoding, options.array, decimal=options.decimal))

    def pieces() -> Iterator[Any]:
        return (table for table in batches(options.data, reading, recipe.columns, as_text) if table.n_rows)

    first, second = [*islice(pieces(), 2), None, None][:2]
    if first is None:
        raise FileError(f"{str(options.data)!r} has no rows.")
    parts = pieces if second is not None else lambda: iter([first])  # what fits into memory is read once
    any_gaps = any(recipe.count_gaps(table).any() for table in parts())
    found = Mapped(np.zeros(prepared.model.n_clusters_, dtype=np.int64))
    written = {"soft": options.soft, "gaps": any_gaps, "no_formulas": options.no_formulas}
    names = cluster_names(prepared.model)
    with sink(target, found.sizes.size, row_names=first.row_names, names=names, **written) as out:
        for table in parts():
            for line in table.understood:
                say(line)
            Z = prepared.predict_proba(table, first_row=found.n_rows)
            labels, gaps = labels_of(Z), recipe.count_gaps(table)
            out.write(labels, Z, kept_columns(table, keep), gaps)
            found.add(labels, gaps)
            advance(table.n_rows)
    return found
