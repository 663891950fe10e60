"""`lapmodes fit`: cluster the rows of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from .options import (
    ArrayName,
    Columns,
    Config,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Impute,
    Jobs,
    Missing,
    NoFormulas,
    Overwrite,
    Quiet,
    Scale,
    Seed,
    refuse_old_word,
)
from .terminal import printer, progress_bars, with_error_messages

if TYPE_CHECKING:
    from .fitting import FitOptions, FitRun

Metric = Literal["euclidean", "cosine"]
AFFINITIES = ("auto", "binary", "heat", "self-tuning", "entropic", "anchor")
SECOND_SCREEN = {
    "Model and running": (
        *("lam", "bandwidth", "affinity", "neighbors", "seed", "set", "config", "workers", "memory", "scheduler"),
    ),
    "Data": ("categories", "impute", "delimiter", "decimal", "encoding", "array", "graph", "names", "image"),
}
"""Options that ``--help`` leaves to ``--help-more``, group by group."""
MORE = "lapmodes.help-more"


class TwoScreens(TyperCommand):
    """A command whose help takes two screens: what most people need, and the rest."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Say what the command does, on the first screen only."""
        if MORE not in ctx.meta:
            super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options of one screen."""
        group_of = {name: title for title, names in SECOND_SCREEN.items() for name in names}
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            group, record = group_of.get(parameter.name or ""), parameter.get_help_record(ctx)
            if record is not None and (group is not None) == (MORE in ctx.meta):
                groups.setdefault(group or f"{parameter.param_type_name}s".capitalize(), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def show_more(context: typer.Context, wanted: bool) -> bool:
    """Print the second screen, and end."""
    if wanted and not context.resilient_parsing:
        context.meta[MORE] = True
        typer.echo(context.get_help())
        raise typer.Exit
    return wanted


def check_affinity(kind: str) -> str:
    """The kind of weights, if there is one of that name."""
    if kind in AFFINITIES:
        return kind
    try:
        refuse_old_word("--affinity", kind)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.BadParameter(f"{kind!r} is not one of {', '.join(map(repr, AFFINITIES))}.")


@with_error_messages
def fit(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Table, array, picture or folder; - is CSV on stdin."),
    ],
    clusters: Annotated[
        str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters; 3,8,20: levels.")
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Result. [default: DATA.lapmodes]")
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    keep: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns to copy to the output. [default: none]")
    ] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="A", help="Known classes to compare with. [default: none]")
    ] = None,
    missing: Missing = "auto",
    impute: Impute = None,
    scale: Scale = "auto",
    metric: Annotated[Metric, typer.Option(metavar="KIND", help="Or cosine, for embeddings.")] = "euclidean",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    lam: Annotated[str, typer.Option(metavar="NUMBER", help="Smoothness of the clusters.")] = "auto",
    bandwidth: Annotated[str, typer.Option(metavar="NUMBER", help="Kernel width, or entropic.")] = "auto",
    affinity: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            callback=check_affinity,
            autocompletion=lambda: AFFINITIES,
            help="binary heat self-tuning entropic anchor",
        ),
    ] = "auto",
    neighbors: Annotated[int | None, typer.Option(min=1, metavar="N", help="In the graph. [default: 10]")] = None,
    graph: Annotated[bool, typer.Option(help="Use an .h5ad's graph.")] = True,
    seed: Seed = 0,
    set: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Other parameters. [default: none]")
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    array: ArrayName = None,
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A matrix's columns, one a line. [default: none]")
    ] = None,
    categories: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns of words to use, or all. [default: none]")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="HxW", help="Rows are pictures of this size. [default: no]")
    ] = None,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    no_formulas: NoFormulas = False,
    jobs: Jobs = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="For data larger than memory. [default: none]")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of each worker, as 2GB. [default: shared]")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address of a Dask cluster. [default: none]")
    ] = None,
    config: Config = None,
    help_more: Annotated[
        bool,
        typer.Option(
            "--help-more", is_eager=True, callback=show_more, help="Show the other options: data, model, running."
        ),
    ] = False,
) -> None:
    """Cluster the rows of DATA into K clusters and explain the result in a report."""
    from ..files.formats import is_picture
    from .fitting import FitOptions

    options = FitOptions(
        data=data,
        clusters=clusters,
        columns=columns,
        drop=drop,
        keep=keep,
        truth=truth,
        missing=missing,
        impute=impute,
        scale=scale,
        lam=lam,
        bandwidth=bandwidth,
        affinity=affinity,
        neighbors=neighbors,
        metric=metric,
        seed=seed,
        jobs=jobs,
        set=set or [],
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        array=array,
        names=names,
        categories=categories,
        image=image,
        graph=graph,
        no_formulas=no_formulas,
    )
    cluster = ClusterOptions(workers, memory, scheduler)
    if cluster.wanted or has_magic(str(data)):
        fit_on_cluster(options, cluster, output, report=report, overwrite=overwrite, quiet=quiet)
    elif is_picture(data):
        fit_picture(options, output, overwrite=overwrite, quiet=quiet)
    else:
        fit_rows(options, output, report=report, overwrite=overwrite, quiet=quiet)


def fit_picture(options: FitOptions, output: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Segment a picture, as ``lapmodes segment`` does."""
    from .options import levels_of
    from .segment import SegmentOptions, segment_picture

    numbers = levels_of(options.clusters)
    if not numbers:
        raise ValueError("A picture does not say how many segments it has. Say so, for example with -k 6.")
    if len(numbers) > 1:
        raise ValueError(f"A picture is segmented once: give one number with -k. Got {options.clusters!r}.")
    cut = SegmentOptions(image=options.data, segments=numbers[0], seed=options.seed, jobs=options.jobs)
    segment_picture(cut, output, overwrite=overwrite, quiet=quiet)


