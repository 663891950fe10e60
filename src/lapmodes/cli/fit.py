"""`lapmodes fit`: cluster the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .config import from_file
from .guard import guarded

Scale = Literal["auto", "none", "standard", "robust", "minmax", "unit"]
Impute = Literal["mean", "median", "zero"]
Metric = Literal["euclidean", "cosine"]
Affinity = Literal["auto", "binary", "heat", "adaptive", "entropic", "anchor"]


@guarded
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Feather, NPY, NPZ, MTX, H5AD, picture or folder.")
    ],
    clusters: Annotated[str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters, or 'auto'.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder. [default: DATA.lapmodes]")] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to use. [default: all numbers]")] = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to leave out. [default: none]")] = None,
    keep: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to copy to the output.")] = None,
    truth: Annotated[str | None, typer.Option(metavar="A", help="Column of known classes to compare with.")] = None,
    impute: Annotated[Impute | None, typer.Option(help="Fill missing values. [default: an error]")] = None,
    scale: Annotated[Scale, typer.Option(help="Scaling of the columns.")] = "auto",
    lam: Annotated[str, typer.Option(metavar="NUMBER", help="Smoothness: a number or 'auto'.")] = "auto",
    bandwidth: Annotated[str, typer.Option(metavar="NUMBER", help="Kernel width: a number, auto, adaptive.")] = "auto",
    affinity: Annotated[Affinity, typer.Option(help="Weights of the neighbour graph.")] = "auto",
    neighbors: Annotated[int | None, typer.Option(min=1, help="Neighbours in the graph. [default: 10]")] = None,
    metric: Annotated[Metric, typer.Option(help="Cosine suits text and embeddings.")] = "euclidean",
    graph: Annotated[bool, typer.Option(help="Use the graph of an .h5ad file.")] = True,
    seed: Annotated[int, typer.Option(help="Of the random start.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads. [default: all cores]")] = None,
    set: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another parameter.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file. [default: found]")] = None,
    encoding: Annotated[str, typer.Option(help="Of a CSV file.")] = "utf-8",
    array: Annotated[str | None, typer.Option(help="Of an .npz or .h5ad. [default: X or X_pca]")] = None,
    names: Annotated[Path | None, typer.Option(help="Names of a matrix's columns, one a line.")] = None,
    image: Annotated[str | None, typer.Option(metavar="HxW", help="Rows are pictures of this size.")] = None,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result.")] = False,
    config: Annotated[
        Path | None, typer.Option(is_eager=True, callback=from_file, help="TOML file with options like these.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Cluster the rows of DATA into K clusters and explain the result.

    Writes labels and soft assignments, modes, exemplars, model, summary and report into one folder.
    """
    from .fit_command import fit_command
    from .run import Wish

    wish = Wish(
        data, clusters, columns, drop, truth, impute, scale, lam, bandwidth, affinity, neighbors, metric, seed, jobs,
        set or [], delimiter, encoding, array, names, image, graph,
    )  # fmt: skip
    fit_command(wish, output, keep, report=report, overwrite=overwrite, quiet=quiet)
