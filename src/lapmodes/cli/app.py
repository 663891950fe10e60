"""All commands. Each imports what it needs when it runs, so that `--help` is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from .demo import demo
from .fit import fit
from .help import TwoScreens
from .info import info
from .path import path
from .predict import predict
from .reproduce import reproduce
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


SHORT = {
    fit: "Cluster the rows of a file.",
    predict: "Put the rows of another file into the clusters.",
    path: "Follow the clusters from K-means to narrow kernels.",
    segment: "Divide a picture into segments.",
    demo: "Draw the paper's spirals and moons.",
    reproduce: "Run the paper's experiments.",
    info: "Versions, threads and optional packages.",
}
for command, short_help in SHORT.items():
    app.command(short_help=short_help, cls=TwoScreens)(command)
