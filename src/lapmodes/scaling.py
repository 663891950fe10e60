"""Whether the columns of a table share a unit, and how they are scaled where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from ._records import Array
from ._validation import parameter_error

UNEVEN = 10.0
"""Columns share a unit if, by one measure of spread at least, none spreads farther than another by this factor."""
NARROW = 0.1
"""The narrowest columns, up to this share, may be narrower than that: of many, some are narrow by chance."""
SKEWED = 1.0
"""Positive columns of a larger skewness are taken in logarithms, if these have at most half of it."""
SAMPLE_ROWS, SAMPLE_ENTRIES = 2000, 4_000_000
"""So many rows, and more up to so many entries, are enough for quartiles, skewness and correlations."""
BLOCK_ROWS = 65_536
SAME_BOUNDS = 3
"""So many columns at least have the same smallest and largest value where values lie between common bounds."""
AXIS_COLUMNS = 8
"""Fewer columns than this are not taken for points of an axis, such as wavelengths or times."""
AXIS_CORRELATION, AXIS_STEP = 0.8, 2.0
"""The median correlation of neighbours on an axis at least, and by which factor their spreads differ at most."""
COMPARED_COLUMNS = 512
"""Columns that are searched for repetitions, and for being orthogonal."""
ORTHOGONAL, EQUAL = 1e-4, 1e-10
"""Cosines below this, and one less correlations below that, come from a computation."""
FIXED = 0.01
"""Sums of a row that vary by less than this, compared with sums of unrelated columns, are fixed."""
NAMED = 5
"""Columns that a sentence names."""


@dataclass(frozen=True)
class Scaling:
    """What is done to each column, and why."""

    shared_unit: bool
    center: Array
    scale: Array
    floor: Array
    """The smallest value of a column that is taken in logarithms, and 0 for the others."""
    reasons: tuple[str, ...]
    """Sentences: first whether the columns share a unit, then one for each way to scale a column."""


@dataclass(frozen=True)
class _Columns:
    """What the rule looks at; NaN are left out."""

    names: tuple[str, ...]
    low: Array
    high: Array
    mean: Array
    std: Array
    middle_half: Array
    varies: Array
    two_values: Array
    some: Array
    """Some of the rows."""

    @classmethod
    def of(cls, X: Array, names: Sequence[str]) -> _Columns:
        """Look at all rows, or where that takes long at some of them."""
        rows = max(SAMPLE_ROWS, SAMPLE_ENTRIES // max(X.shape[1], 1))
        some = np.asarray(X[:: max(1, len(X) // rows)], dtype=np.float64)
        known = np.isfinite(X)
        count = np.maximum(known.sum(axis=0), 1)
        low, high = X.min(axis=0, initial=np.inf, where=known), X.max(axis=0, initial=-np.inf, where=known)
        varies = high > low
        mean = X.sum(axis=0, dtype=np.float64, where=known) / count
        blocks = (slice(i, i + BLOCK_ROWS) for i in range(0, len(X), BLOCK_ROWS))
        squares = sum(np.square(X[block] - mean).sum(axis=0, where=known[block]) for block in blocks)
        std = np.sqrt(squares / count)
        two = varies & (((low == X) | (high == X) | ~known).all(axis=0))
        quartiles = np.zeros((2, X.shape[1]))
        quartiles[:, varies] = np.nanquantile(some[:, varies], [0.25, 0.75], axis=0)
        low, high = np.where(varies, low, mean).astype(np.float64), np.where(varies, high, mean).astype(np.float64)
        return cls(tuple(names), low, high, mean, std, quartiles[1] - quartiles[0], varies & (std > 0), two, some)

    def listed(self, which: Array) -> str:
        """The names of some columns, the first few if they are many."""
        names = [repr(self.names[i]) for i in np.flatnonzero(which)]
        shown = ", ".join(names[:NAMED])
        return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


class Scaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns if they are in different units, and leave them alone if they share one.

    Distances between rows mean something if all columns have the same unit. If they have not, every column is brought
    to a standard deviation of 1. No labels are needed: columns share a unit if, by the standard deviation, the middle
    half of the values or the range, none spreads ten times as far as another; the narrowest tenth of them does not
    count. They do so, too, if they have common bounds (pixels, ratings), are points of an axis (spectra, series),
    shares, directions or principal components.

    Of columns in different units, those that are positive and skewed are taken in logarithms first, a column with
    two values is divided by half their distance, so that a rare one does not outweigh all others, and columns that
    repeat each other count as one together. A column with one value is left alone.

    Parameters
    ----------
    shared_unit : "auto" or bool, default="auto"
        Whether the columns share a unit; "auto" looks at them.

    Attributes
    ----------
    shared_unit_ : bool
        Whether they do. If so, nothing is changed.
    center_, scale_ : ndarray of shape (n_features,)
        What is subtracted from each column, and what it is divided by then.
    log_ : ndarray of bool of shape (n_features,)
        The columns of which logarithms are taken first.
    reasons_ : list of str
        What was done and why: a sentence about all columns, and one for each way to scale some of them.

    Notes
    -----
    Missing values (NaN) stay missing. Sparse columns keep their common unit. Values below the smallest one of the fit
    have a logarithm on the tangent there, so zeros in new rows do no harm. Columns that go round, such as hours or
    angles, cannot be told from others: replace them by their sine and cosine.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from lapmodes import LaplacianKModes, Scaler
    >>> Scaler().fit(load_iris().data).reasons_
    ['Columns share a unit: their spreads differ by a factor of 2.5 at most.']
    >>> wine = load_wine(as_frame=True).data
    >>> model = make_pipeline(Scaler(), LaplacianKModes(3, random_state=0)).fit(wine)
    >>> model[0].reasons_[0]
    "Columns are in different units: 'proline' spreads 1,140 times as far as 'hue'."
    """

    def __init__(self, shared_unit: str | bool = "auto") -> None:
        self.shared_unit = shared_unit

    def fit(self, X: Any, y: Any = None) -> Scaler:
        """Find out whether the columns share a unit, and how they are scaled if not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN are left out.
        y : ignored
            There for pipelines.
        """
        if not isinstance(self.shared_unit, bool) and self.shared_unit != "auto":
            raise parameter_error("Scaler", "shared_unit", "'auto', True or False", self.shared_unit)
        X = self._validate(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        found = find_scaling(X, self.get_feature_names_out() if names is None else names, self.shared_unit)
        self.shared_unit_, self.center_, self.scale_ = found.shared_unit, found.center, found.scale
        self.log_, self._floor, self.reasons_ = found.floor > 0, found.floor, list(found.reasons)
        return self

    def transform(self, X: Any) -> Any:
        """The rows in the units of the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows in their own units.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return X if self.shared_unit_ else scaled(X, self.center_, self.scale_, self._floor)

    def inverse_transform(self, X: Any) -> Any:
        """The rows in their own units.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows in the units of the model.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, named=False)
        return X if self.shared_unit_ else in_units(X, self.center_, self.scale_, self._floor)

    def _validate(self, X: Any, *, reset: bool, named: bool = True) -> Any:
        """Floats of which some may be missing; of modes or points of a model without looking at their names."""
        X = X if named else np.asarray(X) if not issparse(X) else X
        check = {"accept_sparse": ("csr", "csc"), "dtype": FLOAT_DTYPES, "ensure_all_finite": "allow-nan"}
        if named:
            return validate_data(self, X, reset=reset, copy=True, **check)
        from sklearn.utils import check_array

        X = check_array(X, copy=True, estimator=self, **check)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns. Got {X.shape[1]} instead.")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def find_scaling(X: Any, names: Sequence[str], shared_unit: str | bool = "auto") -> Scaling:
    """Whether the columns share a unit, if that is not given, and how they are scaled."""
    if issparse(X):
        if shared_unit is False:
            raise ValueError(
                "Sparse columns cannot be centred, so Scaler leaves them alone. Leave 'shared_unit' at 'auto', or use "
                "scikit-learn's MaxAbsScaler."
            )
        return _unchanged(X.shape[1], "Columns are sparse, which is taken for a unit that they share.")
    if shared_unit is True:
        return _unchanged(X.shape[1], "Columns share a unit, as was said.")
    columns = _Columns.of(X, names)
    if shared_unit is False:
        return _standardised(columns, "Columns are in different units, as was said.")
    shared, reason = _judge_units(columns, X)
    return _unchanged(X.shape[1], reason) if shared else _standardised(columns, reason)


