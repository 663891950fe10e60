"""Missing values: where they are, what becomes of rows that have some, and what goes into the gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array
from .base import FileError, counted
from .screening import drop_option

MISSING = ("auto", "drop", "impute", "error")
IMPUTATIONS = ("mean", "median", "zero")
DONORS = 10
"""Similar rows whose mean goes into the gaps of a row that was not in the fit."""
MOST_DONORS = 10_000
"""Rows of the fit that are looked at for it."""


def gap_rule(missing: str | None, impute: str | None) -> str:
    """What becomes of rows with gaps; `impute` says that they are filled."""
    missing = missing or ("error" if impute is None else "impute")
    if missing not in MISSING:
        raise FileError(f"--missing must be one of {', '.join(MISSING)}. Got {missing!r} instead.")
    if impute is not None and missing not in ("auto", "impute"):
        raise FileError(f"--impute {impute} fills gaps and --missing {missing} does not. Leave one of them out.")
    return missing if impute is None else "impute"


def too_many_gaps(X: Any, features: Sequence[str], complete: Array, *, by_name: bool) -> str:
    """What to do about many rows with gaps; columns can be left out where they are known by name."""
    n, gaps = complete.size, int((~complete).sum())
    share = np.zeros(X.shape[1]) if issparse(X) else np.isnan(X).mean(axis=0)
    worst = [i for i in np.argsort(-share, kind="stable")[:3].tolist() if share[i] > 0]
    where = ", ".join(f"{features[i]!r} {100 * share[i]:.0f} %" for i in worst)
    ways = ["leave these rows out of the fit with --missing drop"] if complete.sum() >= 2 else []
    ways += ["fill the gaps with --missing impute"]
    ways += [f"leave columns out with {drop_option([features[i] for i in worst])}"] if worst and by_name else []
    return (
        f"Missing values in {gaps:,} of {counted(n, 'row')} ({100 * gaps / n:.0f} %{f'; {where}' if where else ''}). "
        f"Either {', or '.join(ways)}."
    )


def count_gaps(X: Any) -> Array:
    """Missing values in each row."""
    if not issparse(X):
        return np.asarray(np.isnan(X).sum(axis=1))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows[np.isnan(X.data)], minlength=X.shape[0])


def check_infinite(X: Any, features: Sequence[str], first_row: int = 0, remedy: str = "Repair them") -> None:
    """Name the rows and columns with an infinite value."""
    if np.isinf(X.data if issparse(X) else X).any():
        raise FileError(f"Infinite values in {_places(X, np.isinf, features, first_row)}. {remedy}.")


def check_complete(X: Any, features: Sequence[str], first_row: int, remedy: str) -> None:
    """Name the rows and columns without a value."""
    if np.isnan(X.data if issparse(X) else X).any():
        raise FileError(f"Missing values in {_places(X, np.isnan, features, first_row)}. {remedy}.")


def _places(X: Any, odd: Any, features: Sequence[str], first_row: int) -> str:
    """Where a matrix has odd values: the number of rows, and the first few places."""
    if issparse(X):
        entries = X.tocoo()
        at = odd(entries.data)
        rows, columns = entries.row[at], entries.col[at]
    else:
        rows, columns = np.nonzero(odd(X))
    places = [
        f"row {row + 1 + first_row} ({features[column]})"
        for row, column in zip(rows[:6].tolist(), columns[:6].tolist(), strict=True)
    ]
    more = f" and {rows.size - 5:,} more" if rows.size > 5 else ""
    return f"{counted(np.unique(rows).size, 'row')}: {', '.join(places[:5])}{more}"


def fill_values(X: Any, impute: str, features: Sequence[str]) -> Array:
    """What goes into the gaps of each column."""
    if impute not in IMPUTATIONS:
        raise FileError(f"--impute must be one of {', '.join(IMPUTATIONS)}. Got {impute!r} instead.")
    if impute == "zero" or issparse(X):
        return np.zeros(X.shape[1])
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise FileError(f"Column {features[int(empty.argmax())]!r} has no value to fill gaps from. Leave it out.")
    return np.asarray(np.nanmean(X, axis=0) if impute == "mean" else np.nanmedian(X, axis=0), dtype=np.float64)


def filled(X: Any, fill: Array) -> Any:
    """The gaps filled."""
    if issparse(X):
        X = X.copy()
        X.data[np.isnan(X.data)] = 0
        return X
    return np.where(np.isnan(X), fill.astype(X.dtype), X)


def filled_by_neighbors(points: Array, others: Array) -> Array:
    """The gaps of each row filled with the mean of the most similar of other rows, by the features that are there."""
    from sklearn.impute import KNNImputer

    points, gaps = points.copy(), np.isnan(points).any(axis=1)
    if gaps.any():
        donors = others[:: max(1, len(others) // MOST_DONORS)]
        points[gaps] = KNNImputer(n_neighbors=DONORS).fit(donors).transform(points[gaps])
    return points
