"""Runs of table 3: one restart of one algorithm at one setting on one data set, kept in a file as they finish."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..datasets import fetch_coil20, fetch_mnist, load_tdt2
from ..metrics import clustering_accuracy, normalized_mutual_info
from ._contestants import CONTESTANTS, Problem

QUICK_PER_CLASS = 50
"""Images or documents of each class in a quick run."""
QUICK_TOPICS = 10


@dataclass(frozen=True)
class Run:
    """What to run."""

    data: str
    algorithm: str
    parameters: tuple[tuple[str, Any], ...]
    seed: int
    quick: bool

    @property
    def key(self) -> str:
        """The same text for the same run."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Score:
    """A finished run, in per cent and seconds."""

    run: Run
    accuracy: float
    nmi: float
    seconds: float


def problem_of(data: str, seed: int, quick: bool) -> Problem:
    """The points of a restart: each restart on MNIST draws its own sample of 200 images a digit."""
    sample = seed if data == "MNIST" else 0
    X, y = _points(data, sample, quick)
    return Problem(X, y, seed)


@lru_cache(maxsize=4)
def _points(data: str, sample: int, quick: bool) -> tuple[Any, Any]:
    if data == "MNIST":
        return fetch_mnist(per_class=QUICK_PER_CLASS if quick else 200, unit_norm=True, random_state=sample)
    if data == "COIL-20":
        X, y = fetch_coil20(unit_norm=True)
        return (X[::4], y[::4]) if quick else (X, y)
    X, y = load_tdt2()
    if not quick:
        return X, y
    rows = np.concatenate([np.flatnonzero(y == topic)[:QUICK_PER_CLASS] for topic in np.unique(y)[:QUICK_TOPICS]])
    return X[rows], y[rows]


_problem = lru_cache(maxsize=24)(problem_of)


def execute(run: Run) -> Score:
    """Cluster and score."""
    contestant = next(each for each in CONTESTANTS if each.name == run.algorithm)
    problem = _problem(run.data, run.seed, run.quick)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a setting that fails scores low: that is what is measured
        labels = contestant.run(problem, **dict(run.parameters))
    seconds = perf_counter() - began
    return Score(
        run,
        100 * clustering_accuracy(problem.y, labels),
        100 * normalized_mutual_info(problem.y, labels, average="max"),
        seconds,
    )


class Ledger:
    """Finished runs in a file, a line each, so that an interrupted experiment goes on where it was."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._scores = {score.run.key: score for score in self._read()}

    def _read(self) -> Iterator[Score]:
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # the last line of a process that was killed while it wrote
                continue
            run = entry.pop("run")
            parameters = tuple((name, value) for name, value in run.pop("parameters"))
            yield Score(Run(**run, parameters=parameters), **entry)

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Those not yet finished."""
        return [run for run in runs if run.key not in self._scores]

    def add(self, score: Score) -> None:
        """Keep a finished run."""
        self._scores[score.run.key] = score
        if self._file is not None:
            with open(self._file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(score)) + "\n")

    def scores(self, runs: Iterable[Run]) -> list[Score]:
        """The scores of finished runs, in the order asked for."""
        return [self._scores[run.key] for run in runs]
