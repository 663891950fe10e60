"""`lapmodes path`: follow clusters from K-means down to narrow kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .config import from_file
from .fit import Impute, Scale
from .guard import guarded


@guarded
def path(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file as for lapmodes fit.")],
    clusters: Annotated[str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.")],
    steps: Annotated[int, typer.Option(min=2, metavar="N", help="Steps from K-means to the target.")] = 10,
    lam: Annotated[str, typer.Option(metavar="NUMBER", help="Smoothness at the end.")] = "auto",
    bandwidth: Annotated[str, typer.Option(metavar="NUMBER", help="Kernel width at the end.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Table. [default: DATA.path.csv]")
    ] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Clusters at each step. [default: none]")] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to use. [default: all numbers]")] = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to leave out. [default: none]")] = None,
    impute: Annotated[
        Impute | None, typer.Option(metavar="RULE", help="mean median zero, for missing values. [default: an error]")
    ] = None,
    scale: Annotated[Scale, typer.Option(metavar="RULE", help="none standard robust minmax unit.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random start.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier output.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=from_file, metavar="FILE", help="Options as TOML. [default: none]"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Follow the clusters of DATA from K-means (σ = ∞, λ = 0) to narrow kernels."""
    from .path_command import path_command
    from .run import Wish

    wish = Wish(
        data, clusters, columns=columns, drop=drop, impute=impute, scale=scale, lam=lam, bandwidth=bandwidth, seed=seed
    )
    path_command(wish, steps, output, labels, overwrite=overwrite, quiet=quiet)
