"""A colour for each cluster that stands out from white and from black."""

from __future__ import annotations

from colorsys import hls_to_rgb

from ..plotting import PALETTE

GOLDEN = 0.618034


def hex_colors(n: int) -> list[str]:
    """The colours of the plots; beyond six, hues far apart with three lightnesses in turn."""
    if n <= len(PALETTE):
        return [color.lower() for color in PALETTE[:n]]
    rgb = [hls_to_rgb((0.55 + GOLDEN * i) % 1.0, (0.42, 0.55, 0.66)[i % 3], 0.62) for i in range(n)]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in color) for color in rgb]
