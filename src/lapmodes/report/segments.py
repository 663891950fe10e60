"""The page of a segmented picture: its borders, and a card with the soft map of each segment."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._persistence import atomic_write
from .._records import Array
from .markup import number, percent, section, table

WIDE, NARROW = 1200, 480
"""Longest sides of the large pictures and of the soft maps on the page, in pixels."""
SURE = 0.9
"""A pixel with a share of at least this belongs to one segment."""
CARDS = 60
"""Segments that get a card each; the table of sizes has all."""


@dataclass(frozen=True)
class SegmentsContent:
    """Everything that the page shows."""

    title: str
    model: Any
    """The fitted model, whose samples are the pixels, row by row."""
    labels: Array
    assignments: Array
    """(height, width, n_segments)."""
    with_borders: Array
    """The picture with its borders, of uint8."""
    colors: Array
    """The mean colour of each segment, (n_segments, 3) of uint8."""
    settings: Sequence[tuple[str, Any, str]] = ()
    """(name, value, meaning) of what was asked for."""
    notes: Sequence[str] = ()
    again: str = ""
    """The command that does the same again."""

    @property
    def sizes(self) -> Array:
        """Pixels of each segment."""
        return np.bincount(self.labels.ravel(), minlength=len(self.colors))

    @property
    def places(self) -> Array:
        """Row and column of a typical pixel of each segment, the one nearest to its mode."""
        return np.column_stack(np.unravel_index(self.model.exemplars_, self.labels.shape))


def write_segments_page(file: Path, content: SegmentsContent) -> None:
    """Write the page, whole or not at all."""
    text = segments_page(content)
    with atomic_write(file) as stream:
        stream.write(text.encode())


def segments_page(content: SegmentsContent) -> str:
    """The whole page as text. Its policy allows this one style and this one script, and nothing else."""
    style = files("lapmodes.report").joinpath("assets", "report.css").read_text(encoding="utf-8")
    style += STYLE + own_styles(content)
    body = [
        opening(content),
        section("picture", "The picture", large_pictures(content)),
        section("segments", "The segments", size_table(content) + cards(content)),
        section("how", "How it was done", method(content)),
    ]
    policy = f"default-src 'none'; script-src {digest(SCRIPT)}; style-src {digest(style)}; img-src data:; "
    return TEMPLATE.format(
        title=escape(content.title),
        policy=policy + "base-uri 'none'; form-action 'none'",
        style=style,
        body="\n".join(body),
        version=__version__,
        script=SCRIPT,
    )


def digest(text: str) -> str:
    """The name of a style or script in the policy: it is allowed as it stands, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def own_styles(content: SegmentsContent) -> str:
    """The colour of each segment, and where its number stands on the picture, in percent."""
    height, width = content.labels.shape
    rules = []
    for k, (color, (row, column)) in enumerate(zip(content.colors, content.places, strict=True)):
        left, top = 100 * (column + 0.5) / width, 100 * (row + 0.5) / height
        rules.append(f".s{k} {{ --own: {hexadecimal(color)}; }} .at{k} {{ left: {left:.2f}%; top: {top:.2f}%; }}")
    return "\n".join(rules)


def hexadecimal(color: Array) -> str:
    """A colour as the web writes it."""
    return "#" + "".join(f"{int(part):02x}" for part in color)


def embedded(pixels: Array, alt: str, longest: int, kind: str = "PNG") -> str:
    """A picture within the page, made smaller where it is larger than the page needs."""
    from PIL import Image

    image = Image.fromarray(pixels)
    image.thumbnail((longest, longest))
    stream = io.BytesIO()
    image.save(stream, format=kind, optimize=True, **({"quality": 88} if kind == "JPEG" else {}))
    data = base64.b64encode(stream.getvalue()).decode()
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img src="data:image/{kind.lower()};base64,{data}" alt="{escape(alt)}" {size}>'


def counted(n: int, thing: str) -> str:
    """A number of things."""
    return f"{n:,} {thing}{'s'[: n != 1]}"


def opening(content: SegmentsContent) -> str:
    """What was done, in one paragraph and a few numbers."""
    height, width = content.labels.shape
    sure = float((content.assignments.max(axis=2) >= SURE).mean())
    facts = [
        (f"{width * height:,}", f"pixels, {width:,} × {height:,}"),
        (f"{len(content.colors):,}", "segment" if len(content.colors) == 1 else "segments"),
        (percent(sure), f"of pixels belong to one segment to {percent(SURE)} or more"),
    ]
    numbers = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for value, label in facts)
    notes = "".join(f'<p class="note"><strong>Note.</strong> {escape(note)}</p>' for note in content.notes)
    return (
        f"<header><h1>{escape(content.title)}</h1><p class=lead>Pixels that look alike and lie together were sorted "
        "into segments. A segment may lie in several places. At soft edges a pixel belongs to several segments, and "
        f'the maps below show how much.</p></header><dl class="tiles">{numbers}</dl>{notes}'
    )


