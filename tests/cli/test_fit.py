from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from PIL import Image

from lapmodes.files import PreparedModel, read

FILES = {"assignments", "modes", "exemplars", "model", "parameters", "summary", "report"}


def stems(folder):
    return {path.stem for path in folder.iterdir()}


def test_a_new_user_gets_everything(blobs_csv, here, lapmodes):
    result = lapmodes("fit", "blobs.csv", "-k", 2, "--truth", "kind", "--keep", "id")
    assert result.exit_code == 0, result.output
    folder = here / "blobs.lapmodes"
    assert stems(folder) == FILES
    assert sorted(os.listdir(here)) == ["blobs.csv", "blobs.lapmodes"]
    for told in ("'id': it only counts the rows", "'constant': it is 7 in every row", "2 clusters of 30, 30 rows"):
        assert told in result.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["sizes"] == [30, 30]
    assert summary["agreement"]["accuracy"] == 1.0
    assert summary["status"] == "converged"
    rows = pa.csv.read_csv(folder / "assignments.csv")
    assert rows.column_names == ["id", "cluster", "cluster_0", "cluster_1"]
    Z = np.column_stack([rows["cluster_0"], rows["cluster_1"]])
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(Z.argmax(axis=1), rows["cluster"])


def test_several_numbers_are_levels(blobs_csv, here, lapmodes):
    result = lapmodes("fit", "blobs.csv", "-k", "2,4,8", "--columns", "length,weight")
    assert result.exit_code == 0, result.output
    assert "The levels with 4, 8 clusters are in the files levels and tree." in result.stderr
    folder = here / "blobs.lapmodes"
    assert stems(folder) == FILES | {"levels", "tree"}
    levels = pa.csv.read_csv(folder / "levels.csv").to_pydict()
    assert list(levels) == ["cluster_of_2", "cluster_of_4", "cluster_of_8"]
    assert levels["cluster_of_2"] == pa.csv.read_csv(folder / "assignments.csv")["cluster"].to_pylist()
    for row in pa.csv.read_csv(folder / "tree.csv").to_pylist():
        own = np.array(levels[f"cluster_of_{row['n_clusters']}"])
        assert row["size"] == np.sum(own == row["cluster"]) and own[row["id"] - 1] == row["cluster"]
        if row["parent"] >= 0:
            above = np.array(levels[f"cluster_of_{row['n_clusters'] // 2}"])[own == row["cluster"]]
            assert np.bincount(above).argmax() == row["parent"]
    assert json.loads((folder / "summary.json").read_text())["levels"]["n_clusters"] == [2, 4, 8]
    assert "Levels of clusters" in (folder / "report.html").read_text()
    again = lapmodes("fit", "--config", folder / "parameters.toml", "-o", "again", "--no-report")
    assert again.exit_code == 0, again.output
    assert (here / "again" / "levels.csv").read_text() == (folder / "levels.csv").read_text()


def test_paths_and_pictures_have_no_levels(blobs_csv, here, lapmodes):
    Image.new("RGB", (4, 4)).save("tiny.png")
    for command, words in (
        (("path", "blobs.csv", "-k", "2,3"), "A path has one number of clusters"),
        (("fit", "tiny.png", "-k", "2,3"), "A picture is segmented once"),
    ):
        result = lapmodes(*command)
        assert result.exit_code == 3 and words in result.stderr


def test_modes_are_in_the_units_of_the_file(blobs_csv, here, lapmodes):
    lapmodes("fit", "blobs.csv", "-k", 2, "--no-report", "--scale", "standard")
    modes = pa.csv.read_csv(here / "blobs.lapmodes" / "modes.csv").to_pydict()
    heavy = int(np.argmax(modes["weight"]))
    assert modes["length"][heavy] == pytest.approx(5, abs=0.5)
    assert modes["weight"][heavy] == pytest.approx(500, abs=50)
    exemplars = pa.csv.read_csv(here / "blobs.lapmodes" / "exemplars.csv").to_pydict()
    original = pa.csv.read_csv("blobs.csv").to_pydict()
    for k, row in enumerate(exemplars["row"]):
        assert {exemplars[name][k] for name in original} == {original[name][row - 1] for name in original}


def test_a_run_can_be_replayed(blobs_csv, here, lapmodes):
    lapmodes("fit", "blobs.csv", "-k", 2, "--no-report", "--drop", "id,constant", "--lam", 0.5, "--set", "tol=1e-4")
    result = lapmodes("fit", "--config", "blobs.lapmodes/parameters.toml", "--no-report", "-o", "again")
    assert result.exit_code == 0, result.output
    for name in ("assignments.csv", "modes.csv", "parameters.toml"):
        assert (here / "again" / name).read_bytes() == (here / "blobs.lapmodes" / name).read_bytes()
    changed = lapmodes("fit", "--config", "again/parameters.toml", "--no-report", "-o", "three", "-k", 3)
    assert changed.exit_code == 0, changed.output
    assert 'clusters = "3"' in (here / "three" / "parameters.toml").read_text()


