"""The list of targets: a name and the function that draws its cases."""

from __future__ import annotations

from . import choices, command_line, files, fits
from .harness import Draw

TARGETS: dict[str, Draw] = {
    "fits": fits.draw,
    "select": choices.draw_for("select"),
    "layers": choices.draw_for("fit_layers"),
    "path": choices.draw_for("fit_path"),
    "files": files.draw,
    "models": files.draw_model,
    "command_line": command_line.draw,
}
