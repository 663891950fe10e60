"""How many named functions of the library, in how many files, a fit passes through: what a reader has to hold.

    python benchmarks/functions.py               counts for the default and for the paper's settings, on iris
    python benchmarks/functions.py --list        the functions as well

A second fit is counted, so that imports and caches do not matter. Lambdas, comprehensions, functions inside functions
and methods that `dataclass` writes are not counted. The candidates of a start run in threads of their own: the first
figure is that of the calling thread, the second that of all.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_iris

import lapmodes
from lapmodes import LaplacianKModes

HOME = Path(lapmodes.__file__).parent
FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"lam": 1.0, "bandwidth": 0.2, "affinity": "heat", "n_neighbors": 5, "init": "k-means"},
}


def functions_called(work: Callable[[], object], *, all_threads: bool) -> set[tuple[str, str]]:
    """(file, qualified name) of every named Python function of the library that `work` calls."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(HOME)) and "<" not in code.co_qualname:
            seen.add((str(Path(code.co_filename).relative_to(HOME)), code.co_qualname))

    if all_threads:
        threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


def main() -> None:
    """Count, and list if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the functions, file by file")
    options = parser.parse_args()
    X = load_iris().data
    for name, parameters in FITS.items():
        LaplacianKModes(3, random_state=0, **parameters).fit(X)
        counts = []
        for all_threads in (False, True):
            seen = functions_called(
                lambda p=parameters: LaplacianKModes(3, random_state=0, **p).fit(X), all_threads=all_threads
            )
            files = sorted({file for file, _ in seen})
            counts.append(f"{len(seen)} functions in {len(files)} files")
        print(f"{name:8s} {counts[0]}; with all threads {counts[1]}")
        if options.list:
            for file in files:
                print(f"    {file}: {', '.join(sorted(function for home, function in seen if home == file))}")


if __name__ == "__main__":
    main()
