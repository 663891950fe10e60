"""The paper's figures 2 and 3 on synthetic data: ``python -m lapmodes.paper.demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..plotting import NEEDS_MATPLOTLIB
from . import figure2, figure3
from .data import make_moons_with_outliers, make_spirals
from .results import Fit

DPI = 150


def main(argv: Sequence[str] | None = None) -> int:
    """Cluster both sets, draw both figures, print a table; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m lapmodes.paper.demo", description="Draw the paper's figures 2 and 3."
    )
    parser.add_argument("--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    output: Path = parser.parse_args(argv).output
    try:
        import matplotlib  # noqa: F401 - a missing package is reported before the work, not after it
    except ImportError:
        print(NEEDS_MATPLOTLIB, file=sys.stderr)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    X, y = make_spirals(random_state=0)
    spirals = figure2.cluster(X, y)
    save(figure2.draw(X, spirals), output / "figure2_spirals.png")
    X, y = make_moons_with_outliers(random_state=0)
    moons = figure3.cluster(X, y)
    save(figure3.draw(X, moons), output / "figure3_moons.png")
    print(table([*spirals, *moons]))
    print(f"\nPictures: {output / 'figure2_spirals.png'} and {output / 'figure3_moons.png'}")
    return 0


def save(figure: Any, file: Path) -> None:
    """Write a picture."""
    figure.savefig(file, dpi=DPI, bbox_inches="tight", pad_inches=0.05)


def table(fits: Sequence[Fit]) -> str:
    """One aligned line for each fit."""
    head = f"{'data':<16} {'algorithm':<18} {'accuracy':>8} {'objective':>10} {'gap':>8} {'seconds':>8}"
    lines = [
        f"{fit.data:<16} {fit.algorithm:<18} {fit.accuracy:>8.3f} {fit.model.objective_:>10.3f} "
        f"{fit.model.gap_:>8.1e} {fit.seconds:>8.2f}"
        for fit in fits
    ]
    return "\n".join([head, "-" * len(head), *lines, "", "Accuracy on the moons is of inliers only."])


if __name__ == "__main__":
    raise SystemExit(main())
