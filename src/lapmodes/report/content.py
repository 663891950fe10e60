"""What the report tells: a fitted model, its rows in their own units, and how it came about."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._records import Array


@dataclass(frozen=True)
class Selection:
    """A number of clusters, what was compared, and by what rule."""

    n_clusters: int
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    why: str


@dataclass(frozen=True)
class Story:
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
    agreement: dict[str, float] = field(default_factory=dict)
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


def story_of(
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Story:
    """The story of an estimator and the rows that it was fitted on."""
    check_is_fitted(model)
    names = feature_names if feature_names is not None else getattr(X, "columns", None)
    rows = X if hasattr(X, "tocsr") else np.asarray(X)
    if rows.shape[0] != model.labels_.shape[0]:
        raise ValueError(f"'X' must be the {model.labels_.shape[0]} rows of the fit. Got {rows.shape[0]} instead.")
    features = tuple(map(str, names)) if names is not None else tuple(f"column_{i}" for i in range(rows.shape[1]))
    defaults = type(model)().get_params()
    given = tuple(name for name, value in model.get_params().items() if not _same(value, defaults[name]))
    return Story(
        title=title or f"{model.n_clusters} clusters of {rows.shape[0]:,} rows",
        model=model,
        points=rows,
        rows=rows,
        modes=np.asarray(model.cluster_centers_),
        features=features,
        named=names is not None,
        image_shape=image_shape,
        given=given,
    )


def write_report(
    file: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> None:
    """Write the report of a fitted model: one HTML file, without network, that anybody can read.

    Parameters
    ----------
    file : path
        Where to write; whole or not at all.
    model : LaplacianKModes or one of its special cases, fitted
        The model.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        The rows it was fitted on.
    title : str, optional
        Heading of the page.
    feature_names : sequence of str, optional
        Names of the columns; those of a data frame by default.
    image_shape : tuple, optional
        (height, width) or (height, width, 3) where each row is a picture.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.datasets import make_moons_with_outliers
    >>> from lapmodes.report import write_report
    >>> X, y = make_moons_with_outliers(100, n_outliers=0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     write_report(page, LaplacianKModes(2, random_state=0).fit(X), X, feature_names=["across", "up"])
    ...     page.stat().st_size > 100_000
    True
    """
    from .page import write_page

    story = story_of(model, X, title=title, feature_names=feature_names, image_shape=image_shape)
    write_page(Path(file), story)


def _same(one: Any, other: Any) -> bool:
    return one is other or (np.ndim(one) == 0 and np.ndim(other) == 0 and bool(one == other))