def fit_rows(options: FitOptions, output: Path | None, *, report: bool, overwrite: bool, quiet: bool) -> None:
    """Fit and write the whole folder of results, or nothing."""
    from ..files.atomic import check_place, output_folder, stem
    from .fitting import fit_model, prepare
    from .outputs import write_folder

    target = output or Path(f"{stem(options.data)}.lapmodes")
    apart = check_place(target, named=output is not None, overwrite=overwrite)
    say = printer(quiet=quiet)
    with progress_bars(quiet=quiet) as bars:
        run = fit_model(prepare(options, bars, say))
        with bars.phase("Writing"), output_folder(target, apart=apart) as (folder, place):
            write_folder(folder, run, place, report=report, watch=bars)
    for line in closing_lines(run):
        say(line)
    say(f"Open {place / 'report.html'}" if report else f"Result in {place}")


def closing_lines(run: FitRun) -> list[str]:
    """What a person wants to know at once."""
    from ..files.base import counted, listed
    from .outputs import agreement, cluster_sizes

    sizes = cluster_sizes(run)
    lines = [f"Note: {note}" for note in run.notes]
    counts = ", ".join(f"{count:,}" for count in sizes[:12]) + (" …" if sizes.size > 12 else "")
    lines.append(f"{counted(sizes.size, 'cluster')} of {counts} {'row' if sizes.tolist() == [1] else 'rows'}.")
    if run.layers is not None:
        others = listed([K for K in run.layers.n_clusters if run.layers.reference != K])
        lines.append(f"The levels with {others} clusters are in the files levels and tree.")
    if run.truth is not None:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in agreement(run).items())
        lines.append(f"Agreement with the known classes: {scores}.")
    return lines


# Data larger than memory: many files, and workers that each hold a part of them.


