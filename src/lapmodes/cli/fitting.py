"""From a file to a fitted model: read, prepare, choose the number of clusters, fit. No output is written here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import LaplacianKModes, Layers, Selection, fit_layers, select
from .._records import Array
from .._warnings import warnings_as_notes
from ..files import FileError, Recipe, Table, learn, read
from ..files.atomic import spooled
from ..files.base import counted, existing_file, listed
from ..files.columns import AS_ASKED, check_known, is_number
from ..files.recipe import check_directions
from ..files.screening import decisive_columns
from ..report.content import selection_reason
from ..report.payload import sample_rows
from .options import (
    column_list,
    further_parameters,
    height_and_width,
    levels_of,
    number_of_clusters,
    number_or_word,
    reading_of,
)
from .terminal import Bars

BAR = 30
"""Signs of a full bar."""
COMPARED_ROWS = 100_000
"""Rows that the comparison of numbers of clusters may draw from."""
NOT_COMPARED = ("n_clusters", "init", "n_init")
"""Parameters of the estimator that the comparison does not take."""
LISTED = 20
"""Columns that were left out and things that were understood, each with a line of its own."""
SPARSE_FROM = 256
"""Clusters from which the shares are held without their zeros; the files that are written are the same."""


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options of ``lapmodes fit`` that decide the result."""

    data: Path
    clusters: str
    columns: str | None = None
    drop: str | None = None
    keep: str | None = None
    truth: str | None = None
    missing: str = "auto"
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
    decimal: str | None = None
    encoding: str | None = None
    array: str | None = None
    names: Path | None = None
    categories: str | None = None
    image: str | None = None
    graph: bool = True
    no_formulas: bool = False


