"""The oldest versions that pyproject.toml declares: as pins, or with --run the whole suite in an environment of them.

python .ci/oldest.py          print the pins
python .ci/oldest.py --run    make .venv-oldest with them, install the project there, and run its tests
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
VENV = ROOT / ".venv-oldest"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(\[(?P<extras>[^]]*)\])?\s*>=\s*(?P<version>[0-9.]+)")
OWN = re.compile(r"lapmodes\[(?P<extras>[^]]*)\]")


def pins(extra: str) -> dict[str, str]:
    """Name and oldest version of everything that the library needs, with an extra and those that it brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, str] = {}
    waiting = [*project["dependencies"], *project["optional-dependencies"][extra]]
    while waiting:
        requirement = waiting.pop()
        if own := OWN.match(requirement):
            waiting += [each for name in own["extras"].split(",") for each in project["optional-dependencies"][name]]
        elif parts := REQUIREMENT.match(requirement):
            found[parts["name"]] = parts["version"]
    return dict(sorted(found.items()))


def run() -> int:
    """The tests with the oldest versions."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    constraints = VENV / "oldest.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in pins("test").items()))
    build = ["-C", f"build-dir={VENV / 'build'}"]
    install = [str(python), "-m", "pip", "install", "--quiet", "--prefer-binary", "-r", str(constraints)]
    subprocess.run([*install, *build, f"{ROOT}[test]"], check=True)
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [str(python), "-m", "pytest", "tests", "-n", "2"]
    return subprocess.run(words, cwd=ROOT, env=os.environ | threads, check=False).returncode


if __name__ == "__main__":
    if "--run" in sys.argv[1:]:
        sys.exit(run())
    print("\n".join(f"{name}=={version}" for name, version in pins("test").items()))
