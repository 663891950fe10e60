"""What all targets share: what a case is, what may go wrong with it, and how a broken promise is made small.

A case is drawn from a seed alone, so a seed is enough to see it again. Cases run in a process of their own
(`worker.py`), which may die.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from zlib import crc32

import numpy as np

SECONDS = 20.0
"""Time of the processor that a case may take."""
MEMORY = 2**30
"""Bytes that a case may take beyond the size of its files."""
SHRINKING = 20.0
"""Seconds that are spent on making a failure small."""
REFUSALS = (ValueError, TypeError)
"""What bad input may raise."""
SPEAKERS = ("/lapmodes/", "/sklearn/utils/", "/sklearn/base.py")
"""Whose sentences a user may read: the library's own, and those of scikit-learn's checks of arrays."""


class BrokenPromiseError(AssertionError):
    """Something happened that the documentation says cannot happen."""


class Case(Protocol):
    """One attack."""

    def check(self) -> str:
        """How it ended, in a few words; raises `BrokenPromiseError`, or whatever came out of the library, if badly."""

    def smaller(self) -> Iterator[Case]:
        """Simpler cases that may fail alike, the simplest first."""

    def write(self, folder: Path) -> None:
        """Save it as something that a person can read and run: `reproduce.py` and the files that this needs."""


Draw = Callable[[np.random.Generator, Path], Case]
"""A target: it draws a case, and may put files into a folder of its own."""


def generator(target: str, seed: int) -> np.random.Generator:
    """The randomness of one case: different for each target and seed."""
    return np.random.default_rng([crc32(target.encode()), seed])


def require(holds: bool, promise: str) -> None:
    """Raise unless a promise holds."""
    if not holds:
        raise BrokenPromiseError(promise)


@contextmanager
def only_documented_warnings() -> Iterator[None]:
    """Any warning that is not one of the library's own is an error."""
    from sklearn.exceptions import ConvergenceWarning

    from lapmodes import DegenerateWarning, InputWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (DegenerateWarning, InputWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        yield


def refusal(error: Exception) -> str:
    """What a refusal says; raises the error again if it is none: of another kind, or not in words meant for users."""
    *_, last = traceback.extract_tb(error.__traceback__)
    ours = any(speaker in last.filename.replace("\\", "/") for speaker in SPEAKERS)
    if not isinstance(error, REFUSALS) or not ours or "/lapmodes/native" in last.filename:
        raise error
    sentence = str(error).strip()
    require(len(sentence) > 20 and len(sentence) < 2000, f"a refusal is a sentence, not {sentence!r}")
    return sentence


def failure_of(case: Case) -> tuple[str, str] | None:
    """(Kind, traceback) of what is wrong with a case; None if nothing is."""
    try:
        case.check()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = " ".join(str(error).split()[:6])
        return f"{type(error).__name__} in {Path(place.filename).name}: {words}", traceback.format_exc()
    return None


def shrunk(case: Case, kind: str) -> Case:
    """The smallest case found that fails in the same way."""
    end, improved = time.monotonic() + SHRINKING, True
    while improved and time.monotonic() < end:
        improved = False
        for other in case.smaller():
            found = failure_of(other)
            if found is not None and found[0].split(":")[0] == kind.split(":")[0]:
                case, improved = other, True
                break
            if time.monotonic() > end:
                break
    return case
