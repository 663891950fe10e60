"""Table 3, its runs: the algorithms and what each may choose from, the data, and a log of finished runs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .. import KModes, LaplacianKModes
from .._records import Array
from .._rows import one_hot
from ..metrics import clustering_accuracy, normalized_mutual_info
from .data import fetch_coil20, fetch_mnist, load_tdt2
from .results import end_of_path
from .rivals import DataClusterData, GaussianMeanShift, GraphNMF, KMeans, NormalizedCut
from .rivals.base import affinity_of

N_NEIGHBORS = 5
QUICK_PER_CLASS = 50
"""Images or documents of each class in a quick run."""
QUICK_TOPICS = 10


@dataclass(frozen=True)
class Problem:
    """Points with known classes, and what several algorithms share: the graph and the starts."""

    X: Any
    y: Array
    seed: int
    """Of the restart."""

    @property
    def n_clusters(self) -> int:
        """As many as there are classes."""
        return len(np.unique(self.y))

    @cached_property
    def graph(self) -> Any:
        """The binary graph of the five nearest neighbours."""
        return affinity_of(NormalizedCut(n_neighbors=N_NEIGHBORS), self.X, None, np.random.RandomState(0))

    @cached_property
    def kmeans(self) -> Any:
        """One run of K-means from k-means++ seeds."""
        return KMeans(self.n_clusters, n_init=1, random_state=self.seed).fit(self.X)

    @cached_property
    def normalized_cut(self) -> Array:
        """Labels of normalised cut."""
        model = NormalizedCut(self.n_clusters, n_init=1, random_state=self.seed)
        return np.asarray(model.fit(self.X, graph=self.graph).labels_)

    @cached_property
    def default_model(self) -> LaplacianKModes:
        """What the default constructor finds, on a graph of its own."""
        return LaplacianKModes(self.n_clusters, n_jobs=1, random_state=self.seed).fit(self.X)

    def start(self, name: str) -> Any:
        """A start for `init`."""
        if name == "k-means":
            return self.kmeans.cluster_centers_, one_hot(self.kmeans.labels_, self.n_clusters, np.float64)
        if name == "normalized-cut":
            return None, one_hot(self.normalized_cut, self.n_clusters, np.float64)
        if name == "consensus":
            return None, self.default_model.prior_
        return name


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


def run_kmeans(problem: Problem, *, init: str) -> Array:
    """K-means from one random start."""
    model = KMeans(problem.n_clusters, init=init, n_init=1, random_state=problem.seed)
    return np.asarray(model.fit(problem.X).labels_)


def run_kmodes(problem: Problem, *, bandwidth: float, steps: int | None) -> Array:
    """K-modes from the K-means solution: in so many steps from an infinite bandwidth, or without a path."""
    common: dict[str, Any] = {"bandwidth": bandwidth, "init": problem.start("k-means"), "n_jobs": 1}
    if steps is None:
        return np.asarray(KModes(problem.n_clusters, **common).fit(problem.X).labels_)
    return np.asarray(end_of_path(problem.X, problem.n_clusters, lam=0.0, n_steps=steps, **common).labels_)


def run_mean_shift(problem: Problem) -> Array:
    """Mean-shift with the bandwidth that gives as many modes as there are classes."""
    return np.asarray(GaussianMeanShift(problem.n_clusters).fit(problem.X).labels_)


def run_normalized_cut(problem: Problem, *, regularization: float) -> Array:
    """Normalised cut from one random rotation."""
    model = NormalizedCut(problem.n_clusters, regularization=regularization, n_init=1, random_state=problem.seed)
    return np.asarray(model.fit(problem.X, graph=problem.graph).labels_)


def run_graph_nmf(problem: Problem, *, lam: float, max_iter: int) -> Array:
    """Graph-regularised NMF from one random start."""
    model = GraphNMF(problem.n_clusters, lam=lam, n_init=1, max_iter=max_iter, tol=0, random_state=problem.seed)
    return np.asarray(model.fit(problem.X, graph=problem.graph).labels_)


def run_data_cluster_data(problem: Problem, *, n_neighbors: int, init: str) -> Array:
    """DCD on a graph with a number of neighbours of its own."""
    model = DataClusterData(problem.n_clusters, n_neighbors=n_neighbors, init=init, random_state=problem.seed)
    return np.asarray(model.fit(problem.X).labels_)


def run_laplacian_kmodes(problem: Problem, *, start: str, lam: float, bandwidth: float) -> Array:
    """Laplacian K-modes from one start."""
    init = problem.start(start)
    model = LaplacianKModes(
        problem.n_clusters, lam=lam, bandwidth=bandwidth, init=init, n_jobs=1, random_state=problem.seed
    )
    return np.asarray(model.fit(problem.X, graph=problem.graph).labels_)


def run_homotopy(problem: Problem, *, start: str, lam: float, widest: float, bandwidth: float, steps: int) -> Array:
    """Laplacian K-modes along a path of falling bandwidths."""
    common: dict[str, Any] = {"init": problem.start(start), "n_jobs": 1, "random_state": problem.seed}
    widths = np.geomspace(widest, bandwidth, steps)
    model = end_of_path(problem.X, problem.n_clusters, lam=lam, bandwidth=widths, graph=problem.graph, **common)
    return np.asarray(model.labels_)


def run_default(problem: Problem) -> Array:
    """The default constructor, for which nothing is chosen by the labels."""
    return np.asarray(problem.default_model.labels_)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, and for each data set the values that each of its hyperparameters may take."""

    name: str
    run: Callable[..., Array]
    grids: Mapping[str, Mapping[str, Sequence[Any]]]
    published: Mapping[str, tuple[float, float]]
    """Accuracy and NMI in per cent; empty for what is not in the paper."""
    restarts: bool = True
    """False if the result does not depend on a seed."""

    def cells(self, data: str) -> Iterator[dict[str, Any]]:
        """Every combination of hyperparameters for a data set."""
        grid = self.grids[data]
        yield from (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))


