"""``python -m fuzz.faults``: runs of the command line that are killed, out of space, or in each other's way.

Each runs over an earlier result. Afterwards there must be the old one whole, the new one whole, or none, and no
traceback. A kind of fault is a function in `FAULTS`; a command is an entry of `COMMANDS`.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .command_line import MAIN
from .faulty_places import full_disk_sizes, limited_size, read_only, small_disk

UNLIKE = ("summary.json", "report.html")
"""Files with times in them: two runs do not write the same; they must be whole all the same."""
CLOCKS = "import time; real = time.time; start = real(); time.time = lambda: {}; "
BACK = {"an hour back with each look": "start - 3600 * (real() - start + 1)", "in 1970": "real() - start"}


@dataclass(frozen=True)
class Place:
    """A folder with data, and a command that writes one result into it over an earlier one."""

    folder: Path
    words: tuple[str, ...]
    output: str
    old: str = ""
    """Fingerprint of the earlier result."""
    new: str = ""
    """That of the result that the command writes."""
    seconds: float = 0.0
    """How long it takes."""

    @property
    def target(self) -> Path:
        """Where the result is."""
        return self.folder / self.output

    def start(self, prelude: str = "", **options: Any) -> subprocess.Popen[str]:
        """Begin the command."""
        words = [sys.executable, "-c", prelude + MAIN, *self.words]
        return subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
        )

    def state(self) -> str:
        """'old', 'new' or 'none', or what is wrong."""
        if not self.target.exists():
            return "none"
        found = fingerprint(self.target)
        return "old" if found == self.old else "new" if found == self.new else f"neither old nor new: {self.target}"

    def leftovers(self) -> list[str]:
        """What no run should leave behind."""
        return sorted(each.name for each in self.folder.glob(f".{self.output}.*"))


def fingerprint(target: Path) -> str:
    """Of the files in a result; broken ones have none that any whole result has."""
    found = hashlib.sha256()
    for file in sorted(target.rglob("*")) if target.is_dir() else [target]:
        content = file.read_bytes()
        if file.name.endswith(UNLIKE):
            whole = b"</html>" in content[-20:] if file.suffix == ".html" else bool(json.loads(content))
            content = b"whole" if whole else b"broken"
        elif file.suffix == ".npz":
            content = arrays_of(file)
        found.update(file.name.encode() + content)
    return found.hexdigest()


def arrays_of(file: Path) -> bytes:
    """The arrays of an archive without its times."""
    import numpy as np

    with np.load(file) as stored:
        return b"".join(name.encode() + stored[name].tobytes() for name in stored.files if name != "history")


@dataclass
class Count:
    """How often what happened."""

    seen: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, place: Place, said: str = "", *, kept: bool = False, clean: bool = True) -> None:
        """Look at a place after a fault; `kept`: the old result must be there, `clean`: and nothing else."""
        state = place.state()
        self.seen[state if len(state) < 5 else "broken"] += 1
        if state not in ("old", "new", "none") or (kept and state == "none"):
            self.wrong.append(state)
        if "Traceback" in said or "unexpected" in said:
            self.wrong.append(f"a traceback: {said[-500:]}")
        if clean and place.leftovers():
            self.wrong.append(f"left behind: {place.leftovers()}")


def fit_place(folder: Path, version: int) -> tuple[tuple[str, ...], str]:
    """Two groups of rows; the second version has others."""
    rng = random.Random(version)
    rows = (f"{rng.gauss(6 * (i % 2), 1):.3f},{rng.gauss(0, 1):.3f},k{i % 3}" for i in range(400))
    (folder / "data.csv").write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    return ("fit", "data.csv", "-k", "2", "-o", "result", "--overwrite", "-q", "--keep", "kind"), "result"


def predict_place(folder: Path, version: int) -> tuple[tuple[str, ...], str]:
    """A model, and rows to put into its clusters."""
    words, _ = fit_place(folder, 0)
    if not (folder / "model").exists():
        done = Place(folder, (*words[:5], "model", *words[6:]), "model").start()
        assert done.wait() == 0, done.stderr.read() if done.stderr else ""
    fit_place(folder, version)
    return ("predict", "model", "data.csv", "-o", "result.csv", "--overwrite", "-q", "--soft"), "result.csv"


def segment_place(folder: Path, version: int) -> tuple[tuple[str, ...], str]:
    """A picture of three regions."""
    import numpy as np
    from PIL import Image

    pixels = np.zeros((40, 50, 3)) + np.random.default_rng(version).normal(0, 8, size=(40, 50, 3))
    pixels[:20] += (200, 30, 30)
    pixels[20:, 25:] += (20, 20, 200)
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / "picture.png")
    return ("segment", "picture.png", "-k", "3", "-o", "result", "--overwrite", "-q"), "result"


COMMANDS: dict[str, Callable[[Path, int], tuple[tuple[str, ...], str]]] = {
    "fit": fit_place,
    "predict": predict_place,
    "segment": segment_place,
}
"""For each command a function that puts data of a version into a folder; it returns the words and the output's name."""


def prepared(command: str, folder: Path) -> Place:
    """A place with an old result and data for a new one, both known by their fingerprints."""
    folder.mkdir(parents=True, exist_ok=True)
    prints, seconds = [], 0.0
    for version in (2, 1):
        words, output = COMMANDS[command](folder, version)
        place, began = Place(folder, words, output), time.monotonic()
        run = place.start()
        said = run.communicate()[1]
        assert run.returncode == 0, said
        seconds = time.monotonic() - began
        prints.append(fingerprint(place.target))
    COMMANDS[command](folder, 2)
    return Place(folder, words, output, old=prints[1], new=prints[0], seconds=seconds)


