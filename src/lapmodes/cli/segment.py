"""`lapmodes segment`: the segments of a picture."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import Config, Jobs, Overwrite, Quiet, Seed
from .terminal import printer, progress_bars, with_error_messages

if TYPE_CHECKING:
    from .._records import Array
    from ..image import Segmentation

Color = Literal["lab", "rgb", "gray"]
MEANING = {
    "segments": "How many segments.",
    "lam": "Smoothness λ: how strongly neighbouring pixels are drawn into one segment.",
    "bandwidth": "Kernel width σ: how far from the mode a pixel still counts as like it; black to white is 1.",
    "spatial": "Weight of the position: what a step along the longer side counts.",
    "color": "The space in which colours are compared.",
    "seed": "Seed of the random start; the same seed gives the same result.",
}
"""The options that the page explains."""


@dataclass(frozen=True, kw_only=True)
class SegmentOptions:
    """The options of ``lapmodes segment`` that decide the result."""

    image: Path
    segments: int = 6
    lam: float = 3.0
    bandwidth: float = 0.15
    spatial: float = 0.15
    color: str = "lab"
    seed: int = 0
    jobs: int | None = None


@with_error_messages
def segment(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="PNG, JPEG, TIFF, WebP, BMP or GIF.")],
    segments: Annotated[
        int, typer.Option("-k", "--segments", min=1, metavar="K", help="Number of segments.")
    ] = SegmentOptions.segments,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Result. [default: IMAGE.lapmodes]")
    ] = None,
    lam: Annotated[
        float, typer.Option(metavar="NUMBER", min=0, help="Smoothness of the segments.")
    ] = SegmentOptions.lam,
    bandwidth: Annotated[
        float, typer.Option(metavar="NUMBER", help="Kernel width; black to white is 1.")
    ] = SegmentOptions.bandwidth,
    spatial: Annotated[
        float, typer.Option(metavar="NUMBER", min=0, help="Weight of the longer side.")
    ] = SegmentOptions.spatial,
    color: Annotated[Color, typer.Option(help="Colour space.")] = "lab",
    seed: Seed = 0,
    jobs: Jobs = None,
    overwrite: Overwrite = False,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Divide a picture into K segments of similar colour: a page, pictures, label and soft maps."""
    options = SegmentOptions(
        image=image,
        segments=segments,
        lam=lam,
        bandwidth=bandwidth,
        spatial=spatial,
        color=color,
        seed=seed,
        jobs=jobs,
    )
    segment_picture(options, output, overwrite=overwrite, quiet=quiet)


def segment_picture(options: SegmentOptions, output: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Segment a picture and write what came out, or nothing."""
    from .. import image
    from .._warnings import warnings_as_notes
    from ..files.atomic import check_place, output_folder
    from ..files.base import counted, existing_file
    from ..files.matrices import read_pixels

    target = output or Path(f"{options.image.stem}.lapmodes")
    apart = check_place(target, named=output is not None, overwrite=overwrite)
    pixels = read_pixels(existing_file(options.image))
    n_pixels = pixels.shape[0] * pixels.shape[1]
    if n_pixels < max(2, options.segments):
        raise ValueError(f"{str(options.image)!r} has {counted(n_pixels, 'pixel')}, too few to divide.")
    with progress_bars(quiet=quiet) as bars, warnings_as_notes() as notes:
        found = image.segment(
            pixels,
            options.segments,
            lam=options.lam,
            bandwidth=options.bandwidth,
            spatial_scale=options.spatial,
            color_space=options.color,
            random_state=options.seed,
            n_jobs=options.jobs,
            verbose=bars,
        )
    with output_folder(target, apart=apart) as (folder, place):
        write_segments(folder, place, options, pixels, found, notes)
    say = printer(quiet=quiet)
    for note in notes:
        say(f"Note: {note}")
    say(f"{counted(options.segments, 'segment')} of {', '.join(f'{size:,}' for size in sizes(found)[:12])} pixels.")
    say(f"Open {place / 'report.html'}")


def write_segments(
    folder: Path, target: Path, options: SegmentOptions, pixels: Array, found: Segmentation, notes: list[str]
) -> None:
    """Page, pictures, label and soft maps, and what was done, into a folder that will take the place of the target."""
    import numpy as np

    from ..files.base import counted
    from ..files.matrices import write_png
    from ..image import mean_colors, with_borders
    from ..report.segments import SegmentsContent, write_segments_page
    from .outputs import write_record

    bordered, colors = with_borders(pixels, found.labels), mean_colors(pixels, found.labels, options.segments)
    write_png(folder / "borders.png", bordered)
    write_png(folder / "segments.png", colors[found.labels])
    np.save(folder / "labels.npy", found.labels, allow_pickle=False)
    np.savez_compressed(folder / "soft.npz", assignments=found.assignments.astype(np.float16))
    content = SegmentsContent(
        title=f"{counted(options.segments, 'segment')} of {options.image.name}",
        model=found.model,
        labels=found.labels,
        assignments=found.assignments,
        with_borders=bordered,
        colors=colors,
        settings=[(name, getattr(options, name), text) for name, text in MEANING.items()],
        notes=notes,
        again=shlex.join(["lapmodes", "segment", "--config", str(target / "parameters.toml"), "-o", "AGAIN"]),
    )
    write_segments_page(folder / "report.html", content)
    facts = {
        "image": options.image.name,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "n_segments": options.segments,
        "pixels": sizes(found),
        "mean_colors": colors.tolist(),
        "objective": float(found.model.objective_),
        "gap": float(found.model.gap_),
        "notes": notes,
    }
    write_record(folder, "segment", asdict(options) | {"image": str(options.image.absolute())}, facts)


def sizes(found: Segmentation) -> list[int]:
    """Pixels of each segment."""
    import numpy as np

    return [int(size) for size in np.bincount(found.labels.ravel(), minlength=len(found.modes))]
