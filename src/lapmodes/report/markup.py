"""HTML pieces: numbers as people write them, names, colours, tables, small charts, and pictures within the page."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from colorsys import hls_to_rgb
from html import escape
from typing import Any

import numpy as np

from .._records import Array
from ..plotting import PALETTE

GOLDEN_RATIO = 0.618034
"""Hues at steps of this part of the circle stay far apart, however many there are."""
NARROW = "\u202f"
"""A space within a number, where no line breaks."""
PLACES_TO_BREAK = re.compile(r"(?<=[_./\\:;,|=-])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""After signs and before capital letters."""
LONG_WORD = re.compile(r"([^\W_]{16})(?=[^\W_]{4})")
"""Too long for a line: it may break after so many letters."""
LONGEST_TEXT = 160
"""Signs of a value that are shown."""
CHART = (300, 130)
"""Width and height of a small chart in its own units, and the margins around its lines."""
LEFT, RIGHT, TOP, BOTTOM = 68, 14, 12, 26


def number(value: Any) -> str:
    """A value of the data: four digits, more only where it is whole; text as it is, cut where it is long."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)) and abs(int(value)) < 10**15:
        return f"{value:,}".replace("-", "−")
    if isinstance(value, (int, float, np.integer, np.floating)):
        value = float(value)
        if not np.isfinite(value):
            return "missing" if np.isnan(value) else "∞" if value > 0 else "−∞"
        if abs(value) < 1e9 and (abs(value) >= 1e4 or value.is_integer()):
            return f"{value:,.0f}".replace("-", "−")
        digits, _, power = f"{value:,.4g}".partition("e")
        return f"{digits}{f'{NARROW}×{NARROW}10{superscript(int(power))}' if power else ''}".replace("-", "−")
    text = "no value" if value is None else str(value)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def superscript(power: int) -> str:
    """A whole number in raised figures."""
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def percent(share: float) -> str:
    """A share of a whole."""
    if 0 < share < 0.001:
        return f"under 0.1{NARROW}%"
    if 0.99 < share < 1:
        return f"{min(100 * share, 99.9):.1f}{NARROW}%"
    return f"{100 * share:.0f}{NARROW}%" if share in (0, 1) or share >= 0.1 else f"{100 * share:.1f}{NARROW}%"


def counted(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def name(text: str) -> str:
    """A name as HTML: in its own direction of writing, with places where a long one may break."""
    parts = LONG_WORD.sub("\\1\0", PLACES_TO_BREAK.sub("\0", text)).split("\0")
    return f"<bdi>{'<wbr>'.join(map(escape, parts))}</bdi>"


def sentence(text: str) -> str:
    """A sentence as HTML, in which names of options are never broken."""
    parts = re.split(r"(--[a-z][a-z-]*)", text)
    return "".join(f'<span class="whole">{part}</span>' if i % 2 else name(part) for i, part in enumerate(parts))


def section(key: str, title: str, body: str) -> str:
    """A section with a heading that links can lead to."""
    return f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{body}</section>'


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str) -> str:
    """A table of ready HTML cells, whose first cell names the row.

    A table of the kind 'wide' scrolls sideways by itself; one of the kind 'list' shows its rows as blocks on a phone.
    """
    heads = [f"<bdi>{escape(each)}</bdi>" for each in header]
    head = "".join(f'<th scope="col" role="columnheader">{each}</th>' for each in heads)
    body = "".join(
        f'<tr role="row"><th scope="row" role="rowheader">{row[0]}</th>'
        + "".join(
            f'<td role="cell" data-label="{escape(label)}">{cell}</td>'
            for label, cell in zip(header[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    focus = f' tabindex="0" role="region" aria-label="{escape(caption)}"' if kind == "wide" else ""
    return (
        f'<div class="{kind}"{focus}><table role="table"><caption>{escape(caption)}</caption><thead role="rowgroup">'
        f'<tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table></div>'
    )


def hex_colors(n: int) -> list[str]:
    """The colours of the plots; beyond six, hues far apart with three lightnesses in turn."""
    if n <= len(PALETTE):
        return [color.lower() for color in PALETTE[:n]]
    rgb = [hls_to_rgb((0.55 + GOLDEN_RATIO * i) % 1.0, (0.42, 0.55, 0.66)[i % 3], 0.62) for i in range(n)]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in color) for color in rgb]


def color_rules(n: int) -> str:
    """The style of everything that belongs to a cluster; attributes would need a laxer policy."""
    return "".join(f".k{k}{{--own:{color}}}" for k, color in enumerate(hex_colors(n)))


def badge(k: int, names: Sequence[str] = ()) -> str:
    """A cluster's colour and number, or its name and number where it has one."""
    called = f"{name(names[k])} <small>({k})</small>" if k < len(names) and names[k] else f"cluster {k}"
    return f'<span class="badge k{k}">{called}</span>'


