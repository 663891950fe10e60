"""`lapmodes segment`: what it writes and says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def picture(here):
    """A dark and an orange half, of a name that is no HTML."""
    pixels = np.full((20, 30, 3), 20, dtype=np.uint8)
    pixels[:, 15:] = (255, 165, 0)
    file = here / "half & <b>half.png"
    Image.fromarray(pixels).save(file)
    return file


def test_a_page_goes_with_the_pictures(picture, here, lapmodes):
    result = lapmodes("segment", picture.name, "-k", 2, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "2 segments of 300, 300 pixels." in result.stderr and "Open out/report.html" in result.stderr
    text = (here / "out" / "report.html").read_text()
    assert "<h1>2 segments of half &amp; &lt;b&gt;half.png</h1>" in text
    facts = json.loads((here / "out" / "summary.json").read_text())
    assert sorted(facts["mean_colors"]) == [[20, 20, 20], [255, 165, 0]]
    for color in facts["mean_colors"]:
        assert "#" + "".join(f"{part:02x}" for part in color) in text


def test_the_command_on_the_page_does_the_same_again(picture, here, lapmodes):
    lapmodes("segment", picture.name, "-k", 2, "-o", "out", "-q")
    again = lapmodes("segment", "--config", "out/parameters.toml", "-o", "again", "-q")
    assert again.exit_code == 0, again.output
    np.testing.assert_array_equal(np.load(here / "out/labels.npy"), np.load(here / "again/labels.npy"))


def test_one_segment_is_one(picture, here, lapmodes):
    result = lapmodes("segment", picture.name, "-k", 1, "-o", "out")
    assert "1 segment of 600 pixels." in result.stderr
    assert "<h1>1 segment of" in (here / "out" / "report.html").read_text()


def test_a_second_run_keeps_the_first_result(picture, here, lapmodes):
    for place in ("", "-2"):
        result = lapmodes("segment", picture.name, "-k", 2)
        assert result.exit_code == 0 and f"{picture.stem}{place}.lapmodes" in result.stderr
    assert lapmodes("segment", picture.name, "-k", 2, "-o", f"{picture.stem}.lapmodes").exit_code != 0
