"""`lapmodes info`: what is installed here."""

from __future__ import annotations

from typing import Annotated

import typer

from .guard import guarded


@guarded
def info(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for a bug report.  [default: lines]")] = False,
) -> None:
    """Versions, threads, processor features and optional packages: what a bug report needs."""
    import json

    from .info_command import facts

    found = facts()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for group, values in found.items():
        typer.echo(f"{group}")
        for name, value in values.items():
            typer.echo(f"  {name:<14} {value}")
