"""Files in docs/images: how they are stored with the facts that they show, and how two of them are compared."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from transcripts import ROOT, SMALL_COUNT

IMAGES = ROOT / "docs" / "images"
FIELD = "lapmodes"
"""The text field of a PNG file that holds the facts."""
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-background-networking"]
FLAGS += ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@dataclass(frozen=True)
class Picture:
    """A file in docs/images."""

    name: str
    facts: Callable[[], dict[str, Any]]
    """What it shows, in numbers."""
    draw: Callable[[], Image.Image]
    needs_browser: bool = False

    @property
    def file(self) -> Path:
        """Where it is stored."""
        return IMAGES / f"{self.name}.png"

    def write(self) -> None:
        """Draw it and store it with its facts."""
        info = PngInfo()
        info.add_text(FIELD, json.dumps(self.facts()))
        self.draw().save(self.file, optimize=True, pnginfo=info)

    def stored_facts(self) -> dict[str, Any]:
        """The facts in the file."""
        with Image.open(self.file) as image:
            return json.loads(image.info.get(FIELD, "{}"))

    def tells_the_truth(self) -> bool:
        """Whether the facts in the file are those of today, up to what other processors may round."""
        return alike(self.stored_facts(), json.loads(json.dumps(self.facts())))


def alike(one: Any, other: Any) -> bool:
    """Whether two facts are the same: fractions up to 0.02, large counts up to one in fifty, all else exactly."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 0.0201
    if isinstance(one, int) and isinstance(other, int) and min(one, other) > SMALL_COUNT:
        return abs(one - other) <= 0.02 * max(one, other)
    return bool(one == other)


def png(figure: Figure, dpi: int = 150) -> Image.Image:
    """A figure as a picture."""
    stream = BytesIO()
    figure.savefig(stream, dpi=dpi, format="png", bbox_inches="tight", pad_inches=0.05)
    return Image.open(stream).convert("RGB")


def screenshots(
    address: str, size: tuple[int, int] = (975, 1380), prepare: Callable[[Any], None] | None = None
) -> Image.Image:
    """A page on a light desktop of this size and on a dark phone, side by side; `prepare` is called for each."""
    from playwright.sync_api import sync_playwright

    shots = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for width, scheme in ((size[0], "light"), (390, "dark")):
            viewport = {"width": width, "height": size[1]}
            page = browser.new_context(viewport=viewport, color_scheme=scheme).new_page()
            page.goto(address)
            if prepare is not None:
                prepare(page)
            page.wait_for_timeout(1500)
            shots.append(Image.open(BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
    left, right = shots
    both = Image.new("RGB", (left.width + 20 + right.width, left.height), "#c4c7cc")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 20, 0))
    return both


def can_browse() -> bool:
    """Whether pages can be drawn here."""
    from importlib.util import find_spec

    return CHROMIUM is not None and find_spec("playwright") is not None


def difference(one: Image.Image, other: Image.Image) -> float:
    """The largest difference of colour, from 0 to 1, between places of two pictures of about the same shape.

    A place is one of 40 columns and as many rows as fit, so that letters that are drawn a little differently do not
    count, and a point of another colour hardly does.
    """
    if abs(one.width / one.height - other.width / other.height) > 0.05 * one.width / one.height:
        return 1.0
    size = (40, max(2, round(40 * one.height / one.width)))
    a, b = (np.asarray(each.convert("RGB").resize(size, Image.Resampling.BOX), dtype=float) for each in (one, other))
    return float(np.abs(a - b).max() / 255)
