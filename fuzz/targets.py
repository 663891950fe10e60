"""The list of targets: a name and the function that draws its cases."""

from __future__ import annotations

from . import files, fits
from .harness import Draw

TARGETS: dict[str, Draw] = {
    "fits": fits.draw,
    "files": files.draw,
    "models": files.draw_model,
}
