"""How rows of a file become points, learnt once by `fit` and repeated by `predict`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._records import Array
from ..scaling import find_scaling, in_units, scaled
from .base import FileError, Reading, Spelling, Table, counted, listed
from .columns import Categories, check_known, choose, find_categories, to_matrix
from .gaps import check_complete, check_infinite, count_gaps, fill_values, filled, gap_rule, too_many_gaps

SCALINGS = ("auto", "none", "standard", "robust", "minmax", "unit")
FEW_ROWS = 0.2
"""missing='auto' leaves rows with gaps out if they are at most this share of all."""
MEDIAN_ROWS = 10_000
"""About so many rows are enough for the median of a column that had no gaps."""
HEADROOM = 1e4
"""Squares of numbers, times this, must not overflow."""


@dataclass(frozen=True)
class Recipe:
    """Columns, filling of gaps and scaling; every list has one entry a feature, or is None."""

    columns: tuple[str, ...] | None
    """Columns of the file; None where it is a matrix."""
    features: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    scaling: str
    center: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    impute: str | None = None
    """How gaps were filled; None where rows with gaps were left out of the fit, or refused."""
    fill: tuple[float, ...] | None = None
    """What goes into the gaps of each column; None where a gap is an error."""
    image_shape: tuple[int, ...] | None = None
    sparse: bool = False
    named: bool = True
    """Whether the features have names of their own."""
    spellings: tuple[tuple[str, str, str], ...] = ()
    """Columns whose numbers stand in text: name, decimal sign and unit."""
    doubts: tuple[str, ...] = ()
    """Sentences about columns that are used and may be no features."""
    floor: tuple[float, ...] | None = None
    """Smallest values of the columns that are taken in logarithms before they are scaled, and 0 for the others."""
    reasons: tuple[str, ...] = ()
    """Sentences about how columns are scaled, and why."""
    categories: Categories = ()
    """Columns of categories, the last ones, and their values: there is a feature for each value."""

    def reading(self, reading: Reading) -> Reading:
        """How to read another file, so that its numbers are understood as those of the fit were."""
        return replace(reading, spellings={name: Spelling(sign, unit) for name, sign, unit in self.spellings})

    def apply(self, table: Table, first_row: int = 0) -> Any:
        """The rows as points: the same columns, gaps filled and scaled as in the fit."""
        X = self.values(table, first_row)
        X = X if self.fill is None else filled(X, np.asarray(self.fill))
        if self.scaling == "unit":
            check_directions(X, first_row)
        return self.scaled(X)

    def values(self, table: Table, first_row: int = 0) -> Any:
        """The features in the units of the file, NaN where one is missing and may be."""
        X = self._matrix(table)
        check_infinite(X, self.features, first_row)
        if self.fill is None:
            check_complete(X, self.features, first_row, "Repair them, or fit again with --missing drop")
        return X

    def count_gaps(self, table: Table) -> Array:
        """How many of the features are missing in each row."""
        return count_gaps(self._matrix(table))

    def scaled(self, X: Any) -> Any:
        """Rows in the units of the file to rows in those of the model."""
        if self.scaling == "unit":
            from sklearn.preprocessing import normalize

            return normalize(X)
        if self.scale is None:
            return X
        if issparse(X):
            return csr_array(X.multiply((1 / np.asarray(self.scale, dtype=X.dtype))[None, :]))
        return scaled(X, self.center or 0.0, self.scale, self.floor or 0.0)

    def in_units(self, C: Array) -> Array:
        """Modes in the units of the file; rows of unit length stay as they are."""
        C = np.asarray(C, dtype=np.float64)
        return C if self.scale is None else in_units(C, self.center or 0.0, self.scale, self.floor or 0.0)

    def _matrix(self, table: Table) -> Any:
        if self.columns is None:
            X = _as_floats(table)
            if X.shape[1] != len(self.features):
                raise FileError(f"The model knows {counted(len(self.features), 'column')}. Got {X.shape[1]} instead.")
            return X
        if table.columns is None:
            raise FileError(f"The model knows columns by name ({listed(self.columns)}); this file has no names.")
        check_known(self.columns, table.columns.column_names)
        X, names = to_matrix(table.columns, self.columns, self.categories)
        if names != self.features:
            raise FileError(
                f"The model knows {counted(len(self.features), 'feature')}; these columns make {len(names)}."
            )
        return X

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read what :meth:`to_json` wrote; ValueError if that is not what it is."""
        return cls(**{name: _as_tuples(value) for name, value in json.loads(text).items()})