def scaled(X: Array, center: Any, scale: Any, floor: Any) -> Array:
    """Rows in their own units to rows in those of the model; logarithms go on below `floor` as tangents."""
    floor = np.asarray(floor)
    if (floor > 0).any():
        X, at = X.copy(), np.flatnonzero(floor > 0)
        least = floor[at].astype(X.dtype)
        X[:, at] = np.log(np.maximum(X[:, at], least)) + np.minimum(X[:, at] / least - 1, 0)
    return np.ascontiguousarray((X - np.asarray(center, dtype=X.dtype)) * (1 / np.asarray(scale, dtype=X.dtype)))


def in_units(X: Array, center: Any, scale: Any, floor: Any) -> Array:
    """What :func:`scaled` did, undone."""
    floor = np.asarray(floor)
    X = X * np.asarray(scale, dtype=X.dtype) + np.asarray(center, dtype=X.dtype)
    if (floor > 0).any():
        at = np.flatnonzero(floor > 0)
        least = floor[at].astype(X.dtype)
        above = X[:, at] - np.log(least)
        X[:, at] = least * (np.exp(np.maximum(above, 0)) + np.minimum(above, 0))
    return X


def _unchanged(d: int, reason: str) -> Scaling:
    return Scaling(True, np.zeros(d), np.ones(d), np.zeros(d), (reason,))


