from __future__ import annotations

import os
import signal

import pytest
import typer

from lapmodes.cli.terminal import INTERRUPTED, TERMINATED, UNEXPECTED, with_error_messages
from lapmodes.files.atomic import whole_folder


def ended(command):
    """The exit code of a command."""
    try:
        with_error_messages(command)()
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_signals_clean_up(number, code, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # runs in the background ignore it

    def command():
        with whole_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("half")
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 1)  # wait for it

    try:
        assert ended(command) == code
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.listdir(tmp_path) == []


def test_the_unexpected_is_one_sentence_too(capsys, monkeypatch):
    def command():
        raise IndexError("deep\ninside")

    assert ended(command) == UNEXPECTED
    (line,) = capsys.readouterr().err.splitlines()
    assert "IndexError: deep inside (unexpected" in line
    monkeypatch.setenv("LAPMODES_TRACEBACK", "1")
    with pytest.raises(IndexError):
        with_error_messages(command)()
