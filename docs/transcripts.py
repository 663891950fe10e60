"""The code in README and docs: it is run as written, and what it prints stands below it.

A block of `python` is executed, all blocks of a document in one name space. A block of `output` holds what the block of
Python before it prints. Lines of `sh` that call lapmodes are run, and those of `console` that begin with a dollar sign
are run and followed by what they print. Every document runs in a folder of its own, with two tables to work on.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(python|output|sh|console)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PLACEHOLDERS = {"DATA", "MODEL", "IMAGE", "K", "COMMAND", "measurements.csv", "more.csv"}
"""Words that stand for something of the reader's own: such a line is not run."""
ELSEWHERE = {"demo", "reproduce", "explore", "replay"}
"""Commands with tests of their own that take longer than a document may, or wait for a person."""
SECONDS = re.compile(r"\d+(\.\d+)? (s|seconds|ms)\b")
SMALL_COUNT = 20
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?")


def documents() -> list[Path]:
    """README and all pages of the docs."""
    pages = sorted((ROOT / "docs").glob("**/*.md"))
    return [ROOT / "README.md", *(page for page in pages if not {"_build", "gallery"} & set(page.parts))]


def write_tables(folder: Path) -> None:
    """scikit-learn's iris and wine as tables, with a column of names that is no feature."""
    from sklearn.datasets import load_iris, load_wine

    for name, data, kind in (("iris", load_iris(), "species"), ("wine", load_wine(), "grower")):
        with open(folder / f"{name}.csv", "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([feature.replace(" (cm)", "") for feature in data.feature_names] + [kind])
            for row, target in zip(data.data, data.target, strict=True):
                writer.writerow([*row, data.target_names[target]])


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Everything inside happens in this folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def renewed(document: Path) -> str:
    """The text of a document with everything that its code prints made again."""
    space: dict[str, object] = {"__name__": "document"}
    printed = ""

    def renew(match: re.Match[str]) -> str:
        nonlocal printed
        language, body = match.groups()
        if language == "python":
            printed = run_python(body, document.name, space)
        elif language == "output":
            body = printed
        elif language == "sh":
            for line in body.splitlines():
                run_command(line)
        else:
            body = "".join(f"$ {line}\n{run_command(line)}" for line in commands(body))
        return f"```{language}\n{body}```"

    with TemporaryDirectory() as folder, working_in(Path(folder)):
        write_tables(Path(folder))
        return BLOCK.sub(renew, document.read_text(encoding="utf-8"))


def commands(body: str) -> list[str]:
    """The commands of a console block."""
    return [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]


def run_python(body: str, name: str, space: dict[str, object]) -> str:
    """Execute a block; returns what it prints."""
    stream = StringIO()
    with redirect_stdout(stream):
        exec(compile(body, name, "exec"), space)
    return stream.getvalue()


def run_command(line: str) -> str:
    """Run a line that calls lapmodes with real arguments; returns what a person sees of it."""
    words = shlex.split(line, comments=True)
    if not words or words[0] != "lapmodes" or PLACEHOLDERS & set(words) or words[1] in ELSEWHERE:
        return ""
    from typer.testing import CliRunner

    from lapmodes.cli.app import app

    result = CliRunner().invoke(app, words[1:], prog_name="lapmodes")
    if result.exit_code:
        raise AssertionError(f"{line}\n{result.output}")
    return result.output


def same(one: str, other: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by rounding at most; times are not compared."""
    texts = [SECONDS.sub("some s", text) for text in (one, other)]
    words = [NUMBER.sub("#", text) for text in texts]
    numbers = [[match[0] for match in NUMBER.finditer(text)] for text in texts]
    return words[0] == words[1] and all(close(*pair) for pair in zip(*numbers, strict=True))


def close(one: str, other: str) -> bool:
    """Whether two numbers as they are written differ by no more than other processors may round them.

    That is one unit of the last digit, a tenth where there is an exponent, one in fifty of large counts; small counts
    are equal.
    """
    a, b = (float(text.replace(",", "")) for text in (one, other))
    if "e" in (one + other).lower():
        return abs(a - b) <= 0.1 * max(abs(a), abs(b))
    digits = min(len(text.partition(".")[2]) for text in (one, other))
    if digits == 0:
        return abs(a - b) <= (0.02 * max(abs(a), abs(b)) if min(a, b) > SMALL_COUNT else 0)
    return abs(a - b) <= 1.01 * 10.0**-digits