def _judge_units(columns: _Columns, X: Array) -> tuple[bool, str]:
    """Whether the columns share a unit, and the sentence that says why."""
    if columns.varies.sum() < 2:
        return True, "Columns are left alone: fewer than two of them vary."
    measures = [spread[columns.varies] for spread in (columns.std, columns.middle_half, columns.high - columns.low)]
    lows = [np.quantile(spread, NARROW, method="lower") for spread in measures]
    ratios = [spread.max() / low if low > 0 else np.inf for spread, low in zip(measures, lows, strict=True)]
    best = int(np.argmin(ratios))
    if ratios[best] <= UNEVEN:
        return True, f"Columns share a unit: {_alike(ratios[best])}."
    bounds = _common_bounds(columns)
    if bounds is not None:
        return True, f"Columns share a unit: all values lie between {bounds[0]:,.6g} and {bounds[1]:,.6g}."
    if _on_axis(columns):
        return True, "Columns share a unit: neighbours are so alike that they are points of an axis."
    if _shares_or_directions(columns.some):
        return True, "Columns share a unit: rows have the same sum or length, as shares and directions have."
    if _orthogonal(X[:, columns.varies][:, :COMPARED_COLUMNS]):
        return True, "Columns share a unit: they are orthogonal, as principal components are."
    names = [columns.names[i] for i in np.flatnonzero(columns.varies)]
    widest, narrow = names[int(measures[best].argmax())], names[int(np.argmax(measures[best] == lows[best]))]
    return (
        False,
        f"Columns are in different units: {widest!r} spreads {_factor(ratios[best])} times as far as {narrow!r}.",
    )


def _common_bounds(columns: _Columns) -> tuple[float, float] | None:
    """The smallest and the largest value of half of the columns, between which all others lie; yes and no aside."""
    which = columns.varies & ~columns.two_values
    if which.sum() < SAME_BOUNDS:
        return None
    pairs, counts = np.unique(np.column_stack([columns.low, columns.high])[which], axis=0, return_counts=True)
    low, high = pairs[counts.argmax()]
    inside = (columns.low[columns.varies] >= low).all() and (columns.high[columns.varies] <= high).all()
    return (float(low), float(high)) if inside and counts.max() >= max(SAME_BOUNDS, which.sum() / 2) else None


def _on_axis(columns: _Columns) -> bool:
    """Whether each column is like the next one, in what it says and in how far it spreads."""
    if columns.varies.sum() < AXIS_COLUMNS:
        return False
    Z = (columns.some[:, columns.varies] - columns.mean[columns.varies]) / columns.std[columns.varies]
    steps = np.abs(np.diff(np.log(columns.std[columns.varies])))
    return bool(
        np.median(np.nanmean(Z[:, 1:] * Z[:, :-1], axis=0)) >= AXIS_CORRELATION
        and np.quantile(steps, 0.9) <= np.log(AXIS_STEP)
    )