@dataclass(frozen=True)
class ClusterOptions:
    """Who does the work."""

    workers: int | None = None
    memory: str | None = None
    scheduler: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether any of them was named."""
        return any(value is not None for value in asdict(self).values())


CONNECT_SECONDS = 10.0
NOT_ON_A_CLUSTER = ("keep", "truth", "categories", "image", "names", "delimiter", "decimal", "encoding", "array")
"""Options of ``fit`` that need all rows in one place, or files that are read whole."""


def fit_on_cluster(
    options: FitOptions, cluster: ClusterOptions, output: Path | None, *, report: bool, overwrite: bool, quiet: bool
) -> None:
    """Fit the rows of many files on workers, and write the whole folder of results, or nothing."""
    from ..files.atomic import check_place, output_folder, stem
    from ..files.base import counted
    from .options import check_on_cluster
    from .outputs import write_dataset

    check_on_cluster(options, cluster, NOT_ON_A_CLUSTER)
    name = stem(options.data).replace("*", "").replace("?", "").strip("-_. ") or options.data.absolute().parent.name
    target = output or Path(f"{name}.lapmodes")
    apart = check_place(target, named=output is not None, overwrite=overwrite)
    say = printer(quiet=quiet)
    with progress_bars(quiet=quiet) as bars, workers_of(cluster) as client:
        run = fit_dataset(options, cluster, client, bars, say)
        with bars.phase("Writing"), output_folder(target, apart=apart) as (folder, place):
            write_dataset(folder, run, report=report, watch=bars)
        sizes = run.model.sizes_
    counts = ", ".join(f"{count:,}" for count in sizes[:12]) + (" …" if sizes.size > 12 else "")
    for note in run.notes:
        say(f"Note: {note}")
    say(f"{counted(sizes.size, 'cluster')} of {counts} rows.")
    say(f"Open {place / 'report.html'}" if report else f"Result in {place}")


@contextmanager
def workers_of(cluster: ClusterOptions) -> Iterator[Any]:
    """A client of the cluster that is named, or of new workers on this machine, which end with it."""
    try:
        from distributed import Client

        from ..distributed.cluster import ClusterError, local_cluster
    except ImportError as error:
        raise ImportError("--workers and --scheduler need dask: pip install 'lapmodes[distributed]'") from error

    if cluster.scheduler is None:
        with local_cluster(cluster.workers, cluster.memory or "auto") as local, Client(local) as client:
            yield client
        return
    try:
        client = Client(cluster.scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ClusterError(f"There is no Dask scheduler at {cluster.scheduler!r}: start one, or check it.") from error
    with client:
        yield client


@dataclass(frozen=True)
class ClusterRun:
    """Many files on their way to clusters."""

    options: FitOptions
    cluster: ClusterOptions
    dataset: Any
    model: Any
    lines: list[str]
    """What was read and how it was prepared."""
    notes: list[str]


def fit_dataset(
    options: FitOptions, cluster: ClusterOptions, client: Any, bars: Any, say: Callable[[str], None]
) -> ClusterRun:
    """Learn from a sample how rows become points, and fit all of them on the workers."""
    from .._warnings import warnings_as_notes
    from ..distributed import LaplacianKModes
    from ..distributed.cluster import Tasks
    from ..files.base import counted
    from ..files.prepared import Dataset
    from .fitting import estimator, scaling_line
    from .options import column_list, further_parameters

    missing = "impute" if options.missing == "impute" or options.impute else "error"
    with bars.phase("Reading"):
        dataset = Dataset.of(
            str(options.data),
            Tasks(client),
            columns=column_list(options.columns) or None,
            drop=column_list(options.drop),
            scale=options.scale,
            missing=missing,
            impute=options.impute,
        )
    recipe = dataset.recipe
    lines = [f"Reading {counted(dataset.n_rows, 'row')}; using {counted(len(recipe.features), 'column')}."]
    lines += [f"Left out column {name!r}: {reason}." for name, reason in recipe.dropped[:20]]
    lines += [scaling_line(recipe), *recipe.doubts]
    for line in lines:
        say(line)
    only_here = {"exact", "parts", "checkpoint"}
    further = further_parameters(options.set)
    plain = replace(options, set=[pair for pair in options.set if pair.partition("=")[0].strip() not in only_here])
    parameters = estimator(plain, bars).get_params(deep=False) | {"client": client}
    parameters |= {name: further[name] for name in only_here & further.keys()}
    if options.clusters == "auto":
        parameters["n_clusters"] = "auto"
    with warnings_as_notes() as notes:
        model = LaplacianKModes(**parameters).fit(dataset.points())
    model.set_params(verbose=False)
    return ClusterRun(options, cluster, dataset, model, lines, notes)
