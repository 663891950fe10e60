"""Make everything in README and docs again that code made: pictures, transcripts and numbers.

    python docs/refresh.py            # all of it
    python docs/refresh.py --check    # say what no longer holds, and change nothing

Pictures of pages need playwright and a Chromium (CHROMIUM, or chromium on the path); without, they stay as they are.
tests/test_documents.py checks the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from claims import CLAIMS
from picture_files import can_browse
from pictures import PICTURES
from transcripts import ROOT, documents, renewed, same


def main() -> int:
    """Refresh, or check; the exit code is 1 where something does not hold."""
    parser = argparse.ArgumentParser(description="Make the pictures, transcripts and numbers of README and docs again.")
    parser.add_argument("--check", action="store_true", help="only say what no longer holds")
    check = parser.parse_args().check
    problems = [*check_pictures(), *check_transcripts(), *check_claims()] if check else refresh()
    print("\n".join(problems) or "Everything holds.")
    return int(bool(problems))


def refresh() -> list[str]:
    """Make everything again; what cannot be made is a problem."""
    problems = []
    for picture in PICTURES:
        if picture.needs_browser and not can_browse():
            problems.append(f"{picture.file.name}: left as it is, because there is no playwright or no Chromium")
        else:
            picture.write()
            print(f"{picture.file.relative_to(ROOT)}: {picture.facts()}")
    for document in documents():
        text = document.read_text(encoding="utf-8")
        new = renewed(document)
        if not same(text, new):
            document.write_text(new, encoding="utf-8")
            print(f"{document.relative_to(ROOT)}: a transcript changed")
    for claim in CLAIMS:
        found = claim.problems()
        if found and len(claim.find()[1]) == 1:
            claim.renew()
            print(*found, sep="\n")
        else:
            problems += found
    return problems


def check_pictures() -> list[str]:
    """Pictures whose facts are not those of today."""
    return [
        f"{picture.file.name}: shows {picture.stored_facts()}, but the code gives {picture.facts()}"
        for picture in PICTURES
        if not picture.tells_the_truth()
    ]


def check_transcripts() -> list[str]:
    """Documents whose code prints something else than they say."""
    pages = [page for page in documents() if not same(page.read_text(encoding="utf-8"), renewed(page))]
    return [f"{page.relative_to(ROOT)}: its code prints something else" for page in pages]


def check_claims() -> list[str]:
    """Numbers in the prose that are not those of today."""
    return [problem for claim in CLAIMS for problem in claim.problems()]


if __name__ == "__main__":
    raise SystemExit(main())