@dataclass(frozen=True, kw_only=True)
class FitRun:
    """A file on its way to clusters: what was read, how it was prepared, the model, and what was noticed.

    The rows of the fit are those of the file without gaps, or all of them where gaps are filled.
    """

    options: FitOptions
    table: Table
    recipe: Recipe
    raw: Any
    """The rows of the fit in the units of the file."""
    points: Any
    """The rows of the fit as they are handed to the model."""
    gaps: Array
    """How many features are missing in each row of the file."""
    graph: Any
    """The file's neighbour graph, where it has one that is wanted."""
    truth: Array | None
    """The known class of each row of the file, -1 where it is not known."""
    model: Any
    """The estimator; its number of clusters is known."""
    selection: Selection | None
    layers: Layers | None = None
    """All levels, where several numbers of clusters were asked for; the model is then that of the reference."""
    left_out: Array | None = None
    """Mask of the rows of the fit that a person left out in the explorer."""
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Sentences of the warnings of the fit, and what was noticed of the clusters."""

    @property
    def labels(self) -> Array:
        """The cluster of each row of the fit; -1 for those that a person left out."""
        labels: Array = self.model.labels_
        return labels if self.left_out is None else np.where(self.left_out, -1, labels)

    @property
    def rows(self) -> Array:
        """Which rows of the file are those of the fit."""
        return np.flatnonzero((self.gaps == 0) | (self.recipe.impute is not None))

    @property
    def rows_left_out(self) -> Array:
        """Which rows of the file have gaps and were left out of the fit."""
        return np.flatnonzero((self.gaps > 0) & (self.recipe.impute is None))


def prepare(options: FitOptions, bars: Bars, say: Callable[[str], None]) -> FitRun:
    """Read and prepare the rows and choose the number of clusters, so that all is ready for a fit."""
    began = time.perf_counter()
    model = estimator(options, bars)
    with bars.phase("Reading"), spooled(options.data) as file:
        table = read(
            file, reading_of(options.delimiter, options.encoding, options.array, options.image, options.decimal)
        )
    truth = true_labels(table, options.truth)
    if table.columns is not None:
        check_known(column_list(options.keep), table.columns.column_names)
    recipe, raw, points = learn(
        table,
        columns=column_list(options.columns) or None,
        drop=[*column_list(options.drop), *([options.truth] if options.truth else [])],
        scale=options.scale,
        missing=options.missing,
        impute=options.impute,
        image_shape=None if options.data.is_dir() else height_and_width(options.image, "--image"),
        names=column_names(options.names),
        categories=column_list(options.categories),
    )
    check_possible(options, points)
    graph = table.graph if options.graph else None
    if graph is not None and points.shape[0] < table.n_rows:
        raise FileError(
            f"{counted(table.n_rows - points.shape[0], 'row')} with missing values cannot be left out of the graph in "
            "the file. Fill the gaps with --missing impute, or build a new graph with --no-graph."
        )
    run = FitRun(
        options=options,
        table=table,
        recipe=recipe,
        raw=raw,
        points=points,
        gaps=recipe.count_gaps(table),
        graph=graph,
        truth=truth,
        model=model,
        selection=None,
        seconds={"read": round(time.perf_counter() - began, 3)},
    )
    for line in (*preparation_lines(run), *(f"Note: {doubt}" for doubt in recipe.doubts)):
        say(line)
    return run if number_of_clusters(options.clusters) else choose_n_clusters(run, say)


def fit_model(run: FitRun) -> FitRun:
    """Fit the model of a run; warnings become notes."""
    began = time.perf_counter()
    with warnings_as_notes() as notes:
        levels = levels_of(run.options.clusters)
        if len(levels) > 1:
            run = fit_levels(run, levels)
        else:
            run.model.fit(run.points, graph=run.graph)
    for model in (run.model,) if run.layers is None else run.layers.models:
        model.set_params(verbose=False)
    seconds = run.seconds | {"fit": round(time.perf_counter() - began, 3)}
    return replace(run, notes=(*notes, *noticed(run)), seconds=seconds)


def fit_levels(run: FitRun, levels: list[int]) -> FitRun:
    """Fit several levels at once by :func:`lapmodes.fit_layers`."""
    own = {"n_clusters": run.model.n_clusters, "init": "auto", "n_init": 1}  # what the levels decide, left as it is
    parameters = run.model.get_params(deep=False).items()
    asked = {name: value for name, value in parameters if name not in own or value != own[name]}
    layers = fit_layers(run.points, levels, graph=run.graph, **asked)
    return replace(run, model=layers[layers.reference], layers=layers)


def noticed(run: FitRun) -> list[str]:
    """What a person should know about the clusters: that a single column decides them, of those nobody asked for."""
    if run.recipe.columns is None or issparse(run.raw):
        return []
    n_numbers = len(run.recipe.features) - sum(len(values) for _, values in run.recipe.categories)
    note = decisive_columns(run.recipe.features[:n_numbers], run.raw, run.model.labels_)
    return [] if note is None else [note]


def choose_n_clusters(run: FitRun, say: Callable[[str], None]) -> FitRun:
    """Compare numbers of clusters by :func:`lapmodes.select`."""
    began = time.perf_counter()
    n = run.points.shape[0]
    rows = sample_rows(n, COMPARED_ROWS if run.graph is None else n)  # a sample of a graph has no edges
    if rows.size < 4:
        raise ValueError(f"-k auto needs at least 4 rows. Got {rows.size}.")
    parameters = {name: value for name, value in run.model.get_params(deep=False).items() if name not in NOT_COMPARED}
    graph = None if run.graph is None else run.graph[rows][:, rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a number of clusters that does not suit is not the user's mistake
        selection = select(run.points[rows], graph=graph, **parameters)
    run.model.set_params(n_clusters=selection.n_clusters)
    for line in comparison_chart(selection):
        say(line)
    say(f"Chose {counted(selection.n_clusters, 'cluster')}: {selection_reason(selection)}.")
    seconds = run.seconds | {"choose": round(time.perf_counter() - began, 3)}
    return replace(run, selection=selection, seconds=seconds)


def comparison_chart(selection: Selection) -> list[str]:
    """A line for each number of clusters: a bar for the stability, which decides, and the other criteria."""
    lines = [f"{'clusters':>9}  {'stability':<{BAR + 14}}{'agreement':>9}  separation"]
    for row in selection.table[np.unique(selection.table["n_clusters"], return_index=True)[1]]:
        mark = "*" if row["n_clusters"] == selection.n_clusters else " "
        bar = f"{'#' * round(BAR * float(row['stability'])):<{BAR}} {row['stability']:.2f} ± {row['spread']:.2f}"
        lines.append(f"{row['n_clusters']:>8}{mark}  {bar}   {row['agreement']:>7.2f}  {row['separation']:>10.1f}")
    return lines


def estimator(options: FitOptions, bars: Bars) -> LaplacianKModes:
    """The estimator that the options describe; 2 clusters while the number is still to be chosen."""
    n_clusters = number_of_clusters(options.clusters) or 2
    parameters: dict[str, Any] = {
        "n_clusters": n_clusters,
        "lam": number_or_word(options.lam, "--lam"),
        "bandwidth": number_or_word(options.bandwidth, "--bandwidth", ("auto", "entropic")),
        "affinity": options.affinity,
        "metric": options.metric,
        "n_jobs": options.jobs,
        "random_state": options.seed,
        "sparse_assignments": n_clusters >= SPARSE_FROM,
        "verbose": bars,
    }
    if options.neighbors is not None:
        parameters["n_neighbors"] = options.neighbors
    try:
        return LaplacianKModes(**(parameters | further_parameters(options.set)))
    except TypeError as error:  # there is no such parameter
        raise ValueError(f"--set: {error}") from error


def check_possible(options: FitOptions, points: Any) -> None:
    """What the options ask for must be possible with these rows."""
    n_clusters = number_of_clusters(options.clusters) or 2
    if n_clusters > points.shape[0]:
        raise FileError(f"{counted(points.shape[0], 'row')} cannot make {n_clusters:,} clusters. Ask for fewer: -k.")
    if options.metric == "cosine":
        check_directions(points)


def true_labels(table: Table, name: str | None) -> Array | None:
    """The column of known classes as numbers, -1 where a row has none."""
    if name is None:
        return None
    if table.columns is None:
        raise FileError("--truth names a column, which only files with named columns have.")
    check_known([name], table.columns.column_names)
    values = np.asarray(["" if value is None else str(value) for value in table.columns.column(name).to_pylist()])
    if not (values != "").any():
        raise FileError(f"Column {name!r} of --truth has no values.")
    return np.where(values == "", -1, np.unique(values, return_inverse=True)[1])


def column_names(file: Path | None) -> list[str] | None:
    """Names of a matrix's columns, one a line."""
    return None if file is None else existing_file(file).read_text(encoding="utf-8").splitlines()


