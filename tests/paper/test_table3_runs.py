"""The algorithms of table 3 and the log of finished runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lapmodes.paper.table3_runs import ALGORITHMS, DEFAULT, Run, RunLog, Score, score


def run_of(seed):
    return Run("MNIST", "K-means", (("lam", 0.1), ("start", "k-means")), seed, False)


def score_of(seed):
    return Score(run_of(seed), 50.0, 40.0, 1.5)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
def test_every_algorithm_separates_three_blobs_at_its_first_setting(algorithm, small_problem):
    for data in algorithm.grids:
        labels = algorithm.run(small_problem, **next(algorithm.cells(data)))
        assert score(small_problem, labels) == pytest.approx((100, 100))


def test_published_figures_cover_the_grids_of_the_papers_algorithms():
    for algorithm in ALGORITHMS:
        assert algorithm.published.keys() == (set() if algorithm.name == DEFAULT else algorithm.grids.keys())


@pytest.mark.parametrize("name", ["k-means", "normalized-cut", "consensus"])
def test_starts_separate_three_blobs_too(name, small_problem):
    _, assignments = small_problem.start(name)
    np.testing.assert_allclose(assignments.sum(axis=1), 1)
    assert score(small_problem, assignments.argmax(axis=1)) == pytest.approx((100, 100))


def test_log_survives_an_interrupted_line(tmp_path):
    file = tmp_path / "runs.jsonl"
    log = RunLog(file)
    log.add(score_of(0))
    log.add(score_of(1))
    with open(file, "a") as stream:
        stream.write(json.dumps({"run": 1})[:-3])
    again = RunLog(file)
    runs = [run_of(seed) for seed in range(3)]
    assert again.missing(runs) == runs[2:]
    assert again.scores(runs[:2]) == [score_of(0), score_of(1)]


def test_a_log_without_a_file_only_remembers():
    log = RunLog(None)
    log.add(score_of(0))
    assert log.missing([run_of(0), run_of(1)]) == [run_of(1)]
