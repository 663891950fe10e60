"""The work of `lapmodes fit`: run, write the folder, say what came out."""

from __future__ import annotations

from pathlib import Path

import typer

from ..files.atomic import check_folder_target, file_name, whole_folder
from ..files.formats import is_picture
from ..report.page import plotly_file
from .outputs import agreement, sizes, write_all
from .progress import bars
from .run import Outcome, Wish, number_of_clusters, run


def fit_command(wish: Wish, output: Path | None, *, report: bool, overwrite: bool, quiet: bool) -> None:
    """Fit and write everything, or nothing."""
    if is_picture(wish.data):
        from .segment_command import Cut, segment_command

        if wish.clusters == "auto":
            raise ValueError("A picture does not say how many segments it has. Say so, for example with -k 6.")
        cut = Cut(wish.data, number_of_clusters(wish.clusters), seed=wish.seed, jobs=wish.jobs)
        segment_command(cut, output, overwrite=overwrite, quiet=quiet)
        return
    target = output or default_folder(wish.data)
    check_folder_target(target, overwrite=overwrite)
    if report:
        plotly_file()  # said before the work, not after it

    def tell(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    with bars(quiet=quiet) as shown:
        outcome = run(wish, shown, tell)
        with shown.phase("Writing"), whole_folder(target) as folder:
            write_all(folder, outcome, target, report=report)
    for line in closing_lines(outcome, target, report=report):
        tell(line)


def default_folder(data: Path) -> Path:
    """Where a result goes if nobody says: beside where the command runs, named after the data."""
    return Path(f"{file_name(data).absolute().stem}.lapmodes")


def closing_lines(outcome: Outcome, target: Path, *, report: bool) -> list[str]:
    """What a person wants to know at once."""
    model = outcome.model
    lines = [f"Note: {note}" for note in outcome.notes]
    counts = ", ".join(f"{count:,}" for count in sizes(model)[:12])
    lines.append(f"{model.n_clusters} clusters of {counts}{' …' if model.n_clusters > 12 else ''} rows.")
    if outcome.truth is not None:
        shown = agreement(outcome.truth, model.labels_)
        lines.append("Agreement with the known classes: " + ", ".join(f"{k} {v:.3f}" for k, v in shown.items()) + ".")
    lines.append(f"Open {target / 'report.html'}" if report else f"Result in {target}")
    return lines