def bar(share: float) -> str:
    """A bar that is so much of its track."""
    width = max(0.0, min(share, 1.0)) * 100
    return (
        '<svg class="bar" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 8"><rect class="track" '
        f'width="100" height="8"/><rect class="own" width="{width:.4g}" height="8"/></svg>'
    )


def line_chart(
    title: str,
    across: str,
    x: Sequence[float],
    y: Sequence[float],
    chosen: float | None = None,
    best: float | None = None,
) -> str:
    """A small chart of a line with its dots: `chosen` is marked by an upright line, `best` by a larger dot."""
    known = [(a, float(b)) for a, b in zip(x, y, strict=True) if np.isfinite(b)]
    if not known:
        return ""
    heights = [b for _, b in known]
    low, high = min(heights), max(heights)
    at_x, at_y = axis(min(x), max(x), LEFT, CHART[0] - RIGHT), axis(low, high, CHART[1] - BOTTOM, TOP)
    dots = [(a, at_x(a), at_y(b)) for a, b in known]
    words = [
        (LEFT - 10.0, at_y(b) + 4, "end", text) for b, text in zip((low, high), told_apart(low, high), strict=False)
    ]
    words += [(at_x(a), CHART[1] - 6.0, "middle", f"{a:g}") for a in ticks(min(x), max(x), chosen, at_x)]
    label = f"{title} over {across}: from {number(heights[0])} to {number(heights[-1])}"
    label += "" if best is None else f", best at {best:g}"
    shapes = [
        f'<path class="axis" d="M{LEFT} {CHART[1] - BOTTOM + 5}H{CHART[0] - RIGHT}"/>',
        "" if chosen is None else f'<path class="chosen" d="M{at_x(chosen):.1f} {TOP - 4}V{CHART[1] - BOTTOM + 4}"/>',
        f'<path class="line" d="M{"L".join(f"{a:.1f} {b:.1f}" for _, a, b in dots)}"/>',
        *(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{5 if k == best else 2.5}"/>' for k, a, b in dots),
        *(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{text}</text>' for a, b, anchor, text in words),
    ]
    return (
        f'<figure class="small-chart"><figcaption>{escape(title)}</figcaption><svg role="img" viewBox="0 0 {CHART[0]} '
        f'{CHART[1]}" aria-label="{escape(label)}">{"".join(shapes)}</svg></figure>'
    )


def axis(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Where a value lies between two places; in the middle if all values are the same."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return lambda value: (start + end) / 2
    return lambda value: start + (end - start) * (value - low) / (high - low)


def told_apart(low: float, high: float) -> list[str]:
    """Two numbers with as many digits as it takes to tell them apart; one if they are the same."""
    for digits in range(3, 8):
        texts = [f"{value:.{digits}g}".replace("-", "−") for value in (low, high)]
        if texts[0] != texts[1]:
            return texts
    return texts[:1]


def ticks(low: float, high: float, chosen: float | None, place: Callable[[float], float]) -> list[float]:
    """The ends of an axis and what was chosen on it; an end gives way where the two would run into each other."""
    if chosen is None:
        return list(dict.fromkeys([low, high]))
    return [chosen, *(end for end in dict.fromkeys([low, high]) if abs(place(end) - place(chosen)) > 18)]


def picture(pixels: Array, shape: tuple[int, ...], alt: str, low: float, high: float) -> str:
    """A row as a picture, its values between `low` and `high` from black to white."""
    values = np.asarray(pixels, dtype=np.float64).reshape(shape)
    data = png(np.clip(np.round(255 * (values - low) / ((high - low) or 1)), 0, 255).astype(np.uint8))
    code = base64.b64encode(data).decode()
    return f'<img src="data:image/png;base64,{code}" alt="{escape(alt)}" width="{shape[1]}" height="{shape[0]}">'


def png(pixels: Array) -> bytes:
    """A PNG file of bytes (height, width), or (height, width, 3) in colour."""
    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
