"""Rows with gaps: left out, filled or refused; one line of output for each line of input, in its order."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from sklearn.impute import KNNImputer

from lapmodes.files import PreparedModel, Reading, batches, formats, read

N = 90
GROUP = np.arange(N) % 3
GAPS = {4: ["a"], 30: ["b", "c"], 55: ["a", "b", "c"]}


def matrix(gaps=None):
    """Three groups of rows; NaN where there are gaps."""
    X = np.random.default_rng(0).normal(size=(N, 3)).round(3) + 9 * np.eye(3)[GROUP]
    for row, names in (gaps or {}).items():
        X[row, ["abc".index(name) for name in names]] = np.nan
    return X


def write_csv(file, X):
    lines = [",".join("" if np.isnan(value) else f"{value:.3f}" for value in row) for row in X]
    file.write_text("a,b,c,d\n" + "".join(f"{line},x\n" for line in lines))


@pytest.fixture
def gaps_csv(here):
    write_csv(here / "gaps.csv", matrix(GAPS))
    return here / "gaps.csv"


def rows_of(file):
    return pa.csv.read_csv(file).to_pydict()


def test_rows_with_gaps_do_not_stop_the_fit_and_get_a_cluster(gaps_csv, here, lapmodes):
    result = lapmodes("fit", "gaps.csv", "-k", 3)
    assert result.exit_code == 0, result.output
    assert "Left 2 rows (5, 31) with missing values out of the fit;" in result.stderr
    assert "Left 1 row (56) without any value out of the fit, in no cluster (-1)." in result.stderr
    assert "--missing impute fills the gaps instead" in result.stderr
    rows = rows_of(here / "gaps.lapmodes" / "assignments.csv")
    assert len(rows["cluster"]) == N and rows["gaps"] == [len(GAPS.get(row, [])) for row in range(N)]
    whole = np.setdiff1d(np.arange(N), [55])
    labels = np.array(rows["cluster"])
    assert labels[55] == -1 and rows["cluster_0"][55] == rows["cluster_1"][55] == rows["cluster_2"][55] == 0
    assert all(len(set(labels[whole][GROUP[whole] == group])) == 1 for group in range(3))
    summary = json.loads((here / "gaps.lapmodes" / "summary.json").read_text())
    assert (summary["rows"], summary["rows_of_the_fit"], summary["rows_with_gaps"]) == (N, N - 3, [5, 31, 56])
    page = (here / "gaps.lapmodes" / "report.html").read_text()
    assert "Left 2 rows (5, 31)" in page and "row 90" in page


def test_the_fit_is_that_of_the_file_without_these_rows(gaps_csv, here, lapmodes):
    write_csv(here / "whole.csv", np.delete(matrix(), list(GAPS), axis=0))
    for name in ("gaps", "whole"):
        assert lapmodes("fit", f"{name}.csv", "-k", 3, "--no-report").exit_code == 0
    with_gaps, without = (rows_of(here / f"{name}.lapmodes" / "assignments.csv") for name in ("gaps", "whole"))
    assert "gaps" not in without
    for name in without:
        np.testing.assert_array_equal(np.delete(with_gaps[name], list(GAPS)), without[name])
    one, other = (rows_of(here / f"{name}.lapmodes" / "exemplars.csv") for name in ("gaps", "whole"))
    assert one["a"] == other["a"] and one["row"] != other["row"]
    original = rows_of(gaps_csv)
    assert [original["a"][row - 1] for row in one["row"]] == one["a"]


def test_predict_does_the_same(gaps_csv, here, lapmodes):
    write_csv(here / "whole.csv", matrix())
    assert lapmodes("fit", "whole.csv", "-k", 3, "--no-report").exit_code == 0
    result = lapmodes("predict", "whole.lapmodes", "gaps.csv", "--soft")
    assert result.exit_code == 0, result.output
    assert "3 rows with missing values: rows 5, 31, 56." in result.stderr
    assert "1 row without any value, put into no cluster (-1)." in result.stderr
    rows = rows_of(here / "gaps.clusters.csv")
    assert rows["gaps"] == [len(GAPS.get(row, [])) for row in range(N)] and rows["cluster"][55] == -1
    lapmodes("predict", "whole.lapmodes", "whole.csv")
    expected = rows_of(here / "whole.clusters.csv")
    assert list(expected) == ["cluster"]
    assert [k for k in range(N) if rows["cluster"][k] != expected["cluster"][k]] == [55]


def test_a_gap_in_a_later_piece_is_marked_from_the_first_on(here, lapmodes, monkeypatch):
    X = matrix()
    pa.parquet.write_table(pa.table({name: X[:, i] for i, name in enumerate("abc")}), here / "x.parquet")
    assert lapmodes("fit", "x.parquet", "-k", 3, "--no-report").exit_code == 0
    X[80, 1] = np.nan
    pa.parquet.write_table(pa.table({name: X[:, i] for i, name in enumerate("abc")}), here / "y.parquet")
    monkeypatch.setattr(formats, "BATCH_ROWS", 20)
    assert len(list(batches(here / "y.parquet", Reading(), ["a"]))) == 5
    assert lapmodes("predict", "x.lapmodes", "y.parquet").exit_code == 0
    assert read(here / "y.clusters.parquet").columns["gaps"].to_pylist() == [int(row == 80) for row in range(N)]


def test_gaps_are_filled_from_similar_rows():
    """By the same rule as scikit-learn's imputer on the rows of the fit."""
    from lapmodes import LaplacianKModes
    from lapmodes.files import Table, learn

    X = np.random.default_rng(1).normal(size=(200, 4)) * [1, 10, 100, 1000]
    recipe, _, points = learn(Table(matrix=X), missing="drop")
    prepared = PreparedModel(LaplacianKModes(4, random_state=0, n_jobs=1).fit(points), recipe)
    new = X[:50] + 0.1
    new[np.arange(50), np.arange(50) % 4] = np.nan
    by_hand = KNNImputer(n_neighbors=10).fit(points).transform(recipe.scaled(new))
    np.testing.assert_allclose(
        prepared.predict_proba(Table(matrix=new)), prepared.model.predict_proba(by_hand), atol=1e-9
    )


