"""Two versions side by side, both built, in one run: the benchmarks in turns, and the ratios of their times.

git worktree add ../before COMMIT && make -C ../before .venv/installed-test
LAPMODES_DATA=... python benchmarks/side_by_side.py ../before

Each version runs its own copy of a benchmark with its own interpreter; the turns alternate, so that a busy moment hits
both. The shortest time of each row counts. A ratio above 1 means that this version is slower.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import report

HERE = Path(__file__).resolve().parent.parent
# Arguments of each benchmark, the columns that name a row, and those with times.
BENCHMARKS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "sweep": (
        ["--clusters", "20", "100", "--dtypes", "float32", "--orders", "local"],
        ["order", "dtype", "K"],
        ["ms, certifying", "ms, plain"],
    ),
    "zstep": (["--limit", "0.1", "--repeats", "2"], ["problem"], ["seconds"]),
    "whole_fit": (["--data", "mnist", "--only", "lapmodes"], ["method"], ["seconds"]),
    "growth": (["--sizes", "100000", "1000000"], ["points"], ["seconds"]),
    "many_clusters": (["--only", "sparse fit", "sparse steps", "dense steps"], ["fit"], ["processor s"]),
}


def run(checkout: Path, python: str, name: str) -> dict[str, float]:
    """The times that one version's benchmark writes, by row and column."""
    arguments, keys, columns = BENCHMARKS[name]
    with tempfile.TemporaryDirectory() as folder:
        script = checkout / "benchmarks" / f"{name}.py"
        process = subprocess.run([python, str(script), *arguments], cwd=folder, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(f"{script}: {process.stderr[-2000:]}")
        with open(Path(folder) / "results" / "benchmarks" / f"{name}.csv", encoding="utf-8") as stream:
            header, *rows = csv.reader(stream)
    at = {column: header.index(column) for column in (*keys, *columns)}  # the first, where a name comes twice
    return {
        ", ".join([*(row[at[key]] for key in keys), column]): float(row[at[column]].lstrip("> "))
        for row in rows
        for column in columns
    }


def main() -> int:
    """Run the benchmarks in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="checkout of the earlier version, with its .venv")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    before = options.before.resolve()
    versions = {"before": (before, str(before / ".venv" / "bin" / "python")), "after": (HERE, sys.executable)}
    table = []
    for name in options.only:
        times: dict[str, dict[str, list[float]]] = {version: {} for version in versions}
        for _ in range(options.turns):
            for version, (checkout, python) in versions.items():
                for row, seconds in run(checkout, python, name).items():
                    times[version].setdefault(row, []).append(seconds)
        for row, mine in times["after"].items():
            if row in times["before"]:
                old, new = min(times["before"][row]), min(mine)
                table.append([name, row, f"{old:g}", f"{new:g}", f"{new / old if old else 1.0:.2f}"])
                print(*table[-1], sep="  ", flush=True)
    report("side_by_side", ["benchmark", "row", "before", "after", "after / before"], table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
