"""The package as a whole: public names, layers, cost of importing."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import lapmodes

SOURCE = Path(lapmodes.__file__).parent

# What each part of the package must not import: dependencies point down only.
FORBIDDEN = {
    "graph": ("solve", "baselines", "_estimator", "_fit", "_problem", "path", "plotting", "demo"),
    "solve": ("graph", "baselines", "_estimator", "_fit", "_problem", "path", "plotting", "demo"),
    "baselines": ("_estimator", "_fit", "path", "plotting", "demo"),
    "datasets": ("_estimator", "graph", "solve", "plotting"),
    "_estimator.py": ("path", "selection", "plotting", "demo", "baselines"),
    "_records.py": ("graph", "solve", "_estimator", "_problem"),
    "metrics.py": ("graph", "solve", "_estimator", "plotting"),
    "plotting": ("demo", "solve", "graph", "report", "cli", "files"),
    "_diagnostics.py": ("_estimator", "plotting", "report", "solve", "graph"),
    "_archives.py": ("_estimator", "files", "cli", "_persistence"),
    "files": ("cli", "report", "plotting", "demo", "solve", "graph", "experiments", "image"),
    "report": ("cli", "demo", "solve", "graph", "experiments", "files"),
    "image.py": ("demo", "experiments", "cli", "baselines"),
    "experiments": ("demo", "cli", "_fit", "_problem"),
    "demo.py": ("cli", "graph", "solve"),
}


def imported_parts(file):
    """First component, below lapmodes, of everything that a file imports from the package."""
    depth = len(file.relative_to(SOURCE).parts)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            inside = depth - node.level
            prefix = list(file.relative_to(SOURCE).parts[:inside])
            target = prefix + (node.module or "").split(".")
            names = [target] if node.module else [[*prefix, alias.name] for alias in node.names]
            yield from ((name[0] or name[-1]) for name in names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lapmodes."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("part", FORBIDDEN)
def test_dependencies_point_down_only(part):
    place = SOURCE / part
    for file in [place] if place.is_file() else place.rglob("*.py"):
        wrong = set(imported_parts(file)) & set(FORBIDDEN[part])
        assert not wrong, f"{file.relative_to(SOURCE)} must not import {wrong}"


def test_public_names():
    assert set(lapmodes.__all__) == {
        "DegenerateWarning",
        "KModes",
        "LaplacianKMeans",
        "LaplacianKModes",
        "PathPoint",
        "Selection",
        "Solution",
        "fit_path",
        "load",
        "select",
    }
    assert all(hasattr(lapmodes, name) for name in lapmodes.__all__)
    assert (SOURCE / "py.typed").exists()


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert lapmodes.__version__ == version("lapmodes")


def test_import_brings_no_plotting_or_command_line_package():
    heavy = ["matplotlib", "plotly", "dash", "typer", "rich", "click", "pandas", "polars", "dask"]
    code = (
        f"import sys, sklearn.cluster; before = set(sys.modules); from lapmodes import *; "
        f"print(*({{m.split('.')[0] for m in set(sys.modules) - before}} & set({heavy})))"
    )
    loaded = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_import_is_hardly_slower_than_sklearn_cluster():
    def seconds(module):
        code = f"import time; t = time.process_time(); {module}; print(time.process_time() - t)"
        return float(subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True).stdout)

    ours, theirs = "from lapmodes import LaplacianKModes, fit_path, load", "import sklearn.cluster"
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(7)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    assert ours <= 1.15 * theirs


MODULES = [
    module.name for module in pkgutil.walk_packages(lapmodes.__path__, "lapmodes.") if "_native" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    pytest.importorskip("matplotlib")
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("word", ["import pickle", "allow_pickle=True", "joblib.load", "read_pickle", "eval(", "exec("])
def test_nothing_that_could_run_a_file_as_code(word):
    """Models and data are arrays, tables and JSON; `unsafe-eval` in the report's policy is about its own script."""
    found = [file.name for file in SOURCE.rglob("*.py") if word in file.read_text().replace("unsafe-eval", "")]
    assert found == []
