"""What the benchmarks share: peak memory, seconds of each phase, tables with ratios, CSV files."""

from __future__ import annotations

import csv
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path("results") / "benchmarks"


class PeakMemory:
    """Highest resident memory of this process above where it stood, sampled every 5 ms."""

    def __enter__(self) -> PeakMemory:
        self.base = self.peak = self._resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def growth(self) -> int:
        """Bytes above the start."""
        return self.peak - self.base

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.peak = max(self.peak, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class PhaseClock:
    """A callback for an estimator: seconds until the last step of each phase, since the phase before."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def __call__(self, phase: str, done: int, total: int | None, info: str) -> bool:
        """Take the time of a step."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now
        return False


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds and what the work returned."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def fastest(works: dict[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """The shortest of several times of each, in turns, so that a busy moment hits all alike."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            best[name] = min(best[name], seconds_of(work)[0])
    return best


def report(name: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print an aligned table and write it as CSV."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"{name}.csv"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(cells)
    print(f"-> {file}\n", flush=True)
