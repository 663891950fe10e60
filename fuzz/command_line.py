"""The command line as a process: whatever the file and the options, one sentence and an exit code, or a result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .corpus import CORPUS, model
from .harness import require
from .mutations import mutated
from .values import Rng, chance, pick

MAIN = "import sys; from lapmodes.cli import main; sys.argv[0] = 'lapmodes'; sys.exit(main())"
EXIT_CODES = {0: "done", 2: "refused options", 3: "refused input", 4: "refused output"}
SECONDS = 100
"""By the clock; a machine may be loaded."""
RESULT = {"summary.json", "parameters.toml"}


@dataclass(frozen=True)
class Command:
    """One run of a command in a folder of its own."""

    folder: Path
    words: tuple[str, ...]

    def check(self) -> str:
        """Run it; the output folder is whole or not there, and an error is one sentence."""
        before = set(os.listdir(self.folder))
        run = [sys.executable, "-c", MAIN, *self.words]
        done = subprocess.run(run, cwd=self.folder, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        said = done.stderr.decode(errors="replace")
        require(done.returncode in EXIT_CODES, f"exit code {done.returncode}: {said[-300:]}")
        require("Traceback" not in said and "unexpected" not in said, f"a traceback: {said[-300:]}")
        new = set(os.listdir(self.folder)) - before
        if done.returncode == 0:
            require(len(new) == 1, f"one result, not {sorted(new)}")
            self._check_result(self.folder / next(iter(new)))
        else:
            require(not new, f"a refused run left {sorted(new)}")
            if done.returncode != 2:
                require(said.count("Error: ") == 1 and said.strip().splitlines()[-1].startswith("Error: "), said[-300:])
        return f"{self.words[0]}: {EXIT_CODES[done.returncode]}"

    def _check_result(self, place: Path) -> None:
        if place.is_dir():
            names = set(os.listdir(place))
            require(names >= RESULT, f"only {sorted(names)}")
            for name in names:
                if name.endswith(".json"):
                    json.loads((place / name).read_text(), parse_constant=_no_constant)
        else:
            require(place.stat().st_size > 0, "an empty result")

    def smaller(self) -> Iterator[Command]:
        """Runs are small already."""
        yield from ()

    def write(self, folder: Path) -> None:
        """The files, and the command."""
        for file in self.folder.iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        (folder / "reproduce.py").write_text(f"import subprocess\nsubprocess.run({['lapmodes', *self.words]!r})\n")


def _no_constant(name: str) -> None:
    require(False, f"{name} in a JSON file")


def draw(rng: Rng, folder: Path) -> Command:
    """A command on a file that may be broken, with options that may be."""
    names = [name for name in CORPUS if name != "x.h5ad"]
    name = pick(rng, *names)
    content = CORPUS[name](rng)
    (folder / name).write_bytes(mutated(rng, content) if chance(rng, 0.7) else content)
    picture = name.endswith((".png", ".gif", ".jpg", ".tif", ".webp", ".bmp"))
    if picture or chance(rng, 0.7):
        return Command(folder, ("fit", name, "-k", pick(rng, "2", "3", "2", "auto", "2,4"), *fit_options(rng, folder)))
    content = model(rng)
    (folder / "model.npz").write_bytes(mutated(rng, content) if chance(rng, 0.7) else content)
    return Command(folder, ("predict", "model.npz", name))


def fit_options(rng: Rng, folder: Path) -> tuple[str, ...]:
    """Some options, valid or not."""
    options = [
        ("--keep", pick(rng, "kind", "kind", "nothing", "id,kind", ",")),
        ("--drop", pick(rng, "a", "kind", "zzz")),
        ("--categories", pick(rng, "kind", "all", "zzz")),
        ("--truth", pick(rng, "kind", "a")),
        ("--lam", pick(rng, "0", "1", "1e308", "nan", "-1", "adaptive")),
        ("--bandwidth", pick(rng, "inf", "1e-300", "entropic", "0", "x")),
        ("--scale", pick(rng, "none", "standard", "robust", "minmax", "unit")),
        ("--missing", pick(rng, "drop", "impute", "error")),
        ("--metric", "cosine"),
        ("--array", pick(rng, "X", "other", "zzz")),
        ("--encoding", pick(rng, "utf-8", "latin-1", "utf-16", "rot13", "zzz")),
        ("--delimiter", pick(rng, ",", ";", "tab", "xy")),
        ("--set", pick(rng, "max_iter=3", "init=k-means", "tol=[" + "[" * 5000, "zzz=1", "n_init=null")),
        ("--no-report",),
        ("--quiet",),
    ]
    chosen = [option for option in options if chance(rng, 0.12)]
    if chance(rng, 0.1):
        text = pick(rng, b"lam = 1.0\n", b"set = " + b"[" * 9000, b"\xff", b'command = "predict"\n', b"lam = [1]\n")
        (folder / "run.toml").write_bytes(mutated(rng, text) if chance(rng, 0.5) else text)
        chosen.append(("--config", "run.toml"))
    return tuple(word for option in chosen for word in option)
