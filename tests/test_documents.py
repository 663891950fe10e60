"""Everything in the README and the docs runs as written: Python, and the lines that call lapmodes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lapmodes.cli.app import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("**/*.md")) if "_build" not in path.parts),
]
PLACEHOLDERS = {"DATA", "MODEL", "IMAGE", "K", "COMMAND", "measurements.csv", "more.csv"}
ELSEWHERE = {"demo", "reproduce"}
"""Commands with tests of their own that take longer than a document may."""


def name(path):
    return str(path.relative_to(ROOT))


def run_line(line):
    """Run a line of a shell block if it calls lapmodes with real arguments."""
    words = shlex.split(line, comments=True)
    if not words or words[0] != "lapmodes" or PLACEHOLDERS & set(words) or words[1] in ELSEWHERE:
        return
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "document"}
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", document.read_text(), flags=re.DOTALL):
        if language == "python":
            exec(compile(block, document.name, "exec"), space)
        else:
            for line in block.splitlines():
                run_line(line)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target
