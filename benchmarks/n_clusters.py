"""How often `select` finds the number of clusters, how sure it is, and what it costs in units of a fit.

    python benchmarks/n_clusters.py battery              the 37 development sets (LAPMODES_DATA)
    python benchmarks/n_clusters.py structureless        draws without clusters: is the answer 1?
    python benchmarks/n_clusters.py generated            draws of the generator
    python benchmarks/n_clusters.py ... --draws 90 --seed 3 --times

The number of a set with clusters is right if it is within one of that of a labeling. A draw of the generator can be
found if the default fit at the right number has an adjusted Rand index of 0.8: nobody can count what nobody can find.
Times are processor time, with one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from battery_sets import battery
from generator import draw
from structureless import structureless

from lapmodes import LaplacianKModes, select

Case = tuple[str, str, np.ndarray, list[int]]
FOUND = 0.8
"""Adjusted Rand index from which the clusters of a draw count as found."""


def cases(what: str, draws: int, seed: int) -> Iterator[Case]:
    """Group, name, points and right numbers of clusters."""
    if what == "battery":
        for name, X, labelings in battery(10**9):
            yield "sets", name, X, sorted({np.unique(y[y > 0]).size for y in labelings})
    elif what == "structureless":
        for name, X in structureless(draws, seed):
            yield name.removeprefix("rounded ").split()[0], name, X, [1]
    else:
        for each in range(seed, seed + draws):
            one = draw(each)
            labels = LaplacianKModes(one.n_clusters, random_state=0).fit_predict(one.X)
            group = "can be found" if one.score(labels) >= FOUND else "cannot be found"
            yield group, one.name, one.X, [one.n_clusters]


def main() -> None:
    """One line a case, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("battery", "structureless", "generated"))
    parser.add_argument("--draws", type=int, default=90)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", action="store_true", help="compare with the time of a default fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for group, name, X, right in cases(options.what, options.draws, options.seed):
        began = time.process_time()
        found = select(X, random_state=0, n_jobs=1)
        seconds, ratio = time.process_time() - began, np.nan
        if options.times:
            began = time.process_time()
            LaplacianKModes(found.best, random_state=0, n_jobs=1).fit(X)
            ratio = seconds / (time.process_time() - began)
        hit = found.n_clusters == 1 if right == [1] else any(abs(found.n_clusters - K) <= 1 for K in right)
        rows.append((group, hit, found.n_clusters == 1, found.verdict, len(found.table), ratio))
        print(f"{name:30s} {len(X):6d} right {right} {'' if hit else 'WRONG '}{found} {ratio:.1f} fits", flush=True)
    report(rows)


def report(rows: list[tuple[str, bool, bool, str, int, float]]) -> None:
    """Shares by group and by verdict, and the times of the usual 19 numbers."""
    for i, title in ((0, "group"), (3, "verdict")):
        for each in dict.fromkeys(row[i] for row in rows):
            own = [row for row in rows if row[i] == each]
            hits, ones = sum(row[1] for row in own), sum(row[2] for row in own)
            print(f"{title} {each:16s} {hits} of {len(own)} right; no clear clusters in {ones}")
    print(
        f"all: {sum(row[1] for row in rows)} of {len(rows)} right; no clear clusters in {sum(row[2] for row in rows)}"
    )
    ratios = [row[5] for row in rows if row[4] <= 19]
    if np.isfinite(ratios).any():
        print(f"up to 19 numbers cost {np.median(ratios):.1f} fits in the median, {np.max(ratios):.1f} at most")


if __name__ == "__main__":
    main()