def large_pictures(content: SegmentsContent) -> str:
    """The picture with borders and numbers, and beside it the mean colours."""
    marks = "".join(
        f'<span class="mark at{k}" aria-hidden="true">{k}</span>' for k in range(min(len(content.colors), CARDS))
    )
    bordered = embedded(content.with_borders, "The picture with the borders of its segments", WIDE, "JPEG")
    means = embedded(content.colors[content.labels], "Each segment in its mean colour", WIDE)
    return (
        f'<div class="photos"><figure><div class="photo">{bordered}{marks}</div><figcaption>Borders of the segments. '
        "Each number stands at a typical pixel of its segment.</figcaption></figure>"
        f'<figure><div class="photo">{means}</div><figcaption>Each segment in its mean colour.</figcaption></figure>'
        "</div>"
    )


def size_table(content: SegmentsContent) -> str:
    """Sizes as bars that are a table."""
    sizes, rows = content.sizes, []
    for k, size in enumerate(sizes):
        bar = f'<rect width="{100 * size / sizes.max():.1f}" height="10" fill="{hexadecimal(content.colors[k])}"/>'
        drawn = f'<svg class="scale" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{bar}</svg>'
        rows.append([name(k), f"{size:,}", percent(size / sizes.sum()), drawn])
    return table("Sizes of the segments", ["segment", "pixels", "share", "drawn to scale"], rows, kind="list")


def name(k: int) -> str:
    """A segment's mean colour and number."""
    return f'<span class="badge s{k}">segment {k}</span>'


def cards(content: SegmentsContent) -> str:
    """A card for each segment."""
    shown = range(min(len(content.colors), CARDS))
    more = f"<p>Cards are shown for the first {CARDS} of {len(content.colors)} segments.</p>"
    return (
        "<p>Each soft map is white where a pixel belongs to the segment entirely, and black where not at all.</p>"
        f'<div class="cards">{"".join(card(content, k) for k in shown)}</div>' + more * (len(content.colors) > CARDS)
    )


def card(content: SegmentsContent, k: int) -> str:
    """The soft map of a segment and its facts."""
    size, shares = int(content.sizes[k]), content.assignments[:, :, k]
    soft = embedded(np.round(255 * shares).astype(np.uint8), f"Soft map of segment {k}", NARROW)
    row, column = content.places[k]
    shared = int(((shares > 0) & (shares < SURE)).sum())
    facts = {
        "mean colour": f"<code>{hexadecimal(content.colors[k])}</code>",
        "typical pixel": f"column {column + 1:,}, row {row + 1:,}",
        "shared pixels": f"{shared:,}",
    }
    listed = "".join(f"<dt>{term}</dt><dd>{value}</dd>" for term, value in facts.items())
    return (
        f'<article class="card s{k}" aria-labelledby="segment-{k}"><header><h3 id="segment-{k}">{name(k)}</h3>'
        f"<p>{counted(size, 'pixel')}, {percent(size / content.labels.size)}</p></header>"
        f'<div class="soft">{soft}</div><dl class="pairs">{listed}</dl></article>'
    )


def method(content: SegmentsContent) -> str:
    """The certificate in plain words, what was asked for, and the command that does it again."""
    model = content.model
    gap = percent(model.gap_ / max(abs(model.objective_), np.finfo(float).tiny))
    proof = (
        f"For these typical pixels, all that other soft maps could still gain is proven to be {gap} of the objective."
    )
    proof = proof if model.gap_ > 0 else "For these typical pixels, the soft maps are proven to be the best."
    rows = [
        [f"<code>{escape(key)}</code>", escape(number(value)), escape(text)] for key, value, text in content.settings
    ]
    command = (
        f'<dl class="commands"><dt>Do exactly this again</dt><dd><code>{escape(content.again)}</code></dd></dl>'
        if content.again
        else ""
    )
    return (
        f"<p>The search took {counted(int(model.n_iter_), 'round')}. {proof} The typical pixels themselves are a good "
        "solution, not provably the best: another seed may find others.</p>"
        + table("What was asked for", ["option", "value", "what it is"], rows, kind="list")
        + command
        + "<p>Method: Laplacian K-modes (W. Wang and M. Á. Carreira-Perpiñán, 2014).</p>"
    )


STYLE = """
.photos { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
.photos figure { margin: 0; } .photos figcaption { margin-top: .4rem; } .photo { position: relative; line-height: 0; }
.photo img, .soft img { width: 100%; height: auto; max-height: 46rem; image-rendering: auto; background: none; }
.mark { position: absolute; transform: translate(-50%, -50%); min-width: 1.5rem; padding: 0 .35rem; text-align: center;
  background: #101010; color: #fff; border: 1px solid #fff; border-radius: 99px; font: .85rem/1.4rem sans-serif; }
.scale { display: block; width: 100%; height: .8rem; margin-top: .35rem; background: var(--soft); border-radius: 4px; }
.scale rect { stroke: var(--quiet); vector-effect: non-scaling-stroke; } .soft { margin: .4rem 0 .8rem; }
"""
SCRIPT = """"use strict";
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", (event) => setTheme(event.matches));
  button.addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  setTheme(system.matches);
})();
"""
TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<div class="top"><nav aria-label="Sections"><a href="#picture">Picture</a> <a href="#segments">Segments</a>
<a href="#how">How</a></nav><button type="button" id="theme" aria-pressed="false">Dark</button></div>
<main id="main">{body}</main>
<footer><p>Made by lapmodes {version}. This page is complete in itself and sends nothing anywhere.</p></footer>
<script>{script}</script></body></html>
"""
