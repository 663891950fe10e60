"""Everything in the README and the docs runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "document"}
    for block in re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.DOTALL):
        exec(compile(block, document.name, "exec"), space)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target
