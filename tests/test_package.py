"""The package as a whole: public names, rooms and what they may import, size, cost of importing."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import lapmodes

SOURCE = Path(lapmodes.__file__).parent

BASE = {"_native", "_progress", "_records", "_rows"}
ROOMS = {
    "cli": BASE
    | {"explore", "report", "files", "paper", "image", "layers", "selection", "path", "distributed", "_estimator"}
    | {"metrics", "_warnings"},
    "explore": BASE
    | {"report", "plotting", "layers", "path", "metrics", "graph", "_estimator", "_fit", "_predict"}
    | {"_persistence", "_row_map", "_settings", "_validation", "_warnings"},
    "report": {"plotting", "metrics", "_persistence", "_records", "_rows"},
    "files": {"distributed", "scaling", "_persistence", "_archives", "_records", "_rows"},
    "tl": {"layers", "_estimator", "_records", "_rows"},
    "baselines": {"paper"},
    "datasets": {"paper"},
    "paper": BASE
    | {"image", "path", "plotting", "metrics", "graph"}
    | {"_special_cases", "_estimator", "_persistence", "_settings", "_validation", "_warnings"},
    "image": {"plotting", "graph", "_estimator", "_warnings", "_records", "_rows"},
    "layers": {"plotting", "selection", "path", "_estimator", "_fit", "_predict", "_settings", "_validation", "start"}
    | {"_progress", "_records", "_rows", "_warnings"},
    "distributed": {"_estimator", "_persistence", "_predict", "_fit", "_n_clusters", "_row_map", "_settings"}
    | {"_archives", "_validation", "_warnings", "metrics", "graph", "solve", "start"}
    | BASE,
    "selection": {"_estimator", "_n_clusters", "_fit", "_settings", "start", "graph", "_progress", "_records", "_rows"},
    "path": {"_estimator", "_fit", "_predict", "_settings", "_validation", "_progress", "_warnings"}
    | {"_records", "_rows"},
    "_special_cases": {"_estimator", "_settings"},
    "_estimator": BASE
    | {"_fit", "_n_clusters", "_persistence", "_predict", "_row_map", "_settings", "_validation", "_warnings", "solve"},
    "_n_clusters": {"plotting", "_gaussians", "_settings", "_validation", "start", "graph"}
    | {"_progress", "_records", "_rows"},
    "plotting": {"metrics", "_records", "_rows"},
    "_persistence": {"_predict", "_fit", "_row_map", "_settings", "_validation", "_archives", "_records", "graph"},
    "_predict": {"_fit", "_row_map", "_settings", "_validation", "metrics", "graph", "solve", "_records", "_rows"},
    "_fit": {"start", "_settings", "_validation", "graph", "solve", "_progress", "_records", "_rows"},
    "start": BASE | {"_gaussians", "graph", "solve"},
    "_settings": {"_native", "_validation", "_records", "graph", "solve"},
    "_row_map": {"_native", "_validation", "graph", "_records", "_rows"},
    "metrics": {"solve", "_records", "_rows"},
    "graph": BASE,
    "solve": BASE,
    "_gaussians": {"_records", "_rows"},
    "scaling": {"_validation", "_records"},
    "_validation": {"_archives", "_records"},
    "_archives": set(),
    "_warnings": {"_records"},
    "_records": {"_native", "_rows"},
    "_rows": set(),
    "_progress": set(),
    "_native": set(),
    "__init__": set(),
}
"""All rooms, from top to bottom, and what each may import; whatever is not listed is forbidden."""
APART = {"distributed": 12, "explore": 11}
"""Rooms for some users only, which are counted apart: 12 modules each at most."""
LOADS_CLASSES = {("_persistence", "_estimator"), ("_persistence", "_special_cases")}
"""The one way up: `load` looks for the class that a file names, when it is called."""


def room_of(file):
    """First component of a module's place below lapmodes."""
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def run_time_nodes(tree):
    """All nodes but those that are there for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for each in node.orelse if for_types else [node]:
            yield each
            yield from run_time_nodes(each)


def home(name):
    """The room of a name that is imported from lapmodes itself."""
    return lapmodes._HOMES.get(name, name)


def imported_rooms(file):
    """The rooms that a file imports something from, its own included."""
    package = file.relative_to(SOURCE).parts[:-1]
    for node in run_time_nodes(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
            targets = [module[1:] or ["__init__"] for module in modules if module[0] == "lapmodes"]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                path = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            else:
                path = (node.module or "").split(".")
                if path[0] != "lapmodes":
                    continue
                path = path[1:]
            path = [part for part in path if part]
            targets = [path] if path else [[home(alias.name)] for alias in node.names if alias.name != "__version__"]
        else:
            continue
        yield from (target[0] for target in targets)


FILES = sorted(SOURCE.rglob("*.py"))


def test_every_module_belongs_to_a_room_and_every_room_has_one():
    assert {room_of(file) for file in FILES} == set(ROOMS) - {"_native"}


def test_the_table_points_down_only():
    order = list(ROOMS)
    for room, allowed in ROOMS.items():
        assert allowed <= set(order[order.index(room) + 1 :]), room


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_what_the_table_allows(room):
    for file in FILES:
        if room_of(file) == room:
            wrong = {(room, other) for other in imported_rooms(file)} - {
                (room, other) for other in ROOMS[room] | {room}
            }
            assert wrong <= LOADS_CLASSES, f"{file.relative_to(SOURCE)} must not import {wrong}"


def test_no_row_of_the_table_is_wider_than_needed():
    used = {room: set() for room in ROOMS}
    for file in FILES:
        used[room_of(file)] |= set(imported_rooms(file))
    spare = {(room, other) for room, allowed in ROOMS.items() for other in allowed - used[room] - BASE}
    assert spare == set()


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("from ..graph.affinity import KINDS", {"graph"}),
        ("from .. import _native, LaplacianKModes", {"_native", "_estimator"}),
        ("def f():\n    from ..solve import alternate", {"solve"}),
        ("import lapmodes.paper.demo", {"paper"}),
        ("from lapmodes import select", {"selection"}),
        ("from .terms import DenseTerm", {"solve"}),
        ("if TYPE_CHECKING:\n    from ..cli import app\nelse:\n    from ..files import read", {"files"}),
        ("import numpy\nfrom scipy import sparse", set()),
    ],
)
def test_imports_are_seen_in_all_their_forms(tmp_path, monkeypatch, source, rooms):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "solve").mkdir()
    file = tmp_path / "solve" / "module.py"
    file.write_text(source)
    assert set(imported_rooms(file)) == rooms


def test_the_house_stays_small():
    """A file is a chapter; what costs a reader is the number of places."""
    own = [file for file in FILES if room_of(file) not in APART]
    assert len(own) <= 117  # with cli/explore.py, the explorer's twelfth, and tl.py
    assert all(len([file for file in FILES if room_of(file) == room]) <= most for room, most in APART.items())
    native = Path(__file__).parent.parent / "src" / "lapmodes" / "native"
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in [*FILES, *native.glob("*.[hc]pp")]}
    assert {file.name: count for file, count in lines.items() if count > 400} == {}
    assert sum(lines[file] for file in FILES if room_of(file) == "start") <= 700
    assert len(inspect.signature(lapmodes.LaplacianKModes).parameters) <= 16


def test_public_names():
    assert set(lapmodes.__all__) == {
        "DegenerateWarning",
        "InputWarning",
        "KModes",
        "LaplacianKMeans",
        "LaplacianKModes",
        "Layers",
        "Scaler",
        "Selection",
        "explore",
        "fit_layers",
        "fit_path",
        "load",
        "select",
        "sub_cluster",
    }
    assert all(hasattr(lapmodes, name) for name in lapmodes.__all__)
    assert (SOURCE / "py.typed").exists()


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert lapmodes.__version__ == version("lapmodes")


def modules_after(*statements):
    """The modules that the last statement brings, in a fresh interpreter."""
    *before, last = statements
    code = "; ".join(["import sys", *before, "known = set(sys.modules)", last, "print(*set(sys.modules) - known)"])
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_all_public_names_cost_no_more_than_scikit_learns_clusterings():
    """Nothing is imported but the library itself: no plots, no command line, no data frames, and nothing slow."""
    brought = modules_after("import sklearn.cluster", "from lapmodes import *")
    assert {name.split(".")[0] for name in brought} - set(sys.stdlib_module_names) == {"lapmodes"}
    assert {name.split(".")[1] for name in brought if "." in name} & {
        "cli",
        "report",
        "files",
        "plotting",
        "paper",
    } == set()


def test_the_package_itself_brings_nothing_of_others():
    brought = {name.split(".")[0] for name in modules_after("import lapmodes")}
    assert brought - set(sys.stdlib_module_names) == {"lapmodes"}


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
