from __future__ import annotations

import io
import re
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapmodes.report.markup import bar, line_chart, name, number, percent, picture, png, sentence, told_apart


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (3, "3"),
        (-1234567, "−1,234,567"),
        (10**20, "1\u202f×\u202f10²⁰"),
        (1.2345e8, "123,450,000"),
        (-1.2345e12, "−1.234\u202f×\u202f10¹²"),
        (3658.2, "3,658"),
        (0.000012345, "1.234\u202f×\u202f10⁻⁵"),
        (0.5, "0.5"),
        (np.float32(2), "2"),
        (np.nan, "missing"),
        (-np.inf, "−∞"),
        (None, "no value"),
        ("text", "text"),
        ("x" * 300, "x" * 159 + "…"),
    ],
)
def test_numbers_are_written_as_people_do(value, text):
    assert number(value) == text


def test_shares_never_round_to_all_or_nothing():
    assert [percent(share).replace("\u202f", " ") for share in (0, 1e-5, 0.05, 0.5, 0.9999, 1)] == [
        "0 %",
        "under 0.1 %",
        "5.0 %",
        "50 %",
        "99.9 %",
        "100 %",
    ]


@given(st.text(max_size=60))
def test_names_keep_their_letters_and_hold_no_markup(text):
    inner = re.fullmatch(r"<bdi>(.*)</bdi>", name(text), re.DOTALL)[1]
    assert unescape(inner.replace("<wbr>", "")) == text.replace("\0", "")
    assert "<" not in inner.replace("<wbr>", "")


def test_options_in_a_sentence_are_kept_whole():
    text = sentence("Use --scale standard for <a>.")
    assert '<span class="whole">--scale</span>' in text and "&lt;a&gt;" in text


def test_long_names_may_break_and_short_words_may_not():
    assert max(map(len, re.split("<wbr>|</?bdi>", name("Averylongnamewithoutanyplacetobreak" * 5)))) < 36
    assert name("Production Budget") == "<bdi>Production Budget</bdi>"
    assert name("worldwide_gross") == "<bdi>worldwide_<wbr>gross</bdi>"


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0], [np.nan, 1.0, 3.0], [1e-12, -1e300, 4.0]])
def test_charts_keep_within_their_frame(y):
    text = line_chart("a < b", "rounds", list(range(2, 2 + len(y))), y, chosen=2, best=3)
    places = [float(place) for place in re.findall(r'c[xy]="([\d.-]+)"', text)]
    assert places and all(0 <= place <= 300 for place in places)
    assert "nan" not in text and "a &lt; b" in text


def test_a_chart_of_nothing_is_nothing():
    assert line_chart("a", "b", [2, 3], [np.nan, np.nan]) == ""


def test_numbers_on_an_axis_can_be_told_apart():
    low, high = (float(text.replace("−", "-")) for text in told_apart(-442.2346, -442.2341))
    assert -442.24 < low < high < -442.23
    assert len(told_apart(1.0, 1.0 + 1e-12)) == 1


def test_bars_stay_on_their_track():
    assert [re.search(r'"own" width="([\d.]+)"', bar(share))[1] for share in (-1, 0.25, 7)] == ["0", "25", "100"]


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3), (1, 1)])
def test_pictures_are_png_files_that_others_read(shape):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    with image.open(io.BytesIO(png(pixels))) as read:
        read.load()
        np.testing.assert_array_equal(np.asarray(read), pixels)
    assert f'width="{shape[1]}" height="{shape[0]}"' in picture(pixels.ravel(), shape, "<alt>", 0, 255)
