"""`lapmodes demo` and `lapmodes reproduce`: the paper's two pictures, and all of its tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import with_error_messages


@with_error_messages
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the pictures.")] = Path(
        "demo"
    ),
) -> None:
    """Cluster the paper's spirals and moons and draw its figures 2 and 3 (some seconds)."""
    from ..paper.demo import main

    code = main(["--output", str(output)])
    if code:
        raise typer.Exit(code)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[table1|table3|figure1..figure6|homotopy]...", help="Which; all if none is named."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables, pictures and page.")] = Path(
        "results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Smaller data, fewer restarts: 5 minutes in all.")] = False,
) -> None:
    """Run the paper's experiments and set what was measured beside what was published.

    Writes CSV files, pictures and index.html. An interrupted run goes on where it was.
    Real data is read from the folder that LAPMODES_DATA names, or downloaded once.
    """
    from .._progress import BarProgress
    from ..paper.reproduce import EXPERIMENTS
    from ..paper.reproduce import reproduce as run

    try:
        sections = run(names or EXPERIMENTS, output, quick=quick, progress=BarProgress())
    except (ValueError, ImportError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    for section in sections:
        for claim in section.claims:
            typer.echo(f"{section.name:<9} {'holds' if claim['holds'] else 'FAILS'}  {claim['measured']}")
    typer.echo(f"Page: {(output / 'quick' if quick else output) / 'index.html'}")
