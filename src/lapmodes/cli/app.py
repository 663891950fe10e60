"""All commands. Each imports what it needs when it runs, so that `--help` is instant."""

from __future__ import annotations

import typer

from .reproduce import reproduce

app = typer.Typer(
    name="lapmodes",
    help="Laplacian K-modes clustering: exactly K clusters of any shape, each with a mode and a density.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command()(reproduce)


@app.callback()
def _root() -> None:
    """Keep subcommands named even while there is only one."""
