"""`lapmodes fit`: cluster the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .config import from_file
from .guard import guarded
from .help import show_more

Scale = Literal["auto", "none", "standard", "robust", "minmax", "unit"]
Impute = Literal["mean", "median", "zero"]
Metric = Literal["euclidean", "cosine"]
Affinity = Literal["auto", "binary", "heat", "adaptive", "entropic", "anchor"]


READING, MODEL, RUNNING = "Reading", "Model", "Running"


@guarded
def fit(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Table, array, .h5ad, picture or folder; - is a CSV on stdin."),
    ],
    clusters: Annotated[str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Result. [default: DATA.lapmodes]")
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to use. [default: all numbers]")] = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to leave out. [default: none]")] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns to copy to the output. [default: none]")
    ] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="A", help="Known classes to compare with. [default: none]")
    ] = None,
    impute: Annotated[Impute | None, typer.Option(help="Fill missing values. [default: an error]")] = None,
    scale: Annotated[Scale, typer.Option(metavar="RULE", help="none standard robust minmax unit.")] = "auto",
    metric: Annotated[Metric, typer.Option(help="cosine for embeddings.")] = "euclidean",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    lam: Annotated[
        str, typer.Option(metavar="NUMBER", help="Smoothness of the clusters.", rich_help_panel=MODEL)
    ] = "auto",
    bandwidth: Annotated[
        str, typer.Option(metavar="NUMBER", help="Kernel width, or adaptive.", rich_help_panel=MODEL)
    ] = "auto",
    affinity: Annotated[
        Affinity, typer.Option(metavar="KIND", help="binary heat adaptive entropic anchor.", rich_help_panel=MODEL)
    ] = "auto",
    neighbors: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="In the graph. [default: 10]", rich_help_panel=MODEL)
    ] = None,
    graph: Annotated[bool, typer.Option(help="Use an .h5ad's graph.", rich_help_panel=MODEL)] = True,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random start.", rich_help_panel=MODEL)] = 0,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Other parameters. [default: none]", rich_help_panel=MODEL),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Of a CSV file. [default: found]", rich_help_panel=READING)
    ] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Of a CSV file.", rich_help_panel=READING)] = "utf-8",
    array: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of an .npz or .h5ad. [default: X, X_pca]", rich_help_panel=READING),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A matrix's columns, one a line. [default: none]", rich_help_panel=READING),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(metavar="HxW", help="Rows are pictures of this size. [default: no]", rich_help_panel=READING),
    ] = None,
    report: Annotated[bool, typer.Option(help="Write report.html.", rich_help_panel=RUNNING)] = True,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Threads. [default: all cores]", rich_help_panel=RUNNING)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            is_eager=True,
            callback=from_file,
            metavar="FILE",
            help="Options as TOML. [default: none]",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    help_more: Annotated[
        bool,
        typer.Option(
            "--help-more", is_eager=True, callback=show_more, help="Show the other options: model, reading, running."
        ),
    ] = False,
) -> None:
    """Cluster the rows of DATA into K clusters and explain the result in a report."""
    from .fit_command import fit_command
    from .run import Wish

    wish = Wish(
        data, clusters, columns, drop, keep, truth, impute, scale, lam, bandwidth, affinity, neighbors, metric, seed,
        jobs, set or [], delimiter, encoding, array, names, image, graph,
    )  # fmt: skip
    fit_command(wish, output, report=report, overwrite=overwrite, quiet=quiet)
