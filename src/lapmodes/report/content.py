"""What the report shows: a fitted model, its rows in their own units, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from .._records import Array

if TYPE_CHECKING:
    from .. import Selection


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
    describe: Any = None
    """A function from a row's number to (name, value) pairs of the file, other columns included."""
    preparation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    """Parameters that a person set; the others kept their defaults."""
    selection: Selection | None = None
    """How the number of clusters was chosen, where it was left to the data."""
    agreement: dict[str, float] = field(default_factory=dict)
    described_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: tuple[tuple[str, str], ...] = ()
    """(what for, command) to go on from here."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.model.n_clusters)

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
) -> ReportContent:
    """What there is to show of an estimator and the rows that it was fitted on."""
    check_is_fitted(model)
    names = feature_names if feature_names is not None else getattr(X, "columns", None)
    rows = X if hasattr(X, "tocsr") else np.asarray(X)
    if rows.shape[0] != model.labels_.shape[0]:
        raise ValueError(f"'X' must be the {model.labels_.shape[0]} rows of the fit. Got {rows.shape[0]} instead.")
    features = tuple(map(str, names)) if names is not None else tuple(f"column_{i}" for i in range(rows.shape[1]))
    defaults = type(model)().get_params()
    given = tuple(name for name, value in model.get_params().items() if not _same(value, defaults[name]))
    return ReportContent(
        title=title or f"{model.n_clusters} clusters of {rows.shape[0]:,} rows",
        model=model,
        points=points_of(model, rows),
        rows=rows,
        modes=np.asarray(model.cluster_centers_),
        features=features,
        named=names is not None,
        image_shape=image_shape,
        given=given,
    )


def points_of(model: Any, rows: Any) -> Any:
    """The rows as the model sees them: of unit length where directions are compared."""
    return normalize(rows) if model.metric == "cosine" else rows


def selection_reason(selection: Selection) -> str:
    """Why a number of clusters was chosen, and what each criterion would take by itself."""
    says = ", ".join(f"{name} says {k}" for name, k in selection.preferred.items())
    return f"it is the largest number on which unlike ways of clustering agree best ({says})"


def selection_rows(selection: Selection) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The names of what was compared and a row for each number of clusters; the agreement, which decides, is last."""
    criteria = [name for name in reversed(list(selection.preferred)) if name != "agreement"]
    names = ("smallest", *criteria, "agreement")
    rows = tuple((int(row["n_clusters"]), *(row[name].item() for name in names)) for row in selection.table)
    return ("clusters", *names), rows


def _same(one: Any, other: Any) -> bool:
    return one is other or (np.ndim(one) == 0 and np.ndim(other) == 0 and bool(one == other))
