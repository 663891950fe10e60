"""What the library depends on: name, version, licence and the extra that brings it, as a table in Markdown."""

from __future__ import annotations

import re
import sys
from importlib import metadata

NAME = re.compile(r"[A-Za-z0-9_.-]+")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
NOT_SHIPPED = ("test", "lint", "docs", "all")
"""Extras for those who work on the library."""
UNKNOWN = "not told"


def licence(package: metadata.Distribution) -> str:
    """What a package says of its licence: an SPDX expression, its classifiers, or the first line of a text."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return expression
    classifiers = [
        each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or [] if each.startswith("License")
    ]
    if classifiers:
        return ", ".join(classifiers)
    lines = (about.get("License") or "").strip().splitlines()
    return lines[0][:60] if lines else UNKNOWN


def direct(extras: bool) -> dict[str, str]:
    """The packages that the library asks for, and by which extra."""
    found: dict[str, str] = {}
    for requirement in metadata.requires("lapmodes") or []:
        name, extra = NAME.match(requirement), EXTRA.search(requirement)
        where = extra[1] if extra else "always"
        if name and name[0] != "lapmodes" and where not in NOT_SHIPPED and (extras or where == "always"):
            found.setdefault(name[0].lower(), where)
    return found


def all_of(names: dict[str, str]) -> dict[str, str]:
    """The same with what these packages need in turn."""
    found, waiting = dict(names), list(names)
    while waiting:
        name = waiting.pop()
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            needed = NAME.match(requirement)
            if needed and "extra ==" not in requirement and needed[0].lower() not in found:
                found[needed[0].lower()] = f"by {name}"
                waiting.append(needed[0].lower())
    return found


def main() -> int:
    """Print the table; 1 if a package that is always needed does not tell its licence."""
    print("| package | version | licence | needed |\n|---|---|---|---|")
    silent = 0
    for name, where in sorted(all_of(direct(extras=True)).items()):
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        told = licence(package)
        silent += told == UNKNOWN and where == "always"
        print(f"| {name} | {package.version} | {told} | {where} |")
    return int(silent > 0)


if __name__ == "__main__":
    sys.exit(main())
