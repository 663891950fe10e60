"""`lapmodes info`: what is installed here, found without importing it."""

from __future__ import annotations

from typing import Annotated

import typer

from .terminal import with_error_messages

NEEDED = ("numpy", "scipy", "scikit-learn")
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow", "pillow"),
    "plot": ("matplotlib",),
    "map": ("openTSNE",),
    "singlecell": ("anndata",),
    "excel": ("openpyxl",),
    "baselines": ("kmedoids",),
}
FEATURES = ("avx2", "fma", "avx512f", "neon", "asimd")


@with_error_messages
def info(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for a bug report.  [default: lines]")] = False,
) -> None:
    """Versions, threads, processor features and optional packages: what a bug report needs."""
    import json

    groups = facts()
    if as_json:
        typer.echo(json.dumps(groups, indent=2))
        return
    for group, values in groups.items():
        typer.echo(f"{group}")
        for name, value in values.items():
            typer.echo(f"  {name:<14} {value}")


def facts() -> dict[str, dict[str, str]]:
    """Groups of names and values."""
    import platform

    from .. import __version__, _native

    return {
        "lapmodes": {"version": __version__, "python": platform.python_version(), "system": platform.platform()},
        "processor": {
            "kind": platform.machine(),
            "features": ", ".join(cpu_features()) or "not known",
            "kernels for": _native.isa(),
            "threads": str(_native.max_threads()),
        },
        "needed": {name: installed(name) for name in NEEDED},
        "optional": {name: f"{installed(name)} (extra {extra})" for extra, names in EXTRAS.items() for name in names},
    }


def installed(name: str) -> str:
    """The version of a package, or that it is not there."""
    from importlib.metadata import PackageNotFoundError, version

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
