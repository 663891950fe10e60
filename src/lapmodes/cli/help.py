"""Help in two screens: what most people need, and the rest."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

MORE = "lapmodes.help-more"


class TwoScreens(TyperCommand):
    """A command that shows options with a help panel on the second screen, ``--help-more``, group by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options of one screen."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            panel = getattr(parameter, "rich_help_panel", None)
            record = parameter.get_help_record(ctx)
            if record is not None and (panel is not None) == (MORE in ctx.meta):
                groups.setdefault(panel or f"{parameter.param_type_name}s".capitalize(), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def show_more(context: typer.Context, wanted: bool) -> bool:
    """Print the second screen, and end."""
    if wanted and not context.resilient_parsing:
        context.meta[MORE] = True
        typer.echo(context.get_help())
        raise typer.Exit
    return wanted
