"""The command `lapmodes`, the list of its subcommands, and `lapmodes info`: what is installed, without importing it."""

from __future__ import annotations

from typing import Annotated

import typer

from .explore import explore, replay
from .fit import TwoScreens, fit
from .path import path
from .predict import predict
from .reproduce import demo, reproduce
from .segment import segment
from .terminal import with_error_messages

NEEDED = ("numpy", "scipy", "scikit-learn")
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow", "pillow"),
    "plot": ("matplotlib",),
    "map": ("openTSNE",),
    "explore": ("starlette", "uvicorn", "websockets"),
    "singlecell": ("anndata",),
    "excel": ("openpyxl",),
    "baselines": ("kmedoids",),
    "distributed": ("dask", "distributed", "zarr"),
}
FEATURES = ("avx2", "fma", "avx512f", "neon", "asimd")


def show_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lapmodes {version('lapmodes')}")
        raise typer.Exit


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


app = typer.Typer(
    name="lapmodes",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)


@app.callback(epilog="Start with: lapmodes fit YOUR.csv, then open the report that it names.")
def lapmodes(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Laplacian K-modes clustering: K clusters of any shape, each with a mode."""


app.command(short_help="Cluster the rows of a file.", cls=TwoScreens)(fit)
app.command(short_help="Look at the clusters and mend them in the browser.")(explore)
app.command(short_help="Do again what was done in the explorer.")(replay)
app.command(short_help="Put the rows of another file into the clusters.")(predict)
app.command(short_help="Follow the clusters from K-means to narrow kernels.")(path)
app.command(short_help="Divide a picture into segments.")(segment)
app.command(short_help="Draw the paper's spirals and moons.")(demo)
app.command(short_help="Run the paper's experiments.")(reproduce)
app.command(short_help="Versions, threads and optional packages.")(info)
