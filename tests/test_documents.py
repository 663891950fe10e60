"""What README and docs say holds: code runs as written and prints what stands below it, pictures show what the code
gives, and numbers in the text are those of today. `python docs/refresh.py` mends whatever fails here."""

from __future__ import annotations

import re
import sys
import tomllib
from difflib import unified_diff
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from claims import CLAIMS, Claim, read, render  # noqa: E402
from picture_files import IMAGES, alike, can_browse, difference  # noqa: E402
from pictures import PICTURES  # noqa: E402
from transcripts import BLOCK, close, documents, renewed, same  # noqa: E402

# Wine in its own units is there to show what goes wrong.
pytestmark = pytest.mark.filterwarnings("ignore:Column 12 .* decides all distances")

DOCUMENTS = documents()
COLUMNS = 88
"""Signs of a line of code that a page of the docs shows without cutting it off, on a screen of 1280 pixels."""
MEASUREMENTS = ROOT / "docs" / "measurements.md"
COMMAND = re.compile(r"`[^`]*\b(python (benchmarks|docs)/|pytest |make |lapmodes reproduce)[^`]*`")
"""A command that measures a figure; a table may name its beginning above, or say that it is that of the row above."""
DRAWN_ALIKE = 0.2
"""How far pictures of the same thing may be apart; letters and lines differ a little from machine to machine."""


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_code_runs_and_prints_what_stands_below_it(document):
    text = document.read_text(encoding="utf-8")
    new = renewed(document)
    assert same(text, new), "\n".join(
        unified_diff(text.splitlines(), new.splitlines(), "document", "today", lineterm="")
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{Path(claim.document).stem}: {claim.sentence[:30]}")
def test_numbers_in_the_text_are_those_of_today(claim):
    assert claim.problems() == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_pictures_show_what_the_code_gives(picture):
    """The facts are compared always; the picture itself where it can be drawn."""
    assert picture.tells_the_truth(), f"it shows {picture.stored_facts()}, but the code gives {picture.facts()}"
    if picture.needs_browser and not can_browse():
        pytest.skip("no playwright or no Chromium")
    with Image.open(picture.file) as stored:
        assert difference(stored, picture.draw()) < DRAWN_ALIKE


def test_every_stored_picture_is_made_by_code_and_shown_somewhere():
    stored = {path.name for path in IMAGES.glob("*")}
    assert stored == {picture.file.name for picture in PICTURES}
    shown = set(re.findall(r"images/(\w+\.png)", "".join(page.read_text(encoding="utf-8") for page in DOCUMENTS)))
    assert shown == stored


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_every_install_line_works_in_a_clone():
    """Nothing is published, so nothing is installed by its name, and every extra exists."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = 0
    for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]:
        for line in re.findall(r"pip install ([^`\n]*)", document.read_text(encoding="utf-8")):
            for target in re.findall(r'"?\.(?:\[([\w,]+)\])?"?(?=\s|$)', line.partition("#")[0]):
                assert set(filter(None, target.split(","))) <= set(extras), line
                found += 1
            assert "lapmodes" not in line.partition("#")[0], f"{document.name}: pip install {line}"
    assert found >= 5


def tables(text):
    """Each table of a page with the text of its section above it: (text, header, rows)."""
    for section in re.split(r"^#+ ", text, flags=re.MULTILINE):
        above = section
        for match in re.finditer(r"(^\|.*\n)\|[-|]+\|\n((?:^\|.*\n?)+)", section, flags=re.MULTILINE):
            above = section[: match.start()]
            yield above, match[1], match[2].splitlines()


def test_every_measured_figure_names_its_command():
    """In its row, in the row above if it says that it is the same, or in the text of its section."""
    checked = 0
    for above, header, rows in tables(MEASUREMENTS.read_text(encoding="utf-8")):
        named = False
        for row in rows:
            named = bool(COMMAND.search(above + header + row)) or (named and "the same" in row)
            assert named, row
            checked += 1
    assert checked > 50


@pytest.mark.parametrize("document", DOCUMENTS[1:], ids=name)
def test_code_is_not_cut_off_on_a_page(document):
    text = document.read_text(encoding="utf-8")
    for language, body in BLOCK.findall(text):
        wide = [line for line in body.splitlines() if len(line) > (COLUMNS if language in ("python", "sh") else 120)]
        assert wide == []


QUOTED = re.compile(r"\d+\.\d+|\d+(?= %)")
VERSIONS = {"0.1", "0.2", "3.11", "1.6", "1.9", "1406.3895"}
"""Of the library, of Python and scikit-learn, and the paper's number."""


@pytest.mark.parametrize(
    "document",
    [
        page
        for page in DOCUMENTS
        if {"start", "guides"} & set(page.parts) or page.stem in ("README", "index", "defaults")
    ],
    ids=name,
)
def test_no_fraction_in_the_text_goes_unchecked(document):
    """A fraction or percentage is part of a claim, or stands in the measurements, or is code."""
    text = document.read_text(encoding="utf-8")
    claimed = [match.span() for claim in CLAIMS if claim.document == name(document) for match in claim.find()[1]]
    hidden = [
        match.span() for match in re.finditer(r"```.*?^```|`[^`\n]*`|\]\([^)]*\)", text, flags=re.DOTALL | re.MULTILINE)
    ]
    known = set(QUOTED.findall(MEASUREMENTS.read_text(encoding="utf-8"))) | VERSIONS
    free = [
        text[max(0, match.start() - 40) : match.end() + 20]
        for match in QUOTED.finditer(text)
        if match[0] not in known and not any(start <= match.start() < end for start, end in [*claimed, *hidden])
    ]
    assert free == []


class TestTheMachinery:
    """What the tests above rely on."""

    def test_words_must_be_the_same(self):
        assert same("3 clusters of 50, 48 rows in 1.2 s", "3 clusters of 50, 48 rows in 9.9 s")
        assert not same("3 clusters", "2 clusters") and not same("3 clusters", "3 groups")

    @pytest.mark.parametrize(
        ("one", "other", "alike"),
        [
            ("0.90", "0.91", True),
            ("0.90", "0.87", False),
            ("5", "5", True),
            ("5", "6", False),
            ("1,000", "1,010", True),
            ("1e-02", "1.05e-02", True),
            ("1e-02", "3e-02", False),
            ("-0.5", "0.5", False),
        ],
    )
    def test_numbers_may_be_rounded_differently(self, one, other, alike):
        assert close(one, other) == alike

    @pytest.mark.parametrize(
        ("text", "value"), [("nine", 9), ("sixth", 6), ("6,000", 6000), ("0.36", 0.36), ("15", 15)]
    )
    def test_numbers_are_read_and_written_in_the_same_manner(self, text, value):
        assert read(text) == value and render(value, text) == text

    def test_a_wrong_number_and_a_lost_sentence_are_found(self):
        assert "'178' should be '12'" in Claim("README.md", r"table of (\d+) wines", lambda: [12]).problems()[0]
        assert "0 places match" in Claim("README.md", r"table of (\d+) beers", lambda: [12]).problems()[0]

    @pytest.mark.parametrize(
        ("one", "other", "same_facts"),
        [
            ({"n_clusters": 3, "sizes": [60, 65]}, {"n_clusters": 3, "sizes": [61, 64]}, True),
            ({"n_clusters": 3}, {"n_clusters": 2}, False),
            ({"ARI": [0.9]}, {"ARI": [0.87]}, False),
            ({"file": "iris.csv"}, {"file": "wine.csv"}, False),
            ({}, {"n_clusters": 3}, False),
        ],
    )
    def test_a_picture_of_other_numbers_is_found(self, one, other, same_facts):
        assert alike(one, other) == same_facts

    def test_a_picture_of_something_else_is_found(self):
        by_name = {picture.name: Image.open(picture.file).convert("RGB") for picture in PICTURES}
        moons = by_name["figure3_moons"]
        assert difference(moons, moons) == 0
        assert difference(moons, by_name["figure2_spirals"]) > DRAWN_ALIKE
        swapped = Image.merge("RGB", moons.split()[::-1])  # clusters in other colours
        assert difference(moons, swapped) > DRAWN_ALIKE
