"""Runs the cases of one target, one after the other, and tells its parent about each on standard output."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from .harness import MEMORY, SECONDS, failure_of, generator, shrunk
from .targets import TARGETS

ADDRESS_SPACE = 12 * 2**30
"""Where an allocation is refused to a worker, so that no case can take the machine."""


def main(target: str, first: int, last: int, failures: str) -> None:
    """Check the cases of seeds from `first` to `last` - 1."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # AddressSanitizer reserves far more than it uses
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for seed in range(first, last):
        tell(begin=seed)
        tell(end=seed, **run(target, seed, Path(failures)))


def tell(**facts: object) -> None:
    """One line for the parent."""
    print(json.dumps(facts))


def run(target: str, seed: int, failures: Path) -> dict[str, object]:
    """Check one case: its outcome or its failure, its time and its memory."""
    with tempfile.TemporaryDirectory(prefix="lapmodes-fuzz-") as folder:
        case = TARGETS[target](generator(target, seed), Path(folder))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        before, began = restart_peak(), time.process_time()
        outcome, found = "failed", None
        try:
            outcome = case.check()
        except Exception:
            found = failure_of(case)
            found = found or ("a failure that does not come back", "It failed once, and not again.")
        seconds, memory = time.process_time() - began, peak() - before
        if found is None and seconds > SECONDS:
            found = (f"more than {SECONDS:.0f} s", f"It took {seconds:.1f} s of the processor.")
        if found is None and memory > MEMORY + size:
            found = ("more than 1 GiB", f"It took {memory / 2**20:.0f} MiB for files of {size / 2**20:.1f} MiB.")
        if found is None:
            return {"outcome": outcome, "seconds": seconds, "memory": memory}
        place = failures / f"{target}-{seed}"
        place.mkdir(parents=True, exist_ok=True)
        shrunk(case, found[0]).write(place)
        (place / "what_happened.txt").write_text(f"{target} {seed}: {found[0]}\n\n{found[1]}\n")
        return {"outcome": "failed", "kind": found[0], "seconds": seconds, "memory": memory}


def restart_peak() -> int:
    """Bytes in use now, from which on the peak is measured; where the system cannot, from the highest so far."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Most bytes that were in use at once since the measurement began."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
