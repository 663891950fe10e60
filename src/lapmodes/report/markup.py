"""HTML pieces: numbers as people write them, colours, tables, and pictures within the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from colorsys import hls_to_rgb
from html import escape
from typing import Any

import numpy as np

from .._records import Array
from ..plotting import PALETTE

GOLDEN_RATIO = 0.618034
"""Hues at steps of this part of the circle stay far apart, however many there are."""


def number(value: Any) -> str:
    """A value of the data: four digits, more only where it is whole."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if not np.isfinite(value):
            return "∞" if value > 0 else "missing"
        return f"{value:,.0f}" if abs(value) >= 1e4 and abs(value) < 1e9 else f"{value:.4g}"
    return str(value)


def percent(share: float) -> str:
    """A share of a whole."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share in (0, 1) or 0.1 <= share <= 0.99 else f"{100 * share:.1f} %"


def section(name: str, title: str, body: str) -> str:
    """A section with a heading that links can lead to."""
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{body}</section>'


def table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: bool = True, even: bool = False
) -> str:
    """A table of ready HTML cells, whose first cell names the row; it scrolls sideways by itself."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in rows
    )
    style = ' class="even"' if even else ' class="numbers"' if numeric else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table{style}>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def hex_colors(n: int) -> list[str]:
    """The colours of the plots; beyond six, hues far apart with three lightnesses in turn."""
    if n <= len(PALETTE):
        return [color.lower() for color in PALETTE[:n]]
    rgb = [hls_to_rgb((0.55 + GOLDEN_RATIO * i) % 1.0, (0.42, 0.55, 0.66)[i % 3], 0.62) for i in range(n)]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in color) for color in rgb]


def badge(k: int, color: str) -> str:
    """A cluster's colour and number."""
    return f'<span class="badge"><i style="background:{color}" aria-hidden="true"></i>cluster {k}</span>'


def picture(pixels: Array, shape: tuple[int, ...], alt: str, low: float, high: float) -> str:
    """A row as a picture, its values between `low` and `high` from black to white."""
    from PIL import Image

    values = np.asarray(pixels, dtype=np.float64).reshape(shape)
    grey = np.clip(np.round(255 * (values - low) / ((high - low) or 1)), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(grey).save(stream, format="PNG", optimize=True)
    data = base64.b64encode(stream.getvalue()).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" width="{shape[1]}" height="{shape[0]}">'
