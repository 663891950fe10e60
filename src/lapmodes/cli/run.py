"""What happens between a file and a result: read, prepare, choose, fit. No output is written here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import LaplacianKModes, Selection
from .._records import Array
from .._validation import check_parameters
from ..files import FileError, Reading, Recipe, Table, learn, read
from ..files.atomic import spooled
from ..files.base import counted, existing_file
from ..files.columns import check_known
from ..files.recipe import check_directions
from ..report.content import selection_reason
from .choose import choose_n_clusters, table_lines
from .config import assignments, names, number_or_word, pair
from .progress import Bars


@dataclass(frozen=True)
class Wish:
    """The options of ``lapmodes fit`` that decide the result."""

    data: Path
    clusters: str
    columns: str | None = None
    drop: str | None = None
    keep: str | None = None
    truth: str | None = None
    impute: str | None = None
    scale: str = "auto"
    lam: str = "auto"
    bandwidth: str = "auto"
    affinity: str = "auto"
    neighbors: int | None = None
    metric: str = "euclidean"
    seed: int = 0
    jobs: int | None = None
    set: list[str] = field(default_factory=list)
    delimiter: str | None = None
    encoding: str = "utf-8"
    array: str | None = None
    names: Path | None = None
    image: str | None = None
    graph: bool = True


@dataclass(frozen=True)
class Outcome:
    """A fitted model with all that was read, learnt, chosen and noticed on the way."""

    wish: Wish
    table: Table
    recipe: Recipe
    raw: Any
    """The rows in the units of the file."""
    points: Any
    """The rows as the model sees them."""
    model: Any
    selection: Selection | None
    truth: Array | None
    notes: tuple[str, ...]
    seconds: dict[str, float]


def run(wish: Wish, bars: Bars, tell: Callable[[str], None], path: int | None = None) -> Outcome:
    """Read, prepare, choose, fit; along a path of so many steps if asked."""
    clock = _Clock()
    model = estimator(wish, bars)
    if path is not None:
        model.set_params(path=path)
    check_parameters(model)
    with bars.phase("Reading"), spooled(wish.data) as file:
        table = read(file, reading(wish.delimiter, wish.encoding, wish.array, wish.image))
    truth = true_labels(table, wish.truth)
    if table.columns is not None:
        check_known(names(wish.keep) or [], table.columns.column_names)
    recipe, raw, points = learn(
        table,
        columns=names(wish.columns),
        drop=[*(names(wish.drop) or []), *([wish.truth] if wish.truth else [])],
        scale=wish.scale,
        impute=wish.impute,
        image_shape=None if wish.data.is_dir() else pair(wish.image, "--image"),
        names=column_names(wish.names),
    )
    check_request(wish, model.n_clusters, points)
    clock.stop("read")
    graph = table.graph if wish.graph and table.graph is not None else None
    for line in prepared_lines(table, recipe, graph):
        tell(line)
    selection = None
    if wish.clusters == "auto":
        selection = choose_n_clusters(model, points, graph)
        for line in table_lines(selection):
            tell(line)
        tell(f"Chose {selection.n_clusters} clusters: {selection_reason(selection)}.")
        model.set_params(n_clusters=selection.n_clusters)
        clock.stop("choose")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(points, graph=graph)
    clock.stop("fit")
    notes = tuple(dict.fromkeys(" ".join(str(each.message).split()) for each in caught))
    model.set_params(callback=None)
    return Outcome(wish, table, recipe, raw, points, model, selection, truth, notes, clock.seconds)


def check_request(wish: Wish, n_clusters: int, points: Any) -> None:
    """What the options ask for must be possible with these rows."""
    if n_clusters > points.shape[0]:
        raise FileError(f"{counted(points.shape[0], 'row')} cannot make {n_clusters:,} clusters. Ask for fewer: -k.")
    if wish.metric == "cosine":
        check_directions(points)


def reading(delimiter: str | None, encoding: str, array: str | None, image: str | None) -> Reading:
    """How to read a file, from the options."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise FileError(f"--delimiter must be one sign, or 'tab'. Got {delimiter!r} instead.")
    return Reading(delimiter, encoding, array, pair(image, "--image"))


def estimator(wish: Wish, callback: Any = None) -> LaplacianKModes:
    """The estimator that the options describe."""
    settings: dict[str, Any] = {
        "n_clusters": number_of_clusters(wish.clusters),
        "lam": number_or_word(wish.lam, "--lam"),
        "bandwidth": number_or_word(wish.bandwidth, "--bandwidth"),
        "affinity": wish.affinity,
        "metric": wish.metric,
        "n_jobs": wish.jobs,
        "random_state": wish.seed,
        "callback": callback,
    }
    if wish.neighbors is not None:
        settings["n_neighbors"] = wish.neighbors
    further = assignments(wish.set)
    unknown = sorted(set(further) - set(LaplacianKModes().get_params()))
    if unknown:
        raise ValueError(f"--set: there is no parameter {unknown[0]!r} of LaplacianKModes.")
    return LaplacianKModes(**(settings | further))


def number_of_clusters(text: str) -> int:
    """K, or a stand-in while it is still to be chosen."""
    if text == "auto":
        return 2
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"-k must be a whole number of at least 1, or 'auto'. Got {text!r} instead.")
    return int(text)


def true_labels(table: Table, name: str | None) -> Array | None:
    """The column of known classes, as numbers."""
    if name is None:
        return None
    if table.columns is None:
        raise FileError("--truth names a column, which only files with named columns have.")
    check_known([name], table.columns.column_names)
    return np.unique(np.asarray(table.columns.column(name).to_pylist(), dtype=str), return_inverse=True)[1]


def column_names(file: Path | None) -> list[str] | None:
    """Names of a matrix's columns, one a line."""
    return None if file is None else existing_file(file).read_text(encoding="utf-8").splitlines()


def prepared_lines(table: Table, recipe: Recipe, graph: Any) -> list[str]:
    """What was read and how it was prepared, for the terminal and the report."""
    lines = [f"Read {counted(table.n_rows, 'row')}; using {counted(len(recipe.features), 'column')}."]
    if table.note:
        lines.append(f"{table.note}.")
    lines += [f"Left out column {name!r}: {reason}." for name, reason in recipe.dropped[:20]]
    if recipe.impute:
        lines.append(f"Filled missing values with the {recipe.impute} of their column.")
    if recipe.scaling == "none" and recipe.image_shape is not None:
        lines.append("Pixels are used as they are.")
    elif recipe.scaling == "none":
        lines.append("Columns are used in their own units (--scale standard makes them equally important).")
    elif recipe.scaling == "unit":
        lines.append("Rows are scaled to length 1.")
    else:
        lines.append(f"Columns are scaled ({recipe.scaling}), so that no unit outweighs another.")
    if graph is not None:
        lines.append("Using the neighbour graph of the file (--no-graph builds a new one).")
    return lines


class _Clock:
    """Seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def stop(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = round(now - self._began, 3)
        self._began = now