def _shares_or_directions(X: Array) -> bool:
    """Whether all rows have one sum or one length, far closer than rows of unrelated columns would."""
    return any(np.var(each.sum(axis=1)) < FIXED**2 * np.var(each, axis=0).sum() for each in (X, np.square(X)))


def _orthogonal(X: Array) -> bool:
    """Whether the columns are orthogonal, far closer than columns of chance would be."""
    X = np.asarray(X, dtype=np.float64)
    lengths = np.sqrt(np.square(X).sum(axis=0))
    if not np.isfinite(lengths).all() or not lengths.all():
        return False
    cosines = (X.T @ X) / np.outer(lengths, lengths)
    np.fill_diagonal(cosines, 0)
    return bool(np.abs(cosines).max() < ORTHOGONAL)


def _standardised(columns: _Columns, reason: str) -> Scaling:
    """Every column with a spread of one, each kind in its own way."""
    center, scale = columns.mean.copy(), np.where(columns.varies, columns.std, 1.0)
    two = columns.two_values & columns.varies
    center[two] = (columns.low[two] + columns.high[two]) / 2
    scale[two] = (columns.high[two] - columns.low[two]) / 2
    log, log_center, log_scale = _logarithms(columns)
    center[log], scale[log] = log_center[log], log_scale[log]
    floor = np.where(log, columns.low, 0.0)
    copies = _copies(columns, floor)
    plain = columns.varies & ~two & ~log
    sentences = (
        (plain, "{} divided by the standard deviation: {}."),
        (log, "{} positive and skewed, so that logarithms are divided by their standard deviation: {}."),
        (two, "{} with two values, divided by half their distance: {}."),
        (copies > 1, "{} repeated by another one, so that they count as one together: {}."),
        (~columns.varies, "{} with one value, left alone: {}."),
    )
    said = [text.format(_counted(which), columns.listed(which)) for which, text in sentences if which.any()]
    return Scaling(False, center, scale * np.sqrt(copies), floor, (reason, *said))


def _logarithms(columns: _Columns) -> tuple[Array, Array, Array]:
    """Which columns are taken in logarithms, and the mean and the standard deviation of these."""
    which = columns.varies & ~columns.two_values & (columns.low > 0)
    center, scale = np.zeros(which.size), np.ones(which.size)
    for i in np.flatnonzero(which):
        known = columns.some[np.isfinite(columns.some[:, i]), i]
        skewness, less = _skewness(known), _skewness(np.log(known))
        which[i] = skewness > SKEWED and abs(less) <= skewness / 2
        center[i], scale[i] = np.log(known).mean(), np.log(known).std()
    return which, center, scale


def _skewness(x: Array) -> float:
    """The third standardised moment."""
    spread = x.std()
    return float(np.mean(((x - x.mean()) / spread) ** 3)) if spread > 0 else 0.0


def _copies(columns: _Columns, floor: Array) -> Array:
    """How many columns say the same as each, in whatever unit, itself included."""
    copies = np.ones(len(columns.names))
    at = np.flatnonzero(columns.varies)[:COMPARED_COLUMNS]
    Z = columns.some[:, at]
    if not np.isfinite(Z).all():
        return copies
    Z = Z - Z.mean(axis=0)
    lengths = np.sqrt(np.square(Z).sum(axis=0))
    Z /= np.where(lengths > 0, lengths, 1.0)
    same = np.abs(Z.T @ Z) >= 1 - EQUAL
    same &= (floor[at] > 0)[:, None] == (floor[at] > 0)
    copies[at] = np.maximum(same.sum(axis=1), 1)
    return copies


def _alike(ratio: float) -> str:
    """How little spreads differ."""
    return f"their spreads differ by a factor of {_factor(ratio)} at most" if ratio >= 1.05 else "they spread alike"


def _factor(ratio: float) -> str:
    """A ratio with as many digits as a person reads."""
    return f"{ratio:.1f}" if ratio < UNEVEN else f"{ratio:,.0f}"


def _counted(which: Array) -> str:
    """How many columns."""
    count = int(which.sum())
    return "1 column" if count == 1 else f"{count} columns"
