from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from lapmodes.files.atomic import MARK, clear_stale, delivered, output_folder, whole_file, whole_folder


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


def write_apart(folder, text):
    """A result and a file, both beside those that are there; returns where they are."""
    with output_folder(folder / "x.lapmodes", apart=True) as (partial, place):
        (partial / MARK).write_text(text)
    with delivered(folder / "x.clusters.csv", apart=".clusters.csv") as delivery:
        delivery.file.write_text(text)
    return place, delivery.place


def test_results_are_kept_apart(tmp_path):
    places = [write_apart(tmp_path, text) for text in "abc"]
    assert [place.name for place, _ in places] == ["x.lapmodes", "x-2.lapmodes", "x-3.lapmodes"]
    assert [place.name for _, place in places] == ["x.clusters.csv", "x-2.clusters.csv", "x-3.clusters.csv"]
    assert [(folder / MARK).read_text() + file.read_text() for folder, file in places] == ["aa", "bb", "cc"]
    assert len(os.listdir(tmp_path)) == 6


def test_runs_at_the_same_time_lose_nothing(tmp_path):
    texts = [str(i) for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda text: write_apart(tmp_path, text), texts))
    assert len({folder for folder, _ in places}) == len({file for _, file in places}) == len(texts)
    assert [(folder / MARK).read_text() for folder, _ in places] == [file.read_text() for _, file in places] == texts
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_failure_leaves_no_trace_of_a_new_place(tmp_path):
    with pytest.raises(ZeroDivisionError), output_folder(tmp_path / "x.lapmodes", apart=True) as (partial, _):
        fail_after_writing(partial / MARK)
    with pytest.raises(ZeroDivisionError), delivered(tmp_path / "x.csv", apart=".csv") as delivery:
        fail_after_writing(delivery.file)
    assert os.listdir(tmp_path) == []


def test_what_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "x.lapmodes").mkdir()
    (tmp_path / "x-2.lapmodes").write_text("a file")
    (tmp_path / "x-3.lapmodes").symlink_to(tmp_path / "nowhere")
    assert write_apart(tmp_path, "a")[0].name == "x-4.lapmodes"


def test_the_place_of_a_killed_run_is_free_again(tmp_path):
    (tmp_path / "x.lapmodes").mkdir()
    (tmp_path / f".x.lapmodes.{dead_process()}-aa.partial").mkdir()
    assert write_apart(tmp_path, "a")[0].name == "x.lapmodes"


def test_without_links_nothing_is_replaced_either(tmp_path, monkeypatch):
    def no_links(*names):
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)
    assert [write_apart(tmp_path, text)[1].read_text() for text in "ab"] == ["a", "b"]
