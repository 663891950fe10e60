"""`lapmodes segment`: the parts of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .config import from_file
from .guard import guarded

Color = Literal["lab", "rgb", "gray"]


@guarded
def segment(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="PNG, JPEG, TIFF, WebP, BMP or GIF.")],
    segments: Annotated[int, typer.Option("-k", "--segments", min=1, metavar="K", help="Number of segments.")] = 6,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Result. [default: IMAGE.lapmodes]")
    ] = None,
    lam: Annotated[float, typer.Option(metavar="NUMBER", min=0, help="Smoothness of the segments.")] = 3.0,
    bandwidth: Annotated[float, typer.Option(metavar="NUMBER", help="Kernel width; black to white is 1.")] = 0.15,
    spatial: Annotated[float, typer.Option(metavar="NUMBER", min=0, help="Weight of the longer side.")] = 0.15,
    color: Annotated[Color, typer.Option(help="Colour space.")] = "lab",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random start.")] = 0,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Threads. [default: all cores]")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=from_file, metavar="FILE", help="Options as TOML. [default: none]"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Divide a picture into K segments of similar colour: pictures, label and soft maps."""
    from .segment_command import Cut, segment_command

    cut = Cut(image, segments, lam, bandwidth, spatial, color, seed, jobs)
    segment_command(cut, output, overwrite=overwrite, quiet=quiet)