def test_an_earlier_result_is_kept_unless_asked(blobs_csv, here, lapmodes):
    assert lapmodes("fit", "blobs.csv", "-k", 2, "--no-report").exit_code == 0
    before = (here / "blobs.lapmodes" / "modes.csv").read_bytes()
    assert lapmodes("fit", "blobs.csv", "-k", 3, "--no-report", "-o", "blobs.lapmodes").exit_code == 3
    assert (here / "blobs.lapmodes" / "modes.csv").read_bytes() == before
    assert lapmodes("fit", "blobs.csv", "-k", 3, "--no-report", "--overwrite").exit_code == 0
    assert (here / "blobs.lapmodes" / "modes.csv").read_bytes() != before
    assert sorted(os.listdir(here)) == ["blobs.csv", "blobs.lapmodes"]


def test_results_are_kept_apart_by_default(blobs_csv, here, lapmodes):
    for k in (2, 3):
        assert lapmodes("fit", "blobs.csv", "-k", k).exit_code == 0
    sizes = [
        json.loads((here / name / "summary.json").read_text())["sizes"]
        for name in ("blobs.lapmodes", "blobs-2.lapmodes")
    ]
    assert [len(each) for each in sizes] == [2, 3]
    assert "lapmodes predict blobs-2.lapmodes NEW.csv" in (here / "blobs-2.lapmodes" / "report.html").read_text()
    for _ in range(2):
        result = lapmodes("predict", "blobs.lapmodes", "blobs.csv")
    assert "Result in blobs-2.clusters.csv" in result.stderr
    for _ in range(2):
        result = lapmodes("path", "blobs.csv", "-k", 2, "--steps", 2)
    assert "Result in blobs-2.path.csv" in result.stderr
    assert lapmodes("predict", "blobs.lapmodes", "blobs.csv", "--overwrite").exit_code == 0
    names = ("lapmodes", "clusters.csv", "path.csv")
    assert sorted(os.listdir(here)) == sorted(
        ["blobs.csv", *(f"blobs{n}.{name}" for n in ("", "-2") for name in names)]
    )


def test_k_auto_shows_what_was_compared(blobs_csv, here, lapmodes):
    result = lapmodes("fit", "blobs.csv", "-k", "auto", "--no-report")
    assert result.exit_code == 0, result.output
    summary = json.loads((here / "blobs.lapmodes" / "summary.json").read_text())
    assert summary["n_clusters"] == 2
    assert len(summary["selection"]["rows"]) > 3


def test_missing_values_are_filled_as_asked(here, lapmodes, blobs_csv):
    lines = blobs_csv.read_text().splitlines()
    lines[5] = "5,,12.5,a,7"
    (here / "gaps.csv").write_text("\n".join(lines))
    refused = lapmodes("fit", "gaps.csv", "-k", 2, "--missing", "error")
    assert re.search(r"1 row: row 5 \(length\)", refused.stderr)
    result = lapmodes("fit", "gaps.csv", "-k", 2, "--impute", "median", "--no-report")
    assert result.exit_code == 0 and "Filled missing values in 1 row with the median" in result.stderr
    prepared = PreparedModel.load(here / "gaps.lapmodes" / "model.npz")
    known = pa.csv.read_csv("gaps.csv")["length"].drop_null().to_numpy()
    assert prepared.recipe.fill[0] == pytest.approx(np.median(known))


def write_as(suffix, X, folder):
    """The rows X in some format; returns the file."""
    file = folder / f"rows{suffix}"
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    if suffix in (".csv", ".tsv"):
        options = pa.csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",")
        pa.csv.write_csv(table, file, options)
    elif suffix == ".parquet":
        pa.parquet.write_table(table, file)
    elif suffix == ".feather":
        pa.feather.write_feather(table, file)
    elif suffix == ".npy":
        np.save(file, X)
    elif suffix == ".npz":
        np.savez(file, X=X, y=np.zeros(len(X)))
    elif suffix == ".csr.npz":
        sp.save_npz(file, sp.csr_matrix(X))
    else:
        from scipy.io import mmwrite

        mmwrite(file, sp.coo_matrix(X))
    return file


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".feather", ".npy", ".npz", ".csr.npz", ".mtx"])
def test_every_format_gives_the_same_clusters_and_comes_back(suffix, here, lapmodes):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 25)
    X = rng.normal(size=(50, 2)).round(3) + 9 * y[:, None]
    file = write_as(suffix, X, here)
    result = lapmodes("fit", file, "-k", 2, "--no-report", "-o", "out")
    assert result.exit_code == 0, result.output
    ending = "." + suffix.rpartition(".")[2]
    assert (here / "out" / f"assignments{ending}").exists()
    prepared = PreparedModel.load(here / "out" / "model.npz")
    assert (prepared.model.labels_[:25] == prepared.model.labels_[0]).all()
    assert (prepared.model.labels_[25:] != prepared.model.labels_[0]).all()
    predicted = lapmodes("predict", "out", file, "-o", f"labels{ending}", "--soft")
    assert predicted.exit_code == 0, predicted.output
    back = here / f"labels{ending}"
    if ending == ".npz":
        labels = np.load(back)["labels"]
    else:
        found = read(back)
        table, matrix = found.columns, found.matrix
        labels = table["cluster"].to_numpy() if table is not None else np.asarray(matrix.argmax(axis=1)).ravel()
    np.testing.assert_array_equal(labels, prepared.model.labels_)


