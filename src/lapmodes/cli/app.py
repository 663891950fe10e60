"""The command `lapmodes` and the list of its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from .fit import TwoScreens, fit
from .info import info
from .path import path
from .predict import predict
from .reproduce import demo, reproduce
from .segment import segment


def show_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lapmodes {version('lapmodes')}")
        raise typer.Exit


app = typer.Typer(
    name="lapmodes",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)


@app.callback(epilog="Start with: lapmodes fit YOUR.csv, then open the report that it names.")
def lapmodes(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Laplacian K-modes clustering: K clusters of any shape, each with a mode."""


app.command(short_help="Cluster the rows of a file.", cls=TwoScreens)(fit)
app.command(short_help="Put the rows of another file into the clusters.")(predict)
app.command(short_help="Follow the clusters from K-means to narrow kernels.")(path)
app.command(short_help="Divide a picture into segments.")(segment)
app.command(short_help="Draw the paper's spirals and moons.")(demo)
app.command(short_help="Run the paper's experiments.")(reproduce)
app.command(short_help="Versions, threads and optional packages.")(info)
