"""`lapmodes demo`: the paper's two pictures."""

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