def test_a_vector_column_is_many_columns(here, lapmodes):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 3)) + np.repeat([[0], [9]], 20, axis=0)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    pa.parquet.write_table(pa.table({"text": ["x"] * 40, "embedding": vectors}), here / "e.parquet")
    result = lapmodes("fit", "e.parquet", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    prepared = PreparedModel.load(here / "e.lapmodes" / "model.npz")
    assert prepared.recipe.features == ("embedding_0", "embedding_1", "embedding_2")
    assert prepared.model.assignments_.dtype == np.float32


def test_decimal_commas_and_files_without_header(here, lapmodes):
    (here / "comma.csv").write_text("a;b\n" + "".join(f"{i % 5},5;{i},25\n" for i in range(20)))
    assert read(here / "comma.csv").columns["b"].to_pylist()[3] == 3.25
    (here / "bare.csv").write_text("".join(f"{i % 5},{i * i}\n" for i in range(20)))
    assert read(here / "bare.csv").columns.column_names == ["column_1", "column_2"]


def test_a_folder_of_pictures_is_rows(here, lapmodes):
    rng = np.random.default_rng(0)
    (here / "faces").mkdir()
    for i in range(16):
        pixels = rng.integers(0, 60, (6, 5), dtype=np.uint8) + np.uint8(150 * (i % 2))
        Image.fromarray(pixels).save(here / "faces" / f"{i:02}.png")
    result = lapmodes("fit", "faces", "-k", 2)
    assert result.exit_code == 0, result.output
    rows = pa.csv.read_csv(here / "faces.lapmodes" / "assignments.csv").to_pydict()
    assert rows["name"][3] == "03.png"
    assert rows["cluster"] == [rows["cluster"][i % 2] for i in range(16)]
    assert (here / "faces.lapmodes" / "report.html").read_text().count("data:image/png") > 4


def test_single_cells_bring_their_graph(here, lapmodes):
    anndata = pytest.importorskip("anndata")
    from sklearn.neighbors import kneighbors_graph

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) + np.repeat([[0], [9]], 20, axis=0)
    data = anndata.AnnData(X=X)
    data.obsp["connectivities"] = sp.csr_matrix(kneighbors_graph(X, 5))
    data.write_h5ad(here / "cells.h5ad")
    result = lapmodes("fit", "cells.h5ad", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert "obsp['connectivities']" in result.stderr
    back = anndata.read_h5ad(here / "cells.lapmodes" / "assignments.h5ad")
    assert list(back.obs_names) == list(data.obs_names)
    assert set(back.obs["cluster"]) == {"0", "1"}
    refused = lapmodes("predict", "cells.lapmodes", "cells.h5ad")
    assert refused.exit_code == 3 and "--no-graph" in refused.stderr
    assert lapmodes("fit", "cells.h5ad", "-k", 2, "--no-report", "--no-graph", "-o", "own").exit_code == 0
    assert lapmodes("predict", "own", "cells.h5ad").exit_code == 0


def heed_interrupts():
    """In a process that is started from the background, which would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_run_leaves_nothing(here):
    rng = np.random.default_rng(0)
    np.save(here / "slow.npy", rng.normal(size=(30_000, 15)).astype(np.float32))
    command = [sys.executable, "-c", "from lapmodes.cli import main; main()", "fit", "slow.npy", "-k", "20"]
    with subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        while "Columns share" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert os.listdir(here) == ["slow.npy"]


@pytest.mark.parametrize("nested", [{"v": 1}, [1, "a"]], ids=["records", "lists"])
def test_nested_columns_are_no_trouble(here, lapmodes, nested):
    """They are left out, and exemplars are written without them."""
    rows = [json.dumps({"a": i % 2 * 10 + i * 0.01, "m": nested}) for i in range(40)]
    (here / "x.jsonl").write_text("\n".join(rows), encoding="utf-8")
    result = lapmodes("fit", "x.jsonl", "-k", 2)
    assert result.exit_code == 0, result.stderr
    assert "'m'" in result.stderr