def _as_tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def learn(
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    scale: str = "auto",
    impute: str | None = None,
    missing: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    names: Sequence[str] | None = None,
    categories: Sequence[str] = (),
) -> tuple[Recipe, Any, Any]:
    """The recipe, the rows in the units of the file, and the points made of them.

    `missing` says what becomes of rows with gaps: they are an 'error' (the default), are left out ('drop'), or are
    filled ('impute', by the rule `impute`); 'auto' leaves them out if they are few. The rows that are left out are
    those of which `recipe.count_gaps(table)` is not 0. Columns of `categories`, ["all"] of those of text, become a
    feature for each value, and count as much as a column of numbers.
    """
    recipe, X = _start(table, columns, drop, names, categories)
    shape = image_shape or table.image_shape
    if shape is not None and int(np.prod(shape)) != len(recipe.features):
        raise FileError(
            f"Pictures of {' x '.join(map(str, shape))} have {counted(int(np.prod(shape)), 'pixel')}; "
            f"the rows have {counted(len(recipe.features), 'column')}."
        )
    drop_too = ", or leave these columns out with --drop" if recipe.columns is not None else ""
    check_infinite(X, recipe.features, remedy=f"Repair them{drop_too}")
    recipe, X = _without_gaps(replace(recipe, image_shape=shape), X, gap_rule(missing, impute), impute or "median")
    _check_size(X, recipe.features)
    _check_difference(X)
    recipe = learn_scaling(recipe, X, scale)
    if recipe.scaling == "unit":
        check_directions(X)
    return recipe, X, recipe.scaled(X)


