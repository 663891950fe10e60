"""`lapmodes path`: follow clusters from K-means down to narrow kernels, one line a step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Clusters, Columns, Config, Drop, Impute, Missing, Overwrite, Quiet, Scale, Seed
from .terminal import printer, progress_bars, with_error_messages


@with_error_messages
def path(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file as for lapmodes fit.")],
    clusters: Clusters,
    steps: Annotated[int, typer.Option(min=2, metavar="N", help="Steps from K-means to the target.")] = 10,
    lam: Annotated[str, typer.Option(metavar="NUMBER", help="Smoothness at the end.")] = "auto",
    bandwidth: Annotated[str, typer.Option(metavar="NUMBER", help="Kernel width at the end.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Table. [default: DATA.path.csv]")
    ] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Clusters at each step. [default: none]")] = None,
    columns: Columns = None,
    drop: Drop = None,
    missing: Missing = "auto",
    impute: Impute = None,
    scale: Scale = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Follow the clusters of DATA from K-means (σ = ∞, λ = 0) to narrow kernels."""
    from .. import fit_path
    from .._warnings import warnings_as_notes
    from ..files.atomic import check_parent, delivered, stem
    from .fitting import FitOptions, prepare
    from .options import levels_of
    from .outputs import all_assignments

    if len(levels_of(clusters)) > 1:
        raise ValueError(f"A path has one number of clusters: give one with -k. Got {clusters!r}.")
    options = FitOptions(
        data=data,
        clusters=clusters,
        columns=columns,
        drop=drop,
        missing=missing,
        impute=impute,
        scale=scale,
        lam=lam,
        bandwidth=bandwidth,
        seed=seed,
    )
    target, apart = output or Path(f"{stem(data)}.path.csv"), output is None and not overwrite
    check_parent(target)
    for file in (None if apart else target, labels):
        if file is not None:
            check_table_target(file, overwrite=overwrite)
    with progress_bars(quiet=quiet) as bars, warnings_as_notes():
        run = prepare(options, bars, printer(quiet=quiet))
        parameters = run.model.get_params(deep=False)
        found = [
            step_of(model, all_assignments(run, model)[0])
            for model in fit_path(run.points, n_steps=steps, graph=run.graph, **parameters)
        ]
    table = path_table(found)
    if not quiet:
        typer.echo("\n".join(aligned_lines(table)))
    with delivered(target, apart=".path.csv" if apart else None) as delivery:
        write_table(delivery.file, table)
    printer(quiet=quiet)(f"Result in {delivery.place}")
    if labels is not None:
        write_table(labels, {f"step_{i + 1}": step.labels for i, step in enumerate(found)})


def check_table_target(target: Path, *, overwrite: bool) -> None:
    """An output file whose ending is that of a table."""
    from ..files import FileError
    from ..files.atomic import check_file_target
    from ..files.formats import TABLE_FORMATS

    check_file_target(target, overwrite=overwrite)
    if target.suffix.lower() not in TABLE_FORMATS:
        raise FileError(f"{str(target)!r} has no ending of a table. Use one of {', '.join(TABLE_FORMATS)}.")


@dataclass(frozen=True)
class Step:
    """What is kept of the model of a step."""

    lam: float
    bandwidth: float
    """The mean of them where every row has its own."""
    objective: float
    gap: float
    labels: Any
    """Of all rows of the file, also those that were left out of the fit."""
    sizes: Any


def step_of(model: Any, labels: Any) -> Step:
    """What is kept of a fitted model, which holds much more."""
    import numpy as np

    return Step(
        lam=float(model.lam_),
        bandwidth=float(np.mean(model.bandwidth_)),
        objective=float(model.objective_),
        gap=float(model.gap_),
        labels=labels,
        sizes=np.bincount(model.labels_, minlength=model.n_clusters_),
    )


def path_table(steps: list[Step]) -> dict[str, Any]:
    """What is known of each step."""
    import numpy as np

    return {
        "step": np.arange(1, len(steps) + 1),
        "lam": np.array([step.lam for step in steps]),
        "bandwidth": np.array([step.bandwidth for step in steps]),
        "objective": np.array([step.objective for step in steps]),
        "gap": np.array([step.gap for step in steps]),
        "rows_changed": np.array([0, *(int((a.labels != b.labels).sum()) for a, b in pairwise(steps))]),
        "smallest_cluster": np.array([step.sizes.min() for step in steps]),
        "largest_cluster": np.array([step.sizes.max() for step in steps]),
    }


def aligned_lines(table: dict[str, Any]) -> list[str]:
    """The table for the terminal."""
    cells = [[name, *(f"{value:.4g}" for value in column)] for name, column in table.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def write_table(target: Path, columns: dict[str, Any]) -> None:
    """A table that appears when it is whole."""
    from ..files.atomic import whole_file
    from ..files.results import write_columns

    with whole_file(target) as partial:
        write_columns(partial, columns, target.suffix.lower())