def interrupted(number: int) -> Callable[[Place, int, random.Random], Count]:
    """A fault: the process gets a signal, half of the time at any moment, half while it writes."""

    def fault(place: Place, times: int, rng: random.Random) -> Count:
        count = Count()
        for i in range(times):
            run = place.start()
            if i % 2:
                while run.poll() is None and not place.leftovers():
                    time.sleep(0.001)
                time.sleep(rng.uniform(0, 0.06 * place.seconds))
            else:
                time.sleep(rng.uniform(0.02, 1.0) * place.seconds)
            run.send_signal(number)
            said = run.communicate()[1]
            count.add(place, said, kept=number != signal.SIGKILL, clean=number != signal.SIGKILL)
            restore(place)
        return count

    return fault


def restore(place: Place) -> None:
    """The old result back, if another one took its place: as the command itself would do, by running it."""
    if place.state() != "old":
        for left in place.leftovers():
            with suppress(OSError):
                shutil.rmtree(place.folder / left)
            with suppress(OSError):
                (place.folder / left).unlink()
        COMMANDS[place.words[0]](place.folder, 1)
        place.start().communicate()
        COMMANDS[place.words[0]](place.folder, 2)


def full_disk(place: Place, times: int, rng: random.Random) -> Count:
    """A fault: no space left, at every size from nothing to nearly enough."""
    count = Count()
    for size in full_disk_sizes(place.target, times):
        with small_disk(place.folder, size) as folder:
            there = Place(folder, place.words, place.output, place.old, place.new, place.seconds)
            run = there.start(preexec_fn=None if folder != place.folder else lambda size=size: limited_size(size))
            said = run.communicate()[1]
            count.add(there, said, kept=True)
            if there.state() == "new":
                restore(there)
    return count


def write_protected(place: Place, times: int, rng: random.Random) -> Count:
    """A fault: the folder cannot be written to."""
    count = Count()
    with read_only(place.folder) as folder:
        there = Place(folder, place.words, place.output, place.old, place.new, place.seconds)
        for _ in range(min(times, 3)):
            run = there.start()
            said = run.communicate()[1]
            count.add(there, said, kept=True)
            if run.returncode not in (3, 4) or there.state() != "old":
                count.wrong.append(f"exit code {run.returncode} in a read-only folder: {said[-200:]}")
    return count


def symbolic_link(place: Place, times: int, rng: random.Random) -> Count:
    """A fault: the output is a link to something else, which must not be touched."""
    count, elsewhere = Count(), place.folder / "elsewhere"
    place.target.rename(elsewhere)
    place.target.symlink_to(elsewhere)
    run = place.start()
    said = run.communicate()[1]
    if run.returncode != 3 or fingerprint(elsewhere) != place.old or not place.target.is_symlink():
        count.wrong.append(f"a link was followed: exit code {run.returncode}: {said[-200:]}")
    place.target.unlink()
    elsewhere.rename(place.target)
    count.add(place, said, kept=True)
    return count


def two_at_once(place: Place, times: int, rng: random.Random) -> Count:
    """A fault: two runs write one output at the same time."""
    count = Count()
    for _ in range(min(times, 10)):
        one = place.start()
        time.sleep(rng.uniform(0, 0.3) * place.seconds)
        two = place.start()
        said = one.communicate()[1] + two.communicate()[1]
        count.add(place, said, kept=True)
        restore(place)
    return count


def clock_set_back(place: Place, times: int, rng: random.Random) -> Count:
    """A fault: the clock runs backwards, or stands before the time of archives."""
    count = Count()
    for clock in BACK.values():
        run = place.start(prelude=CLOCKS.format(clock))
        said = run.communicate()[1]
        count.add(place, said, kept=True)
        if run.returncode != 0:
            count.wrong.append(f"exit code {run.returncode}: {said[-300:]}")
        restore(place)
    return count


FAULTS: dict[str, Callable[[Place, int, random.Random], Count]] = {
    "SIGKILL": interrupted(signal.SIGKILL),
    "SIGTERM": interrupted(signal.SIGTERM),
    "SIGINT": interrupted(signal.SIGINT),
    "full disk": full_disk,
    "read-only folder": write_protected,
    "symbolic link": symbolic_link,
    "two at once": two_at_once,
    "clock set back": clock_set_back,
}


def main() -> int:
    """Run the campaign; 1 if a result was lost or a traceback shown."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100, help="faults of each kind for each command")
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--faults", nargs="*", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # disks that are mounted are given back
    print(f"Seed {options.seed}", flush=True)
    wrong = 0
    for command in options.commands:
        with tempfile.TemporaryDirectory(prefix="lapmodes-faults-") as folder:
            os.chmod(folder, 0o755)
            place = prepared(command, Path(folder) / "place")
            for name in options.faults:
                count = FAULTS[name](place, options.times, random.Random(options.seed))
                wrong += len(count.wrong)
                states = ", ".join(f"{number} {state}" for state, number in count.seen.most_common())
                print(f"{command:8} {name:17} {sum(count.seen.values()):4} times: {states}", flush=True)
                for sentence in count.wrong[:5]:
                    print(f"  WRONG: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
