"""Two versions side by side on every development set and table: the seconds of a default fit, and their ratio.

    git worktree add ../before COMMIT && make -C ../before .venv/installed-test
    LAPMODES_DATA=... python benchmarks/set_times.py ../before

Columns of tables are standardised; of many rows a sample is taken. The turns alternate, and the shortest time counts.
A ratio above 1 means that this version is slower.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from battery_sets import battery, folder
from measure import report
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

MOST_ROWS = 5000


def cases(largest: int) -> Iterator[tuple[str, np.ndarray, int]]:
    """Name, points and number of clusters."""
    for name, X, labelings in battery(largest):
        yield name, X, np.unique(labelings[0][labelings[0] > 0]).size
    with np.load(folder() / "tables_dev.npz") as stored:
        for name in sorted({key.split("/")[0] for key in stored.files}):
            X, y = stored[f"{name}/X"].astype(np.float64), stored[f"{name}/y"]
            some = np.linspace(0, len(X) - 1, min(MOST_ROWS, len(X))).astype(int)
            yield f"table {name}", StandardScaler().fit_transform(X[some]), np.unique(y).size
    for load in (load_wine, load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        yield f"table {load.__name__.removeprefix('load_')}", StandardScaler().fit_transform(X), np.unique(y).size


def own_times(largest: int) -> dict[str, float]:
    """Seconds of a default fit of the version that is imported, one set after the other."""
    from lapmodes import LaplacianKModes

    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(200, 2))
    LaplacianKModes(2, random_state=0).fit(X)  # imports
    times = {}
    for name, X, K in cases(largest):
        start = time.perf_counter()
        LaplacianKModes(K, random_state=0).fit(X)
        times[name] = time.perf_counter() - start
    return times


def main() -> None:
    """Run both versions in turns and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, nargs="?", help="checkout of the earlier version, with its .venv")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--largest", type=int, default=10**9, help="leave out sets with more points")
    options = parser.parse_args()
    if options.before is None:
        print(json.dumps(own_times(options.largest)))
        return
    versions = [str(options.before.resolve() / ".venv" / "bin" / "python"), sys.executable]
    best: list[dict[str, float]] = [{}, {}]
    for _ in range(options.turns):
        for times, python in zip(best, versions, strict=True):
            command = [python, __file__, "--largest", str(options.largest)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            times.update({name: min(seconds, times.get(name, np.inf)) for name, seconds in found.items()})
    before, after = best
    ratios = {name: after[name] / before[name] for name in before}
    rows = [[name, f"{before[name]:.3f}", f"{after[name]:.3f}", f"{ratios[name]:.2f}"] for name in before]
    rows.append(
        ["all", f"{sum(before.values()):.3f}", f"{sum(after.values()):.3f}", f"{max(ratios.values()):.2f} at most"]
    )
    report("set_times", ["set", "before, s", "after, s", "after / before"], rows)


if __name__ == "__main__":
    main()
