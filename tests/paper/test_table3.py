"""Table 3: the protocol, on small problems; the real data is for `lapmodes reproduce table3`."""

from __future__ import annotations

import pytest

from lapmodes.datasets import DataNotFoundError
from lapmodes.paper import table3
from lapmodes.paper.results import Setting
from lapmodes.paper.table3_runs import ALGORITHMS, DEFAULT, HOMOTOPY, MODEL, Algorithm, Run, Score


def some_score(seed=0, accuracy=50.0, algorithm="K-means"):
    run = Run("MNIST", algorithm, (("lam", 0.1), ("start", "k-means")), seed, False)
    return Score(run, accuracy, 40.0, 1.5)


def test_quick_run_gives_all_tables(small_problems, tmp_path):
    result = table3.run(Setting(quick=True, folder=tmp_path))
    assert [table.name for table in result.tables] == ["table3", "table3_as_printed", "table3_restarts"]
    rows = result.tables[0].rows
    assert {row[0] for row in rows} == set(table3.DATA)
    assert len(rows) == sum(len(each.grids) for each in ALGORITHMS)
    assert not result.claims  # figures of a quick run say nothing about the published ones
    written = (tmp_path / "table3_runs.jsonl").read_text()
    table3.run(Setting(quick=True, folder=tmp_path))
    assert (tmp_path / "table3_runs.jsonl").read_text() == written  # nothing ran twice


def test_missing_data_is_left_out_and_named(small_problems, small_problem, monkeypatch):
    def only_mnist(data, seed, quick=False):
        if data != "MNIST":
            raise DataNotFoundError(f"no {data}")
        return small_problem

    monkeypatch.setattr(table3, "problem_of", only_mnist)
    result = table3.run(Setting(quick=True))
    assert {row[0] for row in result.tables[0].rows} == {"MNIST"}
    assert "no TDT2" in result.introduction


def entry(name, accuracies, published=(50.0, 40.0)):
    algorithm = Algorithm(name, lambda problem: None, {"MNIST": {}}, {} if published is None else {"MNIST": published})
    scores = [some_score(seed, value, name) for seed, value in enumerate(accuracies)]
    return table3.Entry("MNIST", algorithm, scores)


def test_claims_compare_the_best_restart():
    ours, rival = entry(MODEL, [40.0, 60.0], (55.0, 40.0)), entry("K-means", [59.0, 30.0])
    reached, best, close, strong = table3.claims([ours, rival])
    assert reached.holds and reached.measured.startswith("60.0 / 40.0 with lam=0.1, start=k-means")
    assert best.holds and best.measured == "in 2 of 2 rows."
    assert close.holds and close.measured == "+0.0 points against the best rival in its worst row, NMI MNIST."
    assert strong.holds
    assert not table3.reaches_published(entry(MODEL, [54.9], (55.0, 40.0))).holds
    assert not table3.rivals_near_published([ours, entry("K-means", [30.0])]).holds


@pytest.mark.parametrize(("accuracy", "close"), [(44.0, True), (43.9, False)])
def test_one_lost_row_refutes_the_claim_to_be_best(accuracy, close):
    margins = table3.row_margins([entry(MODEL, [accuracy]), entry("K-means", [45.0]), entry("DCD", [46.0])])
    assert margins == pytest.approx({"ACC MNIST": accuracy - 46.0, "NMI MNIST": 0.0})
    best = table3.best_in_every_row(margins)
    assert not best.holds and best.measured == f"in 1 of 2 rows; below in ACC MNIST by {46.0 - accuracy:.1f}."
    assert table3.close_in_every_row(margins).holds == close


@pytest.mark.parametrize("name", [DEFAULT, HOMOTOPY])
def test_neither_default_nor_homotopy_counts_as_the_papers_model(name):
    lost = [entry(MODEL, [40.0]), entry("K-means", [45.0])]
    assert table3.row_margins([*lost, entry(name, [99.0])]) == table3.row_margins(lost)


def test_the_default_has_no_published_figures_and_no_star():
    entries = [entry(MODEL, [60.0]), entry("K-means", [59.0]), entry(DEFAULT, [70.0], None)]
    assert len(table3.claims(entries)) == 4
    assert table3.row_table(entries).rows[0][-1] == "70.0"
    assert table3.summary_table(entries).rows[2][2] == "-"


def test_printed_table_marks_the_best():
    table = table3.row_table([entry(MODEL, [60.0]), entry("K-means", [59.0])])
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert row[MODEL] == "60.0 *" and row["K-means"] == "59.0" and row["DCD"] == "-"