def _without_gaps(recipe: Recipe, X: Any, rule: str, impute: str) -> tuple[Recipe, Any]:
    """The rows without gaps, or with gaps filled, and the recipe that says so."""
    if rule == "impute":
        fill = fill_values(X, impute, recipe.features)
        return replace(recipe, impute=impute, fill=tuple(fill.tolist())), filled(X, fill)
    complete = count_gaps(X) == 0
    if rule == "error":
        remedy = "Repair them, leave these rows out with --missing drop, or fill the gaps with --missing impute"
        check_complete(X, recipe.features, 0, remedy)
        return recipe, X
    if complete.sum() < 2 or (rule == "auto" and complete.mean() < 1 - FEW_ROWS):
        raise FileError(too_many_gaps(X, recipe.features, complete, by_name=recipe.columns is not None))
    X = X if complete.all() else X[complete]
    some = X[:: max(1, X.shape[0] // MEDIAN_ROWS)]
    return replace(recipe, fill=tuple(fill_values(some, "median", recipe.features).tolist())), X


def _start(
    table: Table,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    names: Sequence[str] | None,
    categories: Sequence[str],
) -> tuple[Recipe, Any]:
    """The matrix and what is known of its columns."""
    if table.n_rows < 2:
        raise FileError(f"The file has {counted(table.n_rows, 'row')} of data. At least 2 are needed.")
    if table.columns is not None:
        kinds = find_categories(table.columns, categories, drop)
        words = tuple(name for name, _ in kinds)
        choice = choose(table.columns, columns, drop, words)
        chosen = (*choice.names, *words)
        X, features = to_matrix(table.columns, chosen, kinds)
        spellings = tuple((name, *astuple(table.spellings[name])) for name in chosen if name in table.spellings)
        recipe = Recipe(chosen, features, choice.dropped, "none", spellings=spellings, doubts=choice.doubts)
        return replace(recipe, categories=kinds), X
    if columns or drop or categories:
        raise FileError("Columns can be chosen by name only in files with named columns. Leave the choice out.")
    X = _as_floats(table)
    given = tuple(names) if names is not None else table.names
    if given is not None and len(given) != X.shape[1]:
        raise FileError(f"Got {counted(len(given), 'name')} for {counted(X.shape[1], 'column')}.")
    features = given or tuple(f"column_{i}" for i in range(X.shape[1]))
    return Recipe(None, features, (), "none", sparse=issparse(X), named=given is not None), X


def _as_floats(table: Table) -> Any:
    """A matrix of floats, CSR or contiguous; named columns are taken as they stand."""
    matrix = table.matrix
    if matrix is None:
        return to_matrix(table.columns, table.columns.column_names)[0]
    if issparse(matrix):
        return csr_array(matrix) if matrix.dtype in (np.float32, np.float64) else csr_array(matrix).astype(np.float64)
    narrow = matrix.dtype in (np.float32, np.float16) or (matrix.dtype.kind in "iub" and matrix.dtype.itemsize <= 2)
    return np.ascontiguousarray(matrix, dtype=np.float32 if narrow else np.float64)


def learn_scaling(recipe: Recipe, X: Any, scale: str) -> Recipe:
    """Centre and scale of each column by the named rule; a column without spread is left alone."""
    if scale not in SCALINGS:
        raise FileError(f"--scale must be one of {', '.join(SCALINGS)}. Got {scale!r} instead.")
    if recipe.categories:
        return _weigh_categories(recipe, X, scale)
    if scale == "auto":
        return _scaled_by_units(recipe, X)
    if scale in ("none", "unit"):
        return replace(recipe, scaling=scale)
    center, spread = _location(X, scale)
    spread = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    middle = None if issparse(X) else tuple(center.tolist())
    return replace(recipe, scaling=scale, center=middle, scale=tuple(spread.tolist()))


def _weigh_categories(recipe: Recipe, X: Array, scale: str) -> Recipe:
    """Numbers scaled by the rule; a column of k categories, were they equally frequent, spreads like a mean number.

    Two rows of different categories are then apart by the root of 2k / (k - 1), twice the spread for yes and no.
    """
    if scale == "unit":
        raise FileError("--categories do not go with --scale unit, which compares directions. Leave one of them out.")
    counts = [len(values) for _, values in recipe.categories]
    m = len(recipe.features) - sum(counts)
    numbers = replace(recipe, features=recipe.features[:m], categories=())
    numbers = learn_scaling(numbers, X[:, :m], scale) if m else numbers
    spread = float(np.sqrt(numbers.scaled(X[:, :m]).var(axis=0, dtype=np.float64).mean())) if m else 1.0
    weights = [np.sqrt((k - 1) / k) / (spread or 1.0) for k in counts for _ in range(k)]
    zeros = (0.0,) * sum(counts)
    return replace(
        recipe,
        scaling=numbers.scaling,
        center=(numbers.center or (0.0,) * m) + zeros,
        scale=(numbers.scale or (1.0,) * m) + tuple(weights),
        floor=None if numbers.floor is None else numbers.floor + zeros,
        reasons=numbers.reasons,
    )


def _scaled_by_units(recipe: Recipe, X: Any) -> Recipe:
    """Columns in different units are scaled, each in its own way; pictures have a common one."""
    if recipe.image_shape is not None:
        return recipe
    found = find_scaling(X, recipe.features)
    if found.shared_unit:
        return replace(recipe, reasons=found.reasons)
    floor = tuple(found.floor.tolist()) if found.floor.any() else None
    center, spread = tuple(found.center.tolist()), tuple(found.scale.tolist())
    return replace(recipe, scaling="standard", center=center, scale=spread, floor=floor, reasons=found.reasons)


def _location(X: Any, scale: str) -> tuple[Array, Array]:
    if issparse(X):
        variance = mean_variance_axis(X, axis=0)[1].astype(np.float64)
        return np.zeros_like(variance), np.sqrt(variance)
    X = X.astype(np.float64, copy=False)
    if scale == "standard":
        return X.mean(axis=0), X.std(axis=0)
    if scale == "minmax":
        return X.min(axis=0), np.ptp(X, axis=0)
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    return middle, high - low


def check_directions(X: Any, first_row: int = 0) -> None:
    """Name the first row without any direction."""
    empty = np.asarray(abs(X).sum(axis=1)).ravel() == 0
    if empty.any():
        raise FileError(
            f"{counted(int(empty.sum()), 'row')} of zeros, the first being row {first_row + int(empty.argmax()) + 1}: "
            "zeros point nowhere, and directions are compared. Leave such rows out, or compare lengths too "
            "(--metric euclidean, --scale none)."
        )


def _check_difference(X: Any) -> None:
    low, high = X.min(axis=0), X.max(axis=0)
    if not (high != low).sum():
        raise FileError("All rows are the same, so there is nothing to tell apart.")


def _check_size(X: Any, features: Sequence[str]) -> None:
    sizes = np.abs(X.data if issparse(X) else X)
    largest = float(sizes.max(initial=0))
    if largest > float(np.finfo(X.dtype).max) ** 0.5 / HEADROOM:
        column = "" if issparse(X) else f" in column {features[int(sizes.max(axis=0).argmax())]!r}"
        raise FileError(f"Values up to {largest:.1e}{column} are too large to be squared. Rescale them.")
