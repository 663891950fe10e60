"""`lapmodes explore`, `lapmodes replay` and `lapmodes.explore`: results with names, and the same labels elsewhere."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import lapmodes
from lapmodes.cli.explore import begin, resumed, study_of_run
from lapmodes.explore.acts import Label, LeaveOut, Merge, Name, Split, Turn
from lapmodes.explore.session import Session
from lapmodes.files import PreparedModel

ACTS = [Turn("lam", 2), Split(0, 2), Name(0, "north & <south>"), Label((3, 4), 1), LeaveOut((10, 11)), Merge(1, 2)]


@pytest.fixture
def table(here, groups):
    """A table with a column of text and a row with a gap."""
    with open(here / "groups.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "c", "kind"])
        for i, row in enumerate(groups.round(4).tolist()):
            writer.writerow([*row[:2], "" if i == 20 else row[2], "xyz"[i % 3]])
    return here / "groups.csv"


@pytest.fixture
def explored(lapmodes, table):
    """A fit, some acts, and what was saved: (session, folder)."""
    assert lapmodes("fit", table, "-k", 3, "--no-report", "-q").exit_code == 0
    study = study_of_run(resumed(Path("groups.lapmodes")), Path("groups.lapmodes/explore"))
    session = Session(study.base)
    for act in ACTS:
        session.do(act)
    folder, files = study.save(session.state, session.acts)
    assert {"model.npz", "report.html", "recipe.toml", "recipe.py", "assignments.csv"} <= set(files)
    return session, folder


def read_labels(folder):
    with open(folder / "assignments.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return np.array([int(row["cluster"]) for row in rows]), rows


def test_results_have_names_and_rows_left_out(explored):
    session, folder = explored
    labels, rows = read_labels(folder)
    there = np.arange(80) != 20
    assert np.array_equal(labels[there], session.state.labels)
    assert (labels[[10, 11]] == -1).all() and labels[20] >= 0
    assert all(row["cluster_name"] == ("north & <south>" if int(row["cluster"]) == 0 else "") for row in rows)
    assert all(float(row[f"cluster_{k}"]) == 0 for row in (rows[10], rows[11]) for k in range(3))
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "north &amp; &lt;south&gt;" in report and "<south>" not in report
    assert "2 rows were left out" in report and "lapmodes replay" in report
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["cluster_names"][0] == "north & <south>" and summary["rows_left_out_by_hand"] == [11, 12]
    assert sum(summary["sizes"]) == 77
    for name in ("modes.csv", "exemplars.csv"):
        assert "north & <south>" in (folder / name).read_text()


def test_the_model_file_has_the_names_and_predict_writes_them(lapmodes, explored, table):
    _, folder = explored
    prepared = PreparedModel.load(folder / "model.npz")
    assert prepared.model.cluster_names_ == ("north & <south>", "", "")
    assert lapmodes("predict", folder, table, "-o", "new.csv", "-q").exit_code == 0
    with open("new.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["cluster_name"] for row in rows if row["cluster"] == "0"} == {"north & <south>"}


def test_the_recipe_is_replayed_in_another_process(explored):
    session, folder = explored
    recipe = tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))
    assert [act["kind"] for act in recipe["act"]] == ["turn", "split", "name", "label", "leave_out", "merge"]
    code = "import sys; sys.argv[0] = 'lapmodes'; from lapmodes.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "replay", str(folder / "recipe.toml"), "-o", "again"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert np.array_equal(read_labels(Path("again"))[0], read_labels(folder)[0])
    assert (Path("again") / "recipe.toml").read_text() == (folder / "recipe.toml").read_text()
    script = subprocess.run([sys.executable, str(folder / "recipe.py")], capture_output=True, text=True, check=True)
    assert json.loads(script.stdout) == session.state.labels.tolist()


def test_a_search_looks_into_all_texts(lapmodes, here, groups):
    lines = ["a,b,c,said", *(",".join([*map(str, row.round(4)), f"comment {i}"]) for i, row in enumerate(groups))]
    (here / "said.csv").write_text("\n".join(lines))
    assert lapmodes("fit", "said.csv", "-k", 3, "--no-report", "-q").exit_code == 0
    study = study_of_run(resumed(Path("said.lapmodes")), None)
    assert "said" not in study.content.described_by
    assert np.flatnonzero(study.search("COMMENT 17")).tolist() == [17]


def test_saving_again_takes_the_same_place(explored, lapmodes):
    session, folder = explored
    study = study_of_run(resumed(Path("groups.lapmodes")), None)
    other, _ = study.save(session.state, session.acts)
    assert other.name == "groups-2.explored" and folder.name == "groups.explored"
    assert study.save(session.state, session.acts)[0] == other


def test_a_fit_by_hand_is_where_an_exploration_begins(lapmodes, table):
    assert lapmodes("fit", table, "-k", 3, "--no-report", "-q").exit_code == 0
    session = begin(str(table), "3")
    assert np.array_equal(session.state.labels, resumed(Path("groups.lapmodes")).model.labels_)
    assert session.base.fingerprint() == study_of_run(resumed(Path("groups.lapmodes")), None).base.fingerprint()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore", "no.csv"], "no.csv"),
        (["explore", "picture.png"], "picture"),
        (["replay", "no.toml"], "no.toml"),
        (["replay", "bad.toml"], "cannot be read"),
        (["replay", "other.toml"], "no recipe"),
        (["replay", "acts.toml", "-o", "x"], "Act 1 of the recipe"),
        (["replay", "unknown.toml"], "options of a fit"),
    ],
)
def test_what_is_wrong_is_said(lapmodes, table, words, said):
    Path("picture.png").write_bytes(b"x")
    Path("bad.toml").write_text("[[[")
    Path("other.toml").write_text("a = 1")
    Path("unknown.toml").write_text('[fit]\ndata = "groups.csv"\nclusters = "3"\ndelete = "all"\n')
    act = '[[act]]\nkind = "merge"\none = 0\nother = 9\n'
    Path("acts.toml").write_text(f'[fit]\ndata = "groups.csv"\nclusters = "3"\n\n{act}')
    result = lapmodes(*words)
    assert result.exit_code == 3 and said in result.output


def test_a_changed_file_is_said(lapmodes, explored, table):
    _, folder = explored
    table.write_text(table.read_text() + "1,2,3,x\n")
    with pytest.raises(ValueError, match="has changed since the fit"):
        resumed(Path("groups.lapmodes"))
    result = lapmodes("replay", folder / "recipe.toml", "-o", "again")
    assert "is not the file that it was" in result.output


def test_a_folder_of_a_pipe_cannot_be_explored(lapmodes, table):
    assert lapmodes("fit", "-", "-k", 3, "--no-report", "-q", "-o", "piped", input=table.read_text()).exit_code == 0
    with pytest.raises(ValueError, match="pipe"):
        resumed(Path("piped"))


def test_in_python_it_is_a_function_and_shows_a_frame(groups):
    pytest.importorskip("uvicorn")
    model = lapmodes.LaplacianKModes(3, random_state=0, n_jobs=1).fit(groups)
    exploration = lapmodes.explore(model, groups, title="groups")
    try:
        assert exploration.url in exploration._repr_html_().replace("&amp;", "&")
        assert np.array_equal(exploration.labels, model.labels_)
        assert exploration.model.cluster_names_ == ("", "", "") and exploration.acts == []
        assert "127.0.0.1" in repr(exploration)
    finally:
        exploration.close()


def test_a_missing_extra_is_named(monkeypatch):
    import lapmodes.explore.server as server

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"pip install 'lapmodes\[explore\]'"):
        server.Running(lambda: None)
