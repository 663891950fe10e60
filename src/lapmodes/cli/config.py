"""Options from a TOML file, and the options of a run as one."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

SKIPPED = ("config", "quiet", "overwrite", "help_more")
"""Options that say how to talk, not what to compute."""


def from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of the command; what is on the command line wins."""
    if path is None or context.resilient_parsing:
        return path
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{str(path)!r} cannot be read: {why}.") from error
    command = values.pop("command", context.info_name)
    if command != context.info_name:
        raise typer.BadParameter(f"{str(path)!r} was written for `lapmodes {command}`.")
    known = {parameter.name for parameter in context.command.params}
    unknown = sorted({key.replace("-", "_") for key in values} - known)
    if unknown:
        options = ", ".join(sorted(known - set(SKIPPED)))
        raise typer.BadParameter(f"{str(path)!r} has an unknown option {unknown[0]!r}. Known are {options}.")
    context.default_map = {key.replace("-", "_"): value for key, value in values.items()}
    return path


def as_toml(command: str, values: Mapping[str, Any]) -> str:
    """The options of a run, which ``--config`` reads again."""
    lines = [f"# Run this again: lapmodes {command} --config THIS_FILE", f'command = "{command}"']
    for name, value in values.items():
        if name in SKIPPED or value is None or value == []:
            continue
        lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return json.dumps(str(value), ensure_ascii=False)  # a TOML basic string is a JSON string


def names(text: str | None) -> list[str] | None:
    """Names between commas; quotes around those that hold commas themselves."""
    if text is None:
        return None
    found = (name.strip() for name in next(csv.reader([text], skipinitialspace=True)))
    return list(dict.fromkeys(name for name in found if name))


def number_or_word(text: str, option: str) -> float | str:
    """A float, or one of the words that an estimator knows."""
    try:
        return float(text)
    except ValueError:
        if text in ("auto", "adaptive"):
            return text
        raise ValueError(f"{option} must be a number or 'auto'. Got {text!r} instead.") from None


def pair(text: str | None, option: str) -> tuple[int, int] | None:
    """Two whole numbers, as in 28x28."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"{option} must look like 28x28. Got {text!r} instead.")
    return int(parts[0]), int(parts[1])


def assignments(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE settings; values are numbers, true or false, none, or words."""
    words = {"true": True, "false": False, "none": None}
    settings: dict[str, Any] = {}
    for each in pairs:
        name, sign, text = each.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--set must look like NAME=VALUE. Got {each!r} instead.")
        try:
            value: Any = words[text.lower()] if text.lower() in words else json.loads(text)
        except json.JSONDecodeError:
            value = text
        settings[name.strip()] = value
    return settings
