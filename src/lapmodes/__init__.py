"""Laplacian K-modes clustering: exactly K clusters of any shape, a mode for each, soft assignments."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._estimator import LaplacianKModes
    from ._persistence import load
    from ._special_cases import KModes, LaplacianKMeans
    from ._warnings import DegenerateWarning, InputWarning
    from .explore import explore
    from .layers import Layers, fit_layers
    from .path import fit_path, sub_cluster
    from .scaling import Scaler
    from .selection import Selection, select

__version__ = "0.2.0"

__all__ = [
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
]

# Where each name lives. They are imported when first used, so that the command line's help and completion are instant.
_HOMES = {
    "DegenerateWarning": "_warnings",
    "InputWarning": "_warnings",
    "KModes": "_special_cases",
    "LaplacianKMeans": "_special_cases",
    "LaplacianKModes": "_estimator",
    "Layers": "layers",
    "Scaler": "scaling",
    "Selection": "selection",
    "fit_layers": "layers",
    "fit_path": "path",
    "load": "_persistence",
    "select": "selection",
    "sub_cluster": "path",
}


def __getattr__(name: str) -> Any:
    if name in ("PathPoint", "Solution"):
        raise AttributeError(f"lapmodes.{name} is gone since version 0.2: fit_path yields fitted models.")
    if name == "explore":  # a module that can be called
        return import_module(".explore", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'lapmodes' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
