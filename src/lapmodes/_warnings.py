"""Warnings that name what went wrong, why, and what to do, and point at the user's own line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import sklearn
from sklearn.exceptions import ConvergenceWarning

from ._records import Status

LIBRARIES = tuple(os.path.join(os.path.dirname(os.path.abspath(file)), "") for file in (__file__, sklearn.__file__))
"""The folders of this library and of scikit-learn, wherever they are installed."""


class DegenerateWarning(UserWarning):
    """The result is valid but not what was asked for: a cluster died, or part of the data was out of reach."""


class InputWarning(UserWarning):
    """The input is valid but hardly what was meant: one column decides all distances, or rows are too few or alike."""


def warn_of(status: Status) -> None:
    """Say what kept a fit from being what was asked for."""
    warn(status.message, DegenerateWarning if status.is_degenerate else ConvergenceWarning)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside this library and scikit-learn."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """A list that holds the sentence of each different warning, once the work is done."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes.extend(dict.fromkeys(" ".join(str(each.message).split()) for each in caught))
