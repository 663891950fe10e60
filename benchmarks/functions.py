"""How many named functions of the library, in how many files, a fit passes through: what a reader has to hold.

    python benchmarks/functions.py               counts for the default and for the paper's settings, on iris
    python benchmarks/functions.py --list        the functions as well

A second fit is counted, so that imports and caches do not matter. Lambdas, comprehensions and methods that
`dataclass` writes are not named functions.
"""

from __future__ import annotations

import argparse
import sys
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


def functions_called(work: Callable[[], object]) -> set[tuple[str, str]]:
    """(file, qualified name) of every named Python function of the library that `work` calls, in any thread."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(HOME)) and not code.co_name.startswith("<"):
            seen.add((str(Path(code.co_filename).relative_to(HOME)), code.co_qualname))

    import threading

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
        seen = functions_called(lambda p=parameters: LaplacianKModes(3, random_state=0, **p).fit(X))
        files = sorted({file for file, _ in seen})
        print(f"{name:8s} {len(seen):4d} functions in {len(files):3d} files")
        if options.list:
            for file in files:
                print(f"    {file}: {', '.join(sorted(function for home, function in seen if home == file))}")


if __name__ == "__main__":
    main()