def preparation_lines(run: FitRun) -> list[str]:
    """What was read and how it was prepared, for the terminal and the report."""
    table, recipe = run.table, run.recipe
    lines = [f"Read {counted(table.n_rows, 'row')}; using {counted(len(recipe.features), 'column')}."]
    if table.note:
        lines.append(f"{table.note}.")
    lines += table.understood[:LISTED]
    lines += [f"Left out column {name!r}: {reason}." for name, reason in recipe.dropped[:LISTED]]
    if len(recipe.dropped) > LISTED:
        lines.append(f"Left out {counted(len(recipe.dropped) - LISTED, 'more column')}; summary.json names them all.")
    if any(reason != AS_ASKED and is_number(table.columns.column(name).type) for name, reason in recipe.dropped):
        lines.append("To use such columns of numbers all the same, name all that you want with --columns.")
    lines += gap_lines(run)
    lines.append(scaling_line(recipe))
    if recipe.categories:
        names = listed([repr(name) for name, _ in recipe.categories])
        lines.append(f"Categories count as much as a column of numbers each: {names}.")
    if run.graph is not None:
        lines.append("Using the neighbour graph of the file (--no-graph builds a new one).")
    return lines


def scaling_line(recipe: Recipe) -> str:
    """Whether columns are scaled and why, in one line."""
    if recipe.scaling == "none" and recipe.image_shape is not None:
        return "Pixels are used as they are."
    if recipe.scaling == "unit":
        return "Rows are scaled to length 1."
    if recipe.scaling == "none":
        why = recipe.reasons[0].rstrip(".") if recipe.reasons else "Columns are used in their own units"
        return f"{why} (--scale standard makes them equally important)."
    if not recipe.reasons:
        return f"Columns are scaled ({recipe.scaling}), so that no unit outweighs another."
    logs = int(np.count_nonzero(recipe.floor or 0))
    how = f"scaled, {counted(logs, 'skewed column')} in logarithms" if logs else "scaled"
    return f"{recipe.reasons[0]} They are {how} (--scale none leaves them alone)."


def gap_lines(run: FitRun) -> list[str]:
    """What became of rows with missing values."""
    gaps, rest = int((run.gaps > 0).sum()), run.rows_left_out
    if gaps == 0:
        return []
    if rest.size == 0:
        value = "zero" if run.recipe.impute == "zero" else f"the {run.recipe.impute} of their column"
        return [f"Filled missing values in {counted(gaps, 'row')} with {value}."]
    empty = run.gaps[rest] == len(run.recipe.features)
    lines = []
    if not empty.all():
        whose = "its cluster" if (~empty).sum() == 1 else "their clusters"
        lines.append(
            f"Left {numbered_rows(rest[~empty])} with missing values out of the fit; the other columns decide {whose} "
            "(--missing impute fills the gaps instead)."
        )
    if empty.any():
        lines.append(f"Left {numbered_rows(rest[empty])} without any value out of the fit, in no cluster (-1).")
    return lines


def numbered_rows(rows: Array) -> str:
    """How many rows, and their numbers from 1."""
    return f"{counted(rows.size, 'row')} ({listed((rows + 1).tolist())})"
