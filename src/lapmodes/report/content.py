"""What the report shows: a fitted model, its rows in their own units, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from .._records import Array
from .._rows import as_dense
from .markup import counted, number

if TYPE_CHECKING:
    from .. import Layers, Selection


NO_VALUE = "no value"
"""What stands in place of a value that is missing."""


@dataclass(frozen=True)
class ReportContent:
    """Everything that the page shows."""

    title: str
    model: Any
    points: Any
    """The rows as the model sees them."""
    rows: Any
    """The rows in their own units."""
    modes: Array
    """The modes in the units of `rows`."""
    features: tuple[str, ...]
    named: bool = True
    """Whether the features have names that mean something."""
    image_shape: tuple[int, ...] | None = None
    row_names: tuple[str, ...] | None = None
    names: tuple[str, ...] = ()
    """What a person called the clusters, empty where one has no name; () where none has."""
    describe: Any = None
    """A function from a row's number to (name, value) pairs of the file, other columns included."""
    preparation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    """Parameters that a person set; the others kept their defaults."""
    selection: Selection | None = None
    """How the number of clusters was chosen, where it was left to the data."""
    layers: Layers | None = None
    """The levels that the model is one of."""
    agreement: dict[str, float] = field(default_factory=dict)
    described_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns that were not used, a text for each row: known classes, and what was left out of the fit."""
    commands: tuple[tuple[str, str], ...] = ()
    """(what for, command) to go on from here."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.model.n_clusters_)

    @property
    def on_the_map(self) -> tuple[Any, Array]:
        """Rows and modes to draw: in their own units if there are at most two columns, else as the model sees them."""
        if self.points.shape[1] <= 2 and self.model.metric != "cosine":
            return self.rows, np.asarray(self.modes, dtype=np.float64)
        return self.points, np.asarray(self.model.cluster_centers_, dtype=np.float64)


def report_content(
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    described_by: Mapping[str, Sequence[Any]] | None = None,
    layers: Layers | None = None,
) -> ReportContent:
    """What there is to show of an estimator and the rows that it was fitted on."""
    check_is_fitted(model)
    if layers is not None and not any(each is model for each in layers.models):
        raise ValueError("'model' must be one of the levels, such as layers[8], where 'layers' are given.")
    names = feature_names if feature_names is not None else getattr(X, "columns", None)
    rows = X if hasattr(X, "tocsr") else np.asarray(X)
    if rows.shape[0] != model.labels_.shape[0]:
        raise ValueError(f"'X' must be the {model.labels_.shape[0]} rows of the fit. Got {rows.shape[0]} instead.")
    features = tuple(map(str, names)) if names is not None else tuple(f"column_{i}" for i in range(rows.shape[1]))
    defaults = type(model)().get_params()
    given = tuple(name for name, value in model.get_params().items() if not _same(value, defaults[name]))
    return ReportContent(
        title=title or f"{counted(model.n_clusters_, 'cluster')} of {counted(rows.shape[0], 'row')}",
        model=model,
        points=points_of(model, rows),
        rows=rows,
        modes=np.asarray(model.cluster_centers_),
        features=features,
        named=names is not None,
        image_shape=image_shape,
        given=given,
        names=cluster_names(model),
        layers=layers,
        described_by=texts(described_by, rows.shape[0]),
    )


def cluster_names(model: Any) -> tuple[str, ...]:
    """What a person called the clusters of a model; () if nothing."""
    return tuple(getattr(model, "cluster_names_", None) or ())


def texts(columns: Any, n: int) -> dict[str, tuple[str, ...]]:
    """Columns of any values, a mapping or a data frame, as text."""
    found = {} if columns is None else {str(name): tuple(map(text_of, values)) for name, values in columns.items()}
    for name, values in found.items():
        if len(values) != n:
            raise ValueError(
                f"'described_by' must have a value for each of the {n} rows. Got {len(values)} in {name!r}."
            )
    return found


def text_of(value: Any) -> str:
    """A value as a reader sees it."""
    missing = value is None or (isinstance(value, (float, np.floating)) and np.isnan(value))
    return NO_VALUE if missing else str(value)


def points_of(model: Any, rows: Any) -> Any:
    """The rows as the model sees them: of unit length where directions are compared."""
    return normalize(rows) if model.metric == "cosine" else rows


def selection_reason(selection: Selection) -> str:
    """Why a number of clusters was chosen, what each criterion would take by itself, and what other views show."""
    says = ", ".join(f"{name} says {k}" for name, k in selection.preferred.items())
    stable = selection.table[selection.table["n_clusters"] == selection.best][0]
    back = f"{100 * stable['stability']:.0f} % (± {100 * stable['spread']:.0f})"
    if selection.verdict == "none":
        one = "there are no clear clusters" + ", for the rows look like one Gaussian" * (
            "mixture" in selection.preferred
        )
        return (
            f"{one}; of {selection.best} clusters {back} come back from halves of the rows, and no gaps part them, as "
            f"in one heap ({says}). For groups all the same, look at {selection.also}"
        )
    why = f"they come back best from halves of the rows, {back} of each on average"
    if selection.n_clusters != selection.preferred["stability"]:
        why = "the rows look like so many Gaussians, which may overlap, and these come back from halves of the rows"
    if selection.verdict == "disputed":
        why += f", but the criteria disagree ({says}); also look at {selection.also}"
    else:
        why += f" ({says})"
    views = [("coarser", selection.coarser), ("finer", selection.finer)]
    return why + "".join(f". A {name} view, {k}, {selection.change(k)}" for name, k in views if k is not None)


def selection_rows(selection: Selection) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The names of what was compared and a row for each number of clusters; the stability, which decides, is last."""
    criteria = [name for name in selection.preferred if name != "stability"]
    names = ("smallest", *criteria, "spread", "stability")
    rows = tuple((int(row["n_clusters"]), *(row[name].item() for name in names)) for row in selection.table)
    return ("clusters", *names), rows


def row_name(content: ReportContent, row: int) -> str:
    """How a row is called: its name if it has one, else its number from 1."""
    return content.row_names[row] if content.row_names is not None else f"row {row + 1:,}"


def other_values(content: ReportContent, row: int) -> list[tuple[str, str]]:
    """Names and values of a row in the columns that were not used."""
    found = {name: values[row] for name, values in content.described_by.items()}
    if content.describe is not None:
        used = set(content.features)
        found = {name: number(value) for name, value in content.describe(row) if name not in used} | found
    return list(found.items())


def used_values(content: ReportContent, row: int, columns: Sequence[int] | None = None) -> list[tuple[str, str]]:
    """Names and values of a row in some of the columns; of a sparse row what is not zero, the largest first."""
    values = dense_row(content.rows, row)
    if columns is None:
        columns = range(values.size)
    if issparse(content.rows):
        columns = [i for i in np.argsort(-values, kind="stable") if values[i]]
    return [(content.features[i], number(float(values[i]))) for i in columns]


def dense_row(rows: Any, row: int) -> Array:
    """One row as numbers."""
    return np.asarray(as_dense(rows[[row]])[0], dtype=np.float64)


def value_range(rows: Any) -> tuple[float, float]:
    """Lowest and highest value of all."""
    return (0.0, float(rows.max())) if issparse(rows) else (float(rows.min()), float(rows.max()))


def _same(one: Any, other: Any) -> bool:
    return one is other or (np.ndim(one) == 0 and np.ndim(other) == 0 and bool(one == other))
