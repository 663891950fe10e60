"""`lapmodes explore`: look at a clustering and mend it in the browser; `lapmodes replay`: do all of it again."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .options import Clusters, Columns, Drop, Jobs, Missing, Overwrite, Quiet, Scale, Seed, to_toml
from .terminal import printer, progress_bars, with_error_messages

if TYPE_CHECKING:
    from ..explore.acts import Act
    from ..explore.session import Session
    from ..explore.states import State
    from ..explore.study import Study
    from .fitting import FitOptions, FitRun

Metric = Literal["euclidean", "cosine"]
HEAD = "# Do this again: lapmodes replay THIS_FILE\n"
WORKSPACE = "explore"
"""The folder inside of a fit's that holds the journal, and places that took long to compute."""


@with_error_messages
def explore(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file that fit reads, or the folder that fit wrote.")],
    clusters: Clusters = "auto",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Of the page. [default: a free one]")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew; forget what was done before.")] = False,
    columns: Columns = None,
    drop: Drop = None,
    missing: Missing = "auto",
    scale: Scale = "auto",
    metric: Annotated[Metric, typer.Option(metavar="KIND", help="Or cosine, for embeddings.")] = "euclidean",
    image: Annotated[
        str | None, typer.Option(metavar="HxW", help="Rows are pictures of this size. [default: no]")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Explore the clusters of DATA in the browser: turn knobs, mend, name, save; Ctrl-C ends it."""
    from ..explore.server import Running
    from ..explore.worker import Explorer
    from .fitting import FitOptions

    say = printer(quiet=quiet)
    folder = data
    if not is_result(data):
        options = FitOptions(
            data=data,
            clusters=clusters,
            columns=columns,
            drop=drop,
            missing=missing,
            scale=scale,
            metric=metric,
            image=image,
            seed=seed,
            jobs=jobs,
        )
        folder = at_hand(options, say) or fitted_folder(options, say, quiet=quiet)
    if fresh:
        (folder / WORKSPACE / "journal.jsonl").unlink(missing_ok=True)
    server = Running(lambda: Explorer(study_of_run(resumed(folder, jobs), folder / WORKSPACE)), data.name, port)
    try:
        server.start()
        say(f"Explore at {server.url}")
        if browser:
            typer.launch(server.url)
        if server.explorer.resumed:
            say(f"Did again what was done before ({server.explorer.resumed} acts); --fresh begins anew.")
        say("Ctrl-C ends it.")
        server.wait()
    except KeyboardInterrupt:
        say("Ended.")
    finally:
        server.close()


@with_error_messages
def replay(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe.toml that the explorer saved.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Result. [default: DATA.replayed]")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the data is now. [default: where it was]")
    ] = None,
    overwrite: Overwrite = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Do again, from the raw file, what a recipe of the explorer says."""
    from ..explore.session import repeated
    from ..explore.states import Base
    from ..files.atomic import check_place, stem
    from ..files.base import counted
    from .fitting import fit_model, prepare

    say = printer(quiet=quiet)
    options, acts, mark = read_recipe(recipe, data, jobs)
    target = output or Path(f"{stem(options.data)}.replayed")
    apart = check_place(target, named=output is not None, overwrite=overwrite)
    if mark and mark != digest(options.data):
        say(f"Note: {str(options.data)!r} is not the file that it was; the labels may differ.")
    with progress_bars(quiet=quiet) as bars:
        run = fit_model(prepare(options, bars, say))
        session = repeated(acts, Base(run.model, model_points(run)), bars)
        place, _ = write_state(run, session.state, session.acts, target, apart=apart)
    say(f"Did {counted(len(session.acts), 'act')} again; {counted(session.state.n_clusters, 'cluster')}.")
    say(f"Result in {place}")


def begin(data: str, clusters: str = "auto", **options: Any) -> Session:
    """A session with the first fit of a file, by the options of ``lapmodes fit``; for recipes in Python."""
    from ..explore.session import Session
    from ..explore.states import Base
    from .fitting import FitOptions, fit_model, prepare
    from .terminal import Bars

    named: dict[str, Any] = {name: Path(value) if name == "names" else value for name, value in options.items()}
    run = fit_model(prepare(FitOptions(data=Path(data), clusters=clusters, **named), Bars(), lambda line: None))
    return Session(Base(run.model, model_points(run)))


# From a file or a folder to a fitted run.


def is_result(data: Path) -> bool:
    """Whether this is a folder that fit wrote."""
    return data.is_dir() and (data / "model.npz").is_file() and (data / "parameters.toml").is_file()


def options_of(values: dict[str, Any], where: Path) -> FitOptions:
    """The options of a fit, as a TOML file holds them."""
    from ..files import FileError
    from .fitting import FitOptions

    known = {field.name for field in fields(FitOptions)}
    given = {name: value for name, value in values.items() if name != "command"}
    if values.get("command", "fit") != "fit" or not {"data", "clusters"} <= given.keys() <= known:
        raise FileError(f"{str(where)!r} does not hold the options of a fit.")
    paths: dict[str, Any] = {name: Path(given[name]) for name in ("data", "names") if name in given}
    return FitOptions(**(given | paths))


def read_toml(file: Path) -> dict[str, Any]:
    """What a TOML file holds."""
    from ..files import FileError
    from ..files.base import existing_file, first_line

    try:
        return tomllib.loads(existing_file(file).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{str(file)!r} cannot be read: {first_line(error)}.") from error


def resumed(folder: Path, jobs: int | None = None) -> FitRun:
    """The run whose results a folder holds: the raw file read again, the model and the preparation as they were."""
    import numpy as np

    from ..files import FileError, PreparedModel, read
    from ..files.atomic import PIPE
    from ..files.gaps import count_gaps, filled
    from .fitting import FitRun, true_labels
    from .options import reading_of

    options = options_of(read_toml(folder / "parameters.toml"), folder / "parameters.toml")
    if options.data == PIPE:
        raise FileError("This fit read its data from a pipe. Save the data to a file, fit that, and explore it.")
    reading = reading_of(options.delimiter, options.encoding, options.array, options.image, options.decimal)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(PreparedModel.load, folder / "model.npz")
        table = read(options.data, reading)
        prepared = loading.result()
    recipe, model = prepared.recipe, prepared.model.set_params(n_jobs=jobs)
    raw = recipe.values(table)
    gaps = count_gaps(raw)
    if recipe.impute is not None:
        raw = filled(raw, np.asarray(recipe.fill))
    elif gaps.any():
        raw = raw[gaps == 0]
    if raw.shape[0] != model.labels_.size:
        raise FileError(f"{str(options.data)!r} has changed since the fit in {str(folder)!r}. Fit it again.")
    return FitRun(
        options=options,
        table=table,
        recipe=recipe,
        raw=raw,
        points=recipe.scaled(raw),
        gaps=gaps,
        graph=None,
        truth=true_labels(table, options.truth),
        model=model,
        selection=None,
    )


def at_hand(options: FitOptions, say: Callable[[str], None]) -> Path | None:
    """The folder with the fit of a file by the same options, if there is one that is not older than the file."""
    from ..files.atomic import stem
    from .outputs import lasting_path

    target = Path(f"{stem(options.data)}.lapmodes")
    if not is_result(target) or not options.data.exists():
        return None
    values = read_toml(target / "parameters.toml")
    asked = asdict(options) | {"data": lasting_path(options.data), "jobs": values.get("jobs")}
    newer = (target / "model.npz").stat().st_mtime >= options.data.stat().st_mtime
    if not newer or tomllib.loads(to_toml("fit", asked)) != values:
        return None
    say(f"Using the fit in {target}.")
    return target


def fitted_folder(options: FitOptions, say: Callable[[str], None], *, quiet: bool) -> Path:
    """Fit, and write the results as ``lapmodes fit`` does; the report is left to the explorer."""
    from ..files.atomic import output_folder, stem
    from ..files.formats import is_picture
    from .fitting import fit_model, prepare
    from .outputs import write_folder

    if is_picture(options.data):
        raise ValueError("One picture has no rows to explore. Name a table, or a folder of pictures.")
    with progress_bars(quiet=quiet) as bars:
        run = fit_model(prepare(options, bars, say))
        target = Path(f"{stem(options.data)}.lapmodes")
        with bars.phase("Writing"), output_folder(target, apart=True) as (folder, place):
            write_folder(folder, run, place, report=False)
    say(f"The fit is in {place}.")
    return place


def model_points(run: FitRun) -> Any:
    """The rows as the model sees them."""
    from ..report.content import points_of

    return points_of(run.model, run.points)


def study_of_run(run: FitRun, workspace: Path | None) -> Study:
    """What the explorer shows of a run."""
    from ..explore.states import Base
    from ..explore.study import Study
    from ..files.atomic import file_name, stem
    from .outputs import report_content

    content = report_content(run, Path(f"{stem(run.options.data)}.lapmodes"))
    where: list[Path] = []

    def save(state: State, acts: list[Act]) -> tuple[Path, list[str]]:
        target = where[0] if where else Path(f"{stem(run.options.data)}.explored").absolute()
        place, files = write_state(run, state, acts, target, apart=not where)
        where[:] = [place]
        return place, files

    base, title = Base(run.model, content.points), file_name(run.options.data).name
    return Study(content, base, run.recipe.in_units, title, workspace, save, lambda: long_texts(run))


def long_texts(run: FitRun) -> dict[str, list[str]]:
    """The columns of text that were not used, for a search."""
    if run.table.columns is None:
        return {}
    from pyarrow import types

    columns = run.table.columns
    names = [
        name
        for name, kind in zip(columns.column_names, columns.schema.types, strict=True)
        if types.is_string(kind) or types.is_large_string(kind)
    ]
    taken = columns.select(names).take(run.rows)
    return {name: ["" if value is None else value for value in taken.column(name).to_pylist()] for name in names}


# Results and recipes.


def write_state(run: FitRun, state: State, acts: list[Act], target: Path, *, apart: bool) -> tuple[Path, list[str]]:
    """Everything that fit writes, with names, and the recipe; the folder appears whole."""
    from ..explore.session import recipe_python, recipe_toml
    from ..files.atomic import output_folder
    from ..report import write_page
    from .outputs import report_content, write_folder

    model = copy(state.model)
    model.cluster_names_ = state.names if any(state.names) else ()
    left = None if state.left_out is None or not state.left_out.any() else state.left_out
    done = replace(run, model=model, layers=None, selection=None, left_out=left, notes=(*run.notes, *state.notes))
    with output_folder(target, apart=apart) as (folder, place):
        write_folder(folder, done, place, report=False)
        options = asdict(run.options) | {"data": str(run.options.data.absolute())}
        (folder / "recipe.toml").write_text(recipe_toml(acts, recipe_head(options)), encoding="utf-8")
        (folder / "recipe.py").write_text(recipe_python(acts, python_head(options)), encoding="utf-8")
        again = ("Do exactly this again", f"lapmodes replay {place / 'recipe.toml'}")
        content = report_content(done, place)
        notes = content.notes if left is None else (*content.notes, left_out_note(int(left.sum())))
        write_page(folder / "report.html", replace(content, notes=notes, commands=(content.commands[0], again)))
        files = sorted(file.name for file in folder.iterdir())
    return place, files


def left_out_note(count: int) -> str:
    """What the report says of rows that were left out."""
    from ..files.base import counted

    return (
        f"{counted(count, 'row')} were left out of the fit by hand. The files put them into no cluster (-1); this page "
        "shows them in the cluster of the row nearest to them."
    )


def recipe_head(options: dict[str, Any]) -> str:
    """How a recipe begins: the data, and the options of the first fit."""
    from .. import __version__

    data = Path(options["data"])
    plain = to_toml("fit", options).split("\n", 2)[2]
    mark = digest(data)
    return f'{HEAD}lapmodes = "{__version__}"\nsha256 = "{mark}"\n\n[fit]\n{plain}'


def python_head(options: dict[str, Any]) -> str:
    """How a recipe in Python begins."""
    given = {name: value for name, value in options.items() if value not in (None, [])}
    from .fitting import FitOptions

    usual = {field.name: field.default for field in fields(FitOptions)}
    told = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
    changed = ", ".join(f"{name}={value!r}" for name, value in told.items() if value != usual.get(name))
    return f"from lapmodes.cli.explore import begin\n\nsession = begin({changed})\n"


def read_recipe(file: Path, data: Path | None, jobs: int | None) -> tuple[FitOptions, Any, str]:
    """The options, the acts, and what tells the data from other data."""
    from ..files import FileError

    values = read_toml(file)
    if not isinstance(values.get("fit"), dict):
        raise FileError(f"{str(file)!r} is no recipe of the explorer: it has no table [fit].")
    options = options_of(values["fit"], file)
    options = replace(options, jobs=jobs, data=options.data if data is None else data)
    return options, values.get("act", []), str(values.get("sha256", ""))


def digest(data: Path) -> str:
    """What tells a file from others; empty for a folder, and where there is none."""
    if not data.is_file():
        return ""
    with open(data, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
