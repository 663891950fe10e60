"""`lapmodes fit` on workers."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parted import groups


@pytest.fixture
def files(here_folder):
    X, y = groups(900, K=3, D=4, spread=4.0)
    for i in range(3):
        rows = slice(300 * i, 300 * i + 300)
        columns = {f"c{j}": X[rows, j] for j in range(4)} | {"kind": np.array(list("abc"))[y[rows]]}
        pq.write_table(pa.table(columns), here_folder / f"rows-{i}.parquet", row_group_size=150)
    return X, y


@pytest.fixture
def here_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fit_writes_a_whole_folder(shared, files, here_folder, lapmodes):
    address = shared.cluster.scheduler_address
    answer = lapmodes("fit", "rows-*.parquet", "-k", "3", "--scheduler", address, "--set", "parts=2")
    assert answer.exit_code == 0, answer.output
    assert "Reading 900 rows; using 4 columns." in answer.stderr and "Left out column 'kind'" in answer.stderr
    folder = here_folder / "rows.lapmodes"
    labels = pq.read_table(folder / "labels")
    assert labels.column_names == ["row", "cluster", "share"] and labels["row"].to_pylist() == list(range(1, 901))
    facts = json.loads((folder / "summary.json").read_text())
    assert facts["sizes"] == np.bincount(labels["cluster"]).tolist() and facts["parts"] == 2
    assert "900 of 900 rows" in (folder / "report.html").read_text(encoding="utf-8")
    predicted = lapmodes("predict", "rows.lapmodes", "rows-1.parquet", "-o", "again.csv")
    assert predicted.exit_code == 0, predicted.output
    assert sorted(path.name for path in here_folder.iterdir() if path.name.startswith(".")) == []


def test_nothing_is_written_when_it_fails(shared, files, here_folder, lapmodes):
    table = pq.read_table("rows-1.parquet")
    column = table["c2"].to_numpy().copy()
    column[7] = np.nan
    pq.write_table(table.set_column(2, "c2", pa.array(column)), "rows-1.parquet", row_group_size=150)
    address = shared.cluster.scheduler_address
    answer = lapmodes("fit", "rows-*.parquet", "-k", "3", "--scheduler", address, "-o", "out")
    assert answer.exit_code == 3 and "Error:" in answer.stderr and len(answer.stderr.strip().splitlines()) < 6
    assert not (here_folder / "out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "2", "--truth", "kind"], "--truth does not go with workers"),
        (["--workers", "2", "--memory", "much"], "--memory must look like 2GB"),
        (["--workers", "2", "--scheduler", "tcp://x:1"], "Use one of both"),
        (["--workers", "2", "-k", "3,5"], "one number of clusters at a time"),
        (["--scheduler", "tcp://127.0.0.1:9"], "There is no Dask scheduler at 'tcp://127.0.0.1:9'"),
        (["--workers", "2", "--missing", "drop"], "--missing drop does not go with workers"),
    ],
)
def test_options_that_do_not_go_together(files, lapmodes, monkeypatch, words, sentence):
    monkeypatch.setattr("lapmodes.cli.fit.CONNECT_SECONDS", 0.5)
    answer = lapmodes("fit", "rows-*.parquet", "-k", "3", *words)
    assert answer.exit_code in (1, 3) and sentence in " ".join(answer.stderr.split())