def everywhere(**grid: Sequence[Any]) -> dict[str, Any]:
    """The same grid for all data."""
    return dict.fromkeys(("MNIST", "COIL-20", "TDT2"), grid)


STARTS = ("k-means", "spectral", "normalized-cut", "consensus")
MODEL = "Laplacian K-modes"
HOMOTOPY = "Laplacian K-modes, homotopy"
DEFAULT = "default of lapmodes (adds a prior)"
NOT_RIVALS = (MODEL, HOMOTOPY, DEFAULT)
ALGORITHMS = (
    Algorithm(
        "K-means",
        run_kmeans,
        everywhere(init=("k-means++", "random")),
        {"MNIST": (58.2, 53.3), "COIL-20": (66.5, 75.3), "TDT2": (68.9, 75.3)},
    ),
    Algorithm(
        "K-modes",
        run_kmodes,
        {
            "MNIST": {"bandwidth": (0.3, 0.4, 0.5, 0.7, 1.0), "steps": (None, 8)},
            "COIL-20": {"bandwidth": (0.1, 0.2, 0.3, 0.5), "steps": (None, 8)},
            "TDT2": {"bandwidth": (0.6, 0.8, 1.0), "steps": (None, 8)},
        },
        {"MNIST": (59.2, 53.6), "COIL-20": (67.2, 75.9), "TDT2": (70.0, 75.8)},
    ),
    Algorithm(
        "Mean-shift (GMS)",
        run_mean_shift,
        {"MNIST": {}, "COIL-20": {}},
        {"MNIST": (15.9, 6.5), "COIL-20": (27.2, 38.9)},
        restarts=False,
    ),
    Algorithm(
        "Normalised cut",
        run_normalized_cut,
        everywhere(regularization=(0.5, 0.0)),
        {"MNIST": (65.5, 66.9), "COIL-20": (79.0, 88.0), "TDT2": (88.4, 83.7)},
    ),
    Algorithm(
        "GNMF",
        run_graph_nmf,
        {
            "MNIST": {"lam": (0.1, 0.3, 1.0, 10.0, 100.0), "max_iter": (40, 100)},
            "COIL-20": {"lam": (0.1, 1.0, 10.0, 100.0), "max_iter": (100, 300)},
            "TDT2": {"lam": (1.0, 10.0, 100.0, 1000.0), "max_iter": (100,)},
        },
        {"MNIST": (66.2, 64.9), "COIL-20": (75.3, 87.5), "TDT2": (88.6, 83.7)},
    ),
    Algorithm(
        "DCD",
        run_data_cluster_data,
        {
            "MNIST": {"n_neighbors": (5, 10, 20, 30), "init": ("k-means", "ncut")},
            "COIL-20": {"n_neighbors": (5, 10, 20, 30), "init": ("k-means", "ncut")},
            "TDT2": {"n_neighbors": (5, 10), "init": ("k-means", "ncut")},
        },
        {"MNIST": (69.4, 65.6), "COIL-20": (71.5, 77.6), "TDT2": (55.1, 68.6)},
    ),
    Algorithm(
        MODEL,
        run_laplacian_kmodes,
        {
            "MNIST": {"start": STARTS, "lam": (0.01, 0.03, 0.05, 0.1), "bandwidth": (0.2, 0.25, 0.3, 0.4)},
            "COIL-20": {"start": STARTS, "lam": (0.03, 0.1, 0.15), "bandwidth": (0.08, 0.1)},
            "TDT2": {"start": STARTS, "lam": (0.01, 0.03), "bandwidth": (0.5, 0.7, 1.0)},
        },
        {"MNIST": (70.5, 68.8), "COIL-20": (81.0, 87.3), "TDT2": (91.4, 88.8)},
    ),
    Algorithm(
        HOMOTOPY,
        run_homotopy,
        {
            "COIL-20": {
                "start": STARTS,
                "lam": (0.01, 0.1),
                "widest": (0.45,),
                "bandwidth": (0.1,),
                "steps": (7,),
            }
        },
        {"COIL-20": (81.5, 88.0)},
    ),
    Algorithm(DEFAULT, run_default, everywhere(), {}),
)


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


_problem = lru_cache(maxsize=24)(problem_of)


def execute(run: Run) -> Score:
    """Cluster and score."""
    algorithm = next(each for each in ALGORITHMS if each.name == run.algorithm)
    problem = _problem(run.data, run.seed, run.quick)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a setting that fails gets a low score
        labels = algorithm.run(problem, **dict(run.parameters))
    seconds = perf_counter() - began
    return Score(run, *score(problem, labels), seconds)


def score(problem: Problem, labels: Array) -> tuple[float, float]:
    """Accuracy and NMI in per cent."""
    nmi = normalized_mutual_info(problem.y, labels, average="max")
    return 100 * clustering_accuracy(problem.y, labels), 100 * nmi


class RunLog:
    """Finished runs in a file, one on each line, so that an interrupted experiment goes on where it was."""

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
