"""Growth with the number of points: seconds of each phase and peak memory, each size in a process of its own.

    python benchmarks/growth.py               # 10^4 to 10^6 points
    python benchmarks/growth.py --sizes 100000 1000000 10000000

Blobs of unequal size in 16 dimensions, 20 clusters, single precision, the default constructor.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import warnings

import numpy as np
from measure import PeakMemory, PhaseClock, report, seconds_of

DIMENSIONS, CLUSTERS = 16, 20


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Unequal Gaussian blobs; made in pieces, so that nothing is ever held in double precision."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3.0, size=(CLUSTERS, DIMENSIONS)).astype(np.float32)
    share = rng.dirichlet(np.full(CLUSTERS, 5.0))
    y = rng.choice(CLUSTERS, size=n, p=share).astype(np.int16)
    X = rng.standard_normal((n, DIMENSIONS), dtype=np.float32)
    for start in range(0, n, 1 << 20):
        X[start : start + (1 << 20)] += centers[y[start : start + (1 << 20)]]
    return X, y


def measure(n: int) -> dict[str, float]:
    from lapmodes import LaplacianKModes
    from lapmodes.metrics import adjusted_rand

    X, y = blobs(n)
    warm, _ = blobs(2000)
    clock = PhaseClock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LaplacianKModes(CLUSTERS, random_state=0).fit(warm)  # the libraries' own code is not the fit's memory
        with PeakMemory() as memory:
            clock = PhaseClock()
            seconds, model = seconds_of(lambda: LaplacianKModes(CLUSTERS, random_state=0, verbose=clock).fit(X))
    return {
        "n": n,
        "seconds": seconds,
        "bytes": memory.growth,
        "ari": adjusted_rand(y, model.labels_),
        **{f"phase {name}": value for name, value in clock.seconds.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return 0
    found = []
    for n in arguments.sizes:
        process = subprocess.run([sys.executable, __file__, "--one", str(n)], capture_output=True, text=True)
        if process.returncode:
            print(process.stderr, file=sys.stderr)
            return 1
        found.append(json.loads(process.stdout.splitlines()[-1]))
        print(f"{n}: {found[-1]['seconds']:.1f} s", flush=True)
    phases = sorted({name for each in found for name in each if name.startswith("phase ")})
    rows = []
    for before, each in zip([None, *found], found, strict=False):
        growth = ["", ""]
        if before is not None:
            ratio = math.log(each["n"] / before["n"])
            growth = [f"{math.log(each[key] / before[key]) / ratio:.2f}" for key in ("seconds", "bytes")]
        times = [f"{each.get(name, 0.0):.1f}" for name in phases]
        tail = [f"{each['bytes'] / each['n']:.0f}", *growth, f"{each['ari']:.3f}"]
        rows.append([each["n"], f"{each['seconds']:.1f}", *times, *tail])
    header = ["points", "seconds", *(name[6:] for name in phases), "bytes a point", "exponent s", "exponent B", "ARI"]
    report("growth", header, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
