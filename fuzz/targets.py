"""The list of targets: a name and the function that draws its cases."""

from __future__ import annotations

from . import fits
from .harness import Draw

TARGETS: dict[str, Draw] = {
    "fits": fits.draw,
}
