"""Options: those that several commands share, what their text means, and TOML files that hold them."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ..files import Reading

NOT_SAVED = ("config", "quiet", "overwrite", "help_more")
"""Options that say how to run, not what to compute; a TOML file of a run does not hold them."""

RENAMED = {("--bandwidth", "adaptive"): "entropic", ("--affinity", "adaptive"): "self-tuning"}
"""Words of version 0.1, and what they are called now."""


def from_toml(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of the command; what is on the command line wins."""
    if path is None or context.resilient_parsing:
        return path
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        why = "its values are nested too deeply" if isinstance(error, RecursionError) else why
        raise typer.BadParameter(f"{str(path)!r} cannot be read: {why}.") from error
    command = values.pop("command", context.info_name)
    if command != context.info_name:
        raise typer.BadParameter(f"{str(path)!r} was written for `lapmodes {command}`.")
    known = {parameter.name for parameter in context.command.params}
    unknown = sorted({key.replace("-", "_") for key in values} - known)
    if unknown:
        options = ", ".join(sorted(known - set(NOT_SAVED)))
        raise typer.BadParameter(f"{str(path)!r} has an unknown option {unknown[0]!r}. Known are {options}.")
    context.default_map = {key.replace("-", "_"): value for key, value in values.items()}
    return path


Clusters = Annotated[str, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.")]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="Columns to use. [default: all numbers]")]
Drop = Annotated[str | None, typer.Option(metavar="A,B", help="Columns to leave out. [default: none]")]
Missing = Annotated[
    Literal["auto", "drop", "impute", "error"],
    typer.Option(metavar="RULE", help="Rows with gaps: drop impute error."),
]
Impute = Annotated[
    Literal["mean", "median", "zero"] | None,
    typer.Option(metavar="RULE", help="Fill gaps: mean median zero. [default: no]"),
]
Scale = Annotated[
    Literal["auto", "none", "standard", "robust", "minmax", "unit"],
    typer.Option(metavar="RULE", help="none standard robust minmax unit."),
]
Delimiter = Annotated[str | None, typer.Option(metavar="SIGN", help="Of a CSV file. [default: found]")]
Decimal = Annotated[str | None, typer.Option(metavar="SIGN", help="Of numbers in text. [default: found]")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of text. [default: found]")]
ArrayName = Annotated[str | None, typer.Option(metavar="NAME", help="Of an .npz or .h5ad. [default: X, X_pca]")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the random start.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Threads. [default: all cores]")]
NoFormulas = Annotated[bool, typer.Option("--no-formulas", help="In CSV, ' before text like =A1. [default: no]")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace earlier output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Config = Annotated[
    Path | None,
    typer.Option(is_eager=True, callback=from_toml, metavar="FILE", help="Options as TOML. [default: none]"),
]


def to_toml(command: str, values: Mapping[str, Any]) -> str:
    """The options of a run, which ``--config`` reads again."""
    lines = [f"# Run this again: lapmodes {command} --config THIS_FILE", f'command = "{command}"']
    for name, value in values.items():
        if name in NOT_SAVED or value is None or value == []:
            continue
        lines.append(f"{name} = {_toml_value(value)}")
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml_value(each) for each in value)}]"
    # a TOML basic string is a JSON string in which the sign DEL is escaped too
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def column_list(text: str | None) -> list[str]:
    """Names between commas, each once; quotes around those that hold commas themselves."""
    if text is None:
        return []
    names = (name.strip() for name in next(csv.reader([text], skipinitialspace=True)))
    return list(dict.fromkeys(name for name in names if name))


def number_or_word(text: str, option: str, words: Sequence[str] = ("auto",)) -> float | str:
    """A number of at least 0, or one of the words that the estimator knows."""
    refuse_old_word(option, text)
    if text in words:
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value >= 0:
        choices = " or ".join(map(repr, words))
        raise ValueError(f"{option} must be a number of at least 0, or {choices}. Got {text!r} instead.")
    return value


def refuse_old_word(option: str, text: str) -> None:
    """Say what the words of version 0.1 are called now."""
    if (option, text) in RENAMED:
        raise ValueError(f"{option} {text} of version 0.1 is now called {option} {RENAMED[option, text]}.")


def number_of_clusters(text: str) -> int | None:
    """K, of several levels the largest, or None where it is left to the data."""
    return max(levels_of(text), default=None)


def levels_of(text: str) -> list[int]:
    """The number of clusters of each level; none where it is left to the data."""
    if text == "auto":
        return []
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= min(len(parts), 2) for part in parts):
        expected = "a whole number of at least 1, or 'auto', or several of at least 2 for levels, such as 3,8,20"
        raise ValueError(f"-k must be {expected}. Got {text!r} instead.")
    return sorted({int(part) for part in parts})


def height_and_width(text: str | None, option: str) -> tuple[int, int] | None:
    """Two whole numbers, as in 28x28."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"{option} must look like 28x28. Got {text!r} instead.")
    return int(parts[0]), int(parts[1])


def further_parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """The NAME=VALUE of ``--set``; values are numbers, true or false, none, or words."""
    words = {"true": True, "false": False, "none": None}
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--set must look like NAME=VALUE. Got {pair!r} instead.")
        try:
            value: Any = words[text.lower()] if text.lower() in words else json.loads(text)
        except (ValueError, RecursionError):
            value = text
        parameters[name.strip()] = value
    return parameters


def reading_of(
    delimiter: str | None,
    encoding: str | None,
    array: str | None,
    image: str | None = None,
    decimal: str | None = None,
) -> Reading:
    """How to read a file, from the options."""
    from ..files import Reading

    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter must be one sign, or 'tab'. Got {delimiter!r} instead.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"--decimal must be '.' or ','. Got {decimal!r} instead.")
    return Reading(delimiter, encoding, array, height_and_width(image, "--image"), decimal)


def check_on_cluster(options: Any, cluster: Any, refused: Sequence[str]) -> None:
    """Refuse options that do not go with workers."""
    for name in refused:
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} does not go with workers, which each see some of the rows. Leave it out.")
    if options.missing == "drop":
        raise ValueError(
            "--missing drop does not go with workers. Fill the gaps with --missing impute, or repair them."
        )
    if cluster.scheduler is not None and (cluster.workers is not None or cluster.memory is not None):
        raise ValueError(
            "--scheduler names workers that exist; --workers and --memory start new ones. Use one of both."
        )
    if cluster.memory is not None:
        from dask.utils import parse_bytes

        try:
            parse_bytes(cluster.memory)
        except ValueError as error:
            raise ValueError(f"--memory must look like 2GB. Got {cluster.memory!r} instead.") from error
    if len(levels_of(options.clusters)) > 1:
        raise ValueError(f"Workers fit one number of clusters at a time. Got -k {options.clusters}.")
