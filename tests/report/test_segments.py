"""The page of a segmented picture: what it says, what it allows, and how a browser shows it."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from lapmodes.image import mean_colors, segment, with_borders
from lapmodes.report.segments import SegmentsContent, segments_page, write_segments_page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NASTY = '<script>alert("x")</script>&.png'


@pytest.fixture(scope="module")
def content():
    image = np.zeros((30, 40, 3), dtype=np.uint8)
    image[:, 12:] = (255, 165, 0)
    image[:10, 25:] = (20, 90, 200)
    found = segment(image, 3, random_state=0, n_jobs=1)
    return SegmentsContent(
        title=f"3 segments of {NASTY}",
        model=found.model,
        labels=found.labels,
        assignments=found.assignments,
        with_borders=with_borders(image, found.labels),
        colors=mean_colors(image, found.labels, 3),
        settings=[("lam", 3.0, "Smoothness <of> it")],
        notes=[NASTY],
        again=f"lapmodes segment {NASTY}",
    )


class Reader(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(content):
    return segments_page(content)


@pytest.fixture(scope="module")
def reader(page):
    return Reader(page)


def test_nothing_but_its_own_style_and_script_is_allowed(page, reader):
    """The policy names both by their digests, so that no text of the page can become code, and no style attribute is
    needed."""
    policy = next(each["content"] for each in reader.all("meta") if "http-equiv" in each)
    assert "unsafe" not in policy and policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not any(
        "style" in attributes or any(a.startswith("on") for a in attributes) for _, attributes in reader.tags
    )


def test_names_are_text(reader):
    assert len(reader.all("script")) == 1
    assert sum(NASTY in text for text in reader.texts) >= 3
    assert any("Smoothness <of> it" in text for text in reader.texts)


def test_every_segment_has_a_card_with_its_soft_map(content, reader):
    from PIL import Image

    images = {each["alt"]: each["src"] for each in reader.all("img")}
    for k in range(3):
        data = base64.b64decode(images[f"Soft map of segment {k}"].partition(",")[2])
        shown = np.asarray(Image.open(io.BytesIO(data)))
        np.testing.assert_allclose(shown / 255, content.assignments[:, :, k], atol=0.003)
        size = int((content.labels == k).sum())
        assert any(text.startswith(f"{size:,} pixels") for text in reader.texts)
    assert sum("class" in each and "mark" in each["class"] for each in reader.all("span")) == 3


def test_the_numbers_stand_on_their_segments(content, page):
    for k in range(3):
        left, top = map(float, re.search(rf"\.at{k} {{ left: ([\d.]+)%; top: ([\d.]+)%", page).groups())
        height, width = content.labels.shape
        assert content.labels[int(top / 100 * height), int(left / 100 * width)] == k


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_browser_shows_it_without_errors_requests_or_sideways_scrolling(content, tmp_path, width, scheme):
    sync_api = pytest.importorskip("playwright.sync_api")
    file = Path(tmp_path / "report.html")
    write_segments_page(file, content)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        asked, wrong = [], []
        page.on("request", lambda each: asked.append(each.url))
        page.on("console", lambda said: wrong.append(said.text))
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        page.click("#theme")
        assert page.evaluate("document.documentElement.dataset.theme") != scheme
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.evaluate("getComputedStyle(document.querySelector('.card.s1')).getPropertyValue('--own')")
        assert wrong == [] and [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
        browser.close()
