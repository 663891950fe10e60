from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lapmodes.files.atomic import MARK, clear_stale, whole_file, whole_folder


def fail_after_writing(file):
    file.write_text("other")
    raise ZeroDivisionError


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "out.csv"
    with whole_file(target) as partial:
        partial.write_text("half")
        assert not target.exists()
    assert target.read_text() == "half" and os.listdir(tmp_path) == ["out.csv"]
    with pytest.raises(ZeroDivisionError), whole_file(target) as partial:
        fail_after_writing(partial)
    assert target.read_text() == "half" and os.listdir(tmp_path) == ["out.csv"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "out"
    for text in ("one", "two"):
        with whole_folder(target) as partial:
            (partial / MARK).write_text(text)
    assert (target / MARK).read_text() == "two" and os.listdir(tmp_path) == ["out"]
    with pytest.raises(ZeroDivisionError), whole_folder(target) as partial:
        fail_after_writing(partial / MARK)
    assert (target / MARK).read_text() == "two" and os.listdir(tmp_path) == ["out"]


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_killed_runs_left_is_cleared_and_what_others_do_is_not(tmp_path):
    target, dead = tmp_path / "out", dead_process()
    (tmp_path / f".out.{dead}-aa.partial").mkdir()
    (tmp_path / f".out.{dead}-aa.old").mkdir()
    (tmp_path / f".out.{os.getpid()}-bb.partial").mkdir()
    (tmp_path / f".other.{dead}-cc.partial").write_text("")
    clear_stale(target)
    assert sorted(os.listdir(tmp_path)) == [f".other.{dead}-cc.partial", f".out.{os.getpid()}-bb.partial", "out"]