def test_more_gaps_than_a_fifth_need_a_decision(here, lapmodes):
    X = matrix({row: ["b"] for row in range(0, N, 4)})
    write_csv(here / "x.csv", X)
    refused = lapmodes("fit", "x.csv", "-k", 3)
    assert refused.exit_code == 3 and "Missing values in 23 of 90 rows (26 %; 'b' 26 %)" in refused.stderr
    for rule, n in (("drop", N - 23), ("impute", N)):
        assert f"--missing {rule}" in refused.stderr
        assert lapmodes("fit", "x.csv", "-k", 3, "--no-report", "--missing", rule, "-o", rule).exit_code == 0
        assert json.loads((here / rule / "summary.json").read_text())["rows_of_the_fit"] == n
        assert len(rows_of(here / rule / "assignments.csv")["cluster"]) == N
    assert lapmodes("fit", "x.csv", "-k", 2, "--no-report", "--drop", "b").exit_code == 0


def test_without_k_too(gaps_csv, here, lapmodes):
    result = lapmodes("fit", "gaps.csv", "--no-report")
    assert result.exit_code == 0, result.output
    assert len(rows_of(here / "gaps.lapmodes" / "assignments.csv")["cluster"]) == N


def test_a_path_labels_every_row(gaps_csv, here, lapmodes):
    result = lapmodes("path", "gaps.csv", "-k", 3, "--steps", 3, "--labels", "steps.csv")
    assert result.exit_code == 0, result.output
    assert "Left 2 rows (5, 31)" in result.stderr
    steps = rows_of(here / "steps.csv")
    assert all(len(labels) == N and labels[55] == -1 and labels[4] >= 0 for labels in steps.values())


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_matrices_with_gaps(suffix, here, lapmodes):
    X = matrix({4: ["a"], 30: ["b", "c"]})
    if suffix == ".npy":
        np.save(here / "x.npy", X)
    else:
        sp.save_npz(here / "x.npz", sp.csr_matrix(X))
    result = lapmodes("fit", f"x{suffix}", "-k", 3, "--no-report")
    assert result.exit_code == 0, result.output
    assert "Left 2 rows (5, 31) with missing values out of the fit;" in result.stderr
    assert len(np.load(here / "x.lapmodes" / "labels.npy")) == N
    assert lapmodes("predict", "x.lapmodes", f"x{suffix}").exit_code == 0


def test_directions_with_gaps(gaps_csv, here, lapmodes):
    result = lapmodes("fit", "gaps.csv", "-k", 3, "--no-report", "--metric", "cosine")
    assert result.exit_code == 0, result.output
    rows = rows_of(here / "gaps.lapmodes" / "assignments.csv")
    assert len(rows["cluster"]) == N and rows["cluster"][4] >= 0


def test_many_clusters_keep_their_zeros_out_of_memory(gaps_csv, here, lapmodes):
    result = lapmodes("fit", "gaps.csv", "-k", 3, "--no-report", "--set", "sparse_assignments=true")
    assert result.exit_code == 0, result.output
    rows = rows_of(here / "gaps.lapmodes" / "assignments.csv")
    assert rows["cluster"][55] == -1 and sum(rows["cluster_0"]) > 20


def test_a_graph_of_the_file_does_not_lose_rows(here, lapmodes):
    anndata = pytest.importorskip("anndata")
    from sklearn.neighbors import kneighbors_graph

    data = anndata.AnnData(X=matrix(GAPS))
    data.obsp["connectivities"] = sp.csr_matrix(kneighbors_graph(matrix(), 5))
    data.write_h5ad(here / "cells.h5ad")
    result = lapmodes("fit", "cells.h5ad", "-k", 3)
    assert result.exit_code == 3 and "--missing impute" in result.stderr and "--no-graph" in result.stderr
    assert lapmodes("fit", "cells.h5ad", "-k", 3, "--no-report", "--no-graph").exit_code == 0
    labels = np.load(here / "cells.lapmodes" / "labels.npy")
    assert len(labels) == N and labels[55] == -1
