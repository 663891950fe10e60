"""``python -m fuzz``: attack for some minutes, or with so many cases; print seeds and counts, save what breaks.

python -m fuzz --minutes 10                        all targets, one after the other
python -m fuzz fits files --cases 2000 --seed 7    2,000 cases of each, from seed 7 on
python -m fuzz fits --replay 1234                  one case again, in this process, with its traceback
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .harness import SECONDS
from .targets import TARGETS

CASES = 10**9
HANGS, LOOK = 3 * SECONDS, 5.0
"""Seconds of the processor after which a silent worker hangs, and seconds by the clock between looks at it."""
SHOWN, PROGRESS = 12, 1000
"""Kinds of outcomes that are listed, and cases after which there is a sign of life."""


@dataclass
class Tally:
    """What came of the cases of one target."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    largest: tuple[int, int] = (0, -1)

    @property
    def cases(self) -> int:
        """How many there were."""
        return sum(self.outcomes.values())

    def add(self, seed: int, facts: dict[str, object]) -> None:
        """One more."""
        self.outcomes[str(facts["outcome"])] += 1
        if "kind" in facts:
            self.failures.append((seed, str(facts["kind"])))
        self.slowest = max(self.slowest, (float(facts.get("seconds", 0.0)), seed))  # type: ignore[arg-type]
        self.largest = max(self.largest, (int(facts.get("memory", 0)), seed))  # type: ignore[call-overload]


def main() -> int:
    """Run what was asked for; 1 if anything broke."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split(":")[1].strip())
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help=f"of {', '.join(TARGETS)}; all if none")
    parser.add_argument("--minutes", type=float, help="for all targets together (5 if neither this nor --cases)")
    parser.add_argument("--cases", type=int, help="of each target")
    parser.add_argument("--seed", type=int, help="of the first case; random if not given, and printed")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for what breaks")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one case again in this process")
    parser.add_argument("--log", type=Path, help="a JSON summary of the run")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    if options.replay is not None:
        return replay(targets[0], options.replay)
    seed = int.from_bytes(os.urandom(3)) * 1000 if options.seed is None else options.seed
    minutes = options.minutes or (5.0 if options.cases is None else 1e9)
    print(f"Seeds from {seed} on; failures go to {options.failures}/", flush=True)
    summary = {}
    for name in targets:
        end = time.monotonic() + 60 * minutes / len(targets)
        tally = attack(name, seed, options.cases or CASES, end, options.failures)
        print_tally(name, tally)
        summary[name] = {"cases": tally.cases, "failures": tally.failures, "outcomes": dict(tally.outcomes)}
        summary[name] |= {"slowest_seconds": tally.slowest, "largest_bytes": tally.largest, "first_seed": seed}
    if options.log is not None:
        options.log.write_text(json.dumps(summary, indent=1) + "\n")
    return 1 if any(each["failures"] for each in summary.values()) else 0


def attack(target: str, seed: int, cases: int, end: float, failures: Path) -> Tally:
    """Run workers until the cases are done or the time is up; a worker that dies or hangs is a failure and replaced."""
    tally, at, last = Tally(), seed, seed + cases
    while at < last and time.monotonic() < end:
        words = [sys.executable, "-m", "fuzz.worker", target, str(at), str(last), str(failures)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
            try:
                at = follow(worker, target, at, end, failures, tally)
            finally:
                worker.kill()
    return tally


def follow(worker: subprocess.Popen[str], target: str, at: int, end: float, failures: Path, tally: Tally) -> int:
    """Count what a worker tells; returns the seed that comes next."""
    assert worker.stdout is not None
    before = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        while time.monotonic() < end or not tally.cases:
            if not selector.select(timeout=LOOK):
                used = processor_seconds(worker.pid) - before
                if used > HANGS:
                    return lost(target, at, f"no end within {used:.0f} s of the processor", failures, tally)
                continue
            line = worker.stdout.readline()
            if not line:
                if worker.wait() == 0:
                    return at
                ending = -worker.returncode
                kind = f"killed by {signal.Signals(ending).name}" if ending > 0 else f"exit code {-ending}"
                return lost(target, at, kind + worker_error(worker), failures, tally)
            facts, before = json.loads(line), processor_seconds(worker.pid)
            if "end" in facts:
                tally.add(facts["end"], facts)
                at = facts["end"] + 1
                if tally.cases % PROGRESS == 0:
                    print(f"{target}: {tally.cases:,} cases, {len(tally.failures)} failures so far", flush=True)
    return at


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor so far; where the system does not tell, the clock stands in."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def worker_error(worker: subprocess.Popen[str]) -> str:
    """The last lines of a dead worker."""
    assert worker.stderr is not None
    return "\n" + worker.stderr.read()[-4000:]


def lost(target: str, seed: int, kind: str, failures: Path, tally: Tally) -> int:
    """A case that took its worker with it: how to see it again is all that can be saved."""
    place = failures / f"{target}-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "what_happened.txt").write_text(f"{target} {seed}: {kind}\npython -m fuzz {target} --replay {seed}\n")
    tally.add(seed, {"outcome": "failed", "kind": kind.splitlines()[0]})
    return seed + 1


def print_tally(target: str, tally: Tally) -> None:
    """What a person wants to know."""
    print(f"\n{target}: {tally.cases:,} cases, {len(tally.failures)} failures", flush=True)
    for outcome, count in tally.outcomes.most_common(SHOWN):
        print(f"  {count:7,}  {outcome}")
    print(f"  slowest {tally.slowest[0]:.1f} s (seed {tally.slowest[1]}), most memory "
          f"{tally.largest[0] / 2**20:.0f} MiB (seed {tally.largest[1]})")  # fmt: skip
    kinds = collections.Counter(kind for _, kind in tally.failures)
    for kind, count in kinds.most_common():
        seeds = [seed for seed, other in tally.failures if other == kind]
        print(f"  BROKEN {count} times: {kind} (seeds {', '.join(map(str, seeds[:5]))})")


def replay(target: str, seed: int) -> int:
    """One case in this process."""
    import tempfile

    from .harness import generator

    with tempfile.TemporaryDirectory(prefix="lapmodes-fuzz-") as folder:
        case = TARGETS[target](generator(target, seed), Path(folder))
        print(case)
        print(case.check())
    return 0


if __name__ == "__main__":
    sys.exit(main())
