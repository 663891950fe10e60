"""What is installed here, found without importing it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .. import __version__, _native
from .._settings import effective_threads

NEEDED = ("numpy", "scipy", "scikit-learn")
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow", "pillow", "plotly"),
    "plot": ("matplotlib",),
    "singlecell": ("anndata",),
    "baselines": ("kmedoids",),
}
FEATURES = ("avx2", "fma", "avx512f", "neon", "asimd")


def facts() -> dict[str, dict[str, str]]:
    """Groups of names and values."""
    return {
        "lapmodes": {"version": __version__, "python": platform.python_version(), "system": platform.platform()},
        "processor": {
            "kind": platform.machine(),
            "features": ", ".join(cpu_features()) or "not known",
            "kernels for": _native.isa(),
            "threads": str(effective_threads(None)),
        },
        "needed": {name: installed(name) for name in NEEDED},
        "optional": {name: f"{installed(name)} (extra {extra})" for extra, names in EXTRAS.items() for name in names},
    }


def installed(name: str) -> str:
    """The version of a package, or that it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def cpu_features() -> list[str]:
    """Vector instructions that the kernels can use, as far as the system tells."""
    try:
        with open("/proc/cpuinfo") as stream:
            flags = next((line for line in stream if line.lower().startswith(("flags", "features"))), "")
    except OSError:
        return []
    return [name for name in FEATURES if name in flags.split()]
