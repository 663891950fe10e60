"""`lapmodes predict`: put the rows of another file into the clusters of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .config import from_file
from .guard import guarded


@guarded
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.npz, or the folder that fit wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file with the same columns; - is a CSV on stdin.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Result; - is stdout. [default: DATA.clusters.csv, …]"),
    ] = None,
    soft: Annotated[bool, typer.Option(help="Also write the soft assignments.")] = False,
    keep: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to copy. [default: none]")] = None,
    delimiter: Annotated[str | None, typer.Option(metavar="SIGN", help="Of a CSV file. [default: found]")] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Of a CSV file.")] = "utf-8",
    array: Annotated[str | None, typer.Option(metavar="NAME", help="Of an .npz or .h5ad. [default: X, X_pca]")] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Threads. [default: all cores]")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=from_file, metavar="FILE", help="Options as TOML. [default: none]"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Put the rows of DATA into the clusters of MODEL.

    A Parquet, Feather, CSV or NPY file may be larger than memory.
    """
    from .predict_command import Query, predict_command

    predict_command(
        Query(model, data, output, soft, keep, delimiter, encoding, array, jobs), overwrite=overwrite, quiet=quiet
    )
