"""The frame: running experiments, keeping what they found, the page, the command."""

from __future__ import annotations

import csv
import json
import sys
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from lapmodes.cli.app import app
from lapmodes.datasets import DataNotFoundError
from lapmodes.paper.reproduce import EXPERIMENTS, reproduce
from lapmodes.paper.results import Claim, Picture, Result, Table

NASTY = "<script>alert('λ & σ')</script> \"quoted\""


def result(name, note=NASTY, *, holds=True):
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([0, 1])
    return Result(
        name,
        f"Title of {name}",
        f"First paragraph {note}\n\nSecond.",
        tables=[
            Table(f"{name}_shown", note, ["a", note], [["x", 1.5], [note, None]]),
            Table(f"{name}_hidden", "only a file", ["b"], [[1]], on_page=False),
        ],
        pictures=[Picture(name, note, note, figure)],
        claims=[Claim(note, note, holds)],
    )


@pytest.fixture
def fake(monkeypatch):
    """Replace experiments; returns the settings they were run with."""
    settings = {}

    def install(name, outcome):
        def run(setting):
            settings[name] = setting
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setitem(EXPERIMENTS, name, run)
        return settings

    return install


class Page(HTMLParser):
    """Tags in order, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)


def page(folder):
    return Page((folder / "index.html").read_text(encoding="utf-8"))


def test_everything_is_written_and_linked(fake, tmp_path):
    fake("figure1", result("figure1"))
    (section,) = reproduce(["figure1"], tmp_path / "new")
    folder = tmp_path / "new"
    assert section.seconds >= 0 and section.claims[0]["holds"] is True
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG")
    for link in page(folder).links:
        assert link.startswith("#") or (folder / link).exists(), link
    assert (folder / "figure1_hidden.csv").exists()
    assert [table["name"] for table in section.tables] == ["figure1_shown"]


def test_text_is_escaped_on_the_page_and_whole_in_the_files(fake, tmp_path):
    fake("figure1", result("figure1"))
    reproduce(["figure1"], tmp_path)
    html = page(tmp_path)
    assert "script" not in html.tags
    assert "".join(html.words).count(NASTY) == 7  # paragraph, claim, measured, two captions, a header and a cell
    with (tmp_path / "figure1_shown.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["a", NASTY], ["x", "1.5"], [NASTY, ""]]


def test_verdicts_are_words(fake, tmp_path):
    fake("figure1", result("figure1", holds=False))
    fake("figure2", result("figure2"))
    reproduce(["figure1", "figure2"], tmp_path)
    words = " ".join(page(tmp_path).words)
    assert words.count("Does not hold here:") == 1 and words.count("Holds:") == 1


def test_later_runs_keep_earlier_sections_and_replace_their_own(fake, tmp_path):
    fake("figure2", result("figure2", "old"))
    reproduce(["figure2"], tmp_path)
    fake("figure1", result("figure1"))
    fake("figure2", result("figure2", "new"))
    assert [section.name for section in reproduce(["figure1"], tmp_path)] == ["figure1", "figure2"]
    assert "First paragraph old" in " ".join(page(tmp_path).words)
    reproduce(["figure2"], tmp_path)
    words = " ".join(page(tmp_path).words)
    assert "First paragraph new" in words and "First paragraph old" not in words


def test_quick_runs_have_a_folder_of_their_own(fake, tmp_path):
    settings = fake("figure1", result("figure1"))
    reproduce(["figure1"], tmp_path, quick=True)
    assert settings["figure1"].quick and settings["figure1"].folder == tmp_path / "quick"
    assert "A quick run" in " ".join(page(tmp_path / "quick").words)
    assert not (tmp_path / "index.html").exists()
    reproduce(["figure1"], tmp_path)
    assert not settings["figure1"].quick
    assert "A quick run" not in " ".join(page(tmp_path).words)


def test_missing_data_leaves_a_section_that_says_so_and_goes_on(fake, tmp_path):
    fake("figure5", DataNotFoundError("MNIST is not on this machine"))
    fake("figure6", result("figure6"))
    sections = reproduce(["figure5", "figure6"], tmp_path)
    assert [section.name for section in sections] == ["figure5", "figure6"]
    assert "Not run: MNIST is not on this machine" in " ".join(page(tmp_path).words)


def test_other_errors_are_not_hidden_and_finished_sections_stay(fake, tmp_path):
    fake("figure1", result("figure1"))
    fake("figure2", RuntimeError("a mistake"))
    with pytest.raises(RuntimeError, match="a mistake"):
        reproduce(["figure1", "figure2"], tmp_path)
    assert json.loads((tmp_path / "figure1.json").read_text(encoding="utf-8"))["name"] == "figure1"


def test_unknown_names_are_refused_before_anything_runs(fake, tmp_path):
    settings = fake("figure1", result("figure1"))
    with pytest.raises(ValueError, match=r"Unknown experiment 'figure9'\. Choose from: table1, table3, figure1"):
        reproduce(["figure1", "figure9"], tmp_path / "none")
    assert settings == {} and not (tmp_path / "none").exists()


def test_missing_matplotlib_is_reported_before_anything_runs(fake, tmp_path, monkeypatch):
    settings = fake("figure1", result("figure1"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = CliRunner().invoke(app, ["reproduce", "figure1", "--quick", "-o", str(tmp_path / "out")])
    assert done.exit_code == 2 and "pip install 'lapmodes[plot]'" in done.stderr
    assert not settings and not (tmp_path / "out").exists()


def test_a_section_of_another_version_is_left_out(fake, tmp_path):
    (tmp_path / "figure1.json").write_text('{"name": "figure1", "story": "of version 0.1"}')
    fake("figure2", result("figure2"))
    assert [section.name for section in reproduce(["figure2"], tmp_path)] == ["figure2"]


def test_command_prints_verdicts_and_the_page(fake, tmp_path):
    fake("figure1", result("figure1", "so it is"))
    fake("figure2", result("figure2", "so it is not", holds=False))
    answer = CliRunner().invoke(app, ["reproduce", "figure1", "figure2", "-o", str(tmp_path), "--quick"])
    assert answer.exit_code == 0
    assert "figure1   holds  so it is" in answer.output and "figure2   FAILS  so it is not" in answer.output
    assert str(tmp_path / "quick" / "index.html") in answer.output


def test_command_explains_a_wrong_name(tmp_path):
    answer = CliRunner().invoke(app, ["reproduce", "figure9", "-o", str(tmp_path)])
    assert answer.exit_code == 2
    assert "Error: Unknown experiment 'figure9'" in answer.output and "Traceback" not in answer.output
