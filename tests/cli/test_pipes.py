"""`-` is standard input or output, for CSV."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lapmodes.files import read
from lapmodes.files.atomic import PIPE, spooled

MAIN = [sys.executable, "-c", "from lapmodes.cli import main; main()"]


@pytest.fixture
def piped(here):
    """Run the command in a shell's way: bytes in, bytes out."""
    return lambda text, *words: subprocess.run([*MAIN, *map(str, words)], cwd=here, input=text, capture_output=True)


def test_fit_and_predict_through_pipes(blobs_csv, here, lapmodes, piped):
    text = blobs_csv.read_bytes()
    assert lapmodes("fit", blobs_csv, "-k", 2, "--no-report").exit_code == 0
    done = piped(text, "fit", "-", "-k", 2, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    same = read(here / "stdin.lapmodes" / "assignments.csv").columns
    assert same.equals(read(here / "blobs.lapmodes" / "assignments.csv").columns)

    assert lapmodes("predict", "blobs.lapmodes", blobs_csv).exit_code == 0
    before = sorted(os.listdir(here))
    done = piped(text, "predict", "blobs.lapmodes", "-")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (here / "blobs.clusters.csv").read_bytes()
    assert sorted(os.listdir(here)) == before


def test_bad_rows_in_a_pipe_give_no_output(blobs_csv, lapmodes, piped):
    assert lapmodes("fit", blobs_csv, "-k", 2, "--no-report").exit_code == 0
    done = piped(blobs_csv.read_bytes() + b"61,inf,2.5,a,7\n", "predict", "blobs.lapmodes", "-", "-q")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"row 61 (length)" in done.stderr


def test_a_reader_that_leaves_early_is_no_error(blobs_csv, here, lapmodes):
    assert lapmodes("fit", blobs_csv, "-k", 2, "--no-report").exit_code == 0
    reading, writing = os.pipe()
    os.close(reading)
    command = [*MAIN, "predict", "blobs.lapmodes", "blobs.csv", "-o", "-", "-q"]
    done = subprocess.run(command, cwd=here, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.stderr == b""


def test_nothing_piped_in_is_said(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="nothing is piped in"), spooled(PIPE):
        pass
