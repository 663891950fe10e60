"""`lapmodes segment`: the segments of a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .options import Config, Jobs, Overwrite, Quiet, Seed
from .terminal import printer, progress_bars, warnings_as_notes, with_error_messages

if TYPE_CHECKING:
    from .._records import Array
    from ..image import Segmentation

Color = Literal["lab", "rgb", "gray"]
DARK_LINE, BRIGHT_LINE = (20, 20, 20), (255, 236, 120)
"""Colours of the lines along the borders of segments."""


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
    """Divide a picture into K segments of similar colour: pictures, label and soft maps."""
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
    from ..files.atomic import check_folder_target, whole_folder
    from ..files.base import counted, existing_file
    from ..files.pictures import read_pixels

    target = output or Path(f"{options.image.stem}.lapmodes")
    check_folder_target(target, overwrite=overwrite)
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
    with whole_folder(target) as folder:
        write_segments(folder, options, pixels, found, notes)
    say = printer(quiet=quiet)
    for note in notes:
        say(f"Note: {note}")
    say(f"Open {target / 'borders.png'} and {target / 'segments.png'}")


def write_segments(folder: Path, options: SegmentOptions, pixels: Array, found: Segmentation, notes: list[str]) -> None:
    """Pictures, label and soft maps, and what was done."""
    import numpy as np

    from ..files.pictures import write_png
    from .outputs import write_record

    write_png(folder / "borders.png", with_borders(pixels, found.labels))
    write_png(folder / "segments.png", mean_colors(pixels, found.labels, options.segments))
    np.save(folder / "labels.npy", found.labels, allow_pickle=False)
    np.savez_compressed(folder / "soft.npz", assignments=found.assignments.astype(np.float16))
    facts = {
        "image": options.image.name,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "n_segments": options.segments,
        "pixels": np.bincount(found.labels.ravel(), minlength=options.segments).tolist(),
        "objective": float(found.model.objective_),
        "gap": float(found.model.gap_),
        "notes": notes,
    }
    write_record(folder, "segment", asdict(options) | {"image": str(options.image.absolute())}, facts)


def in_color(pixels: Any) -> Any:
    """Grey or coloured pixels as three colours."""
    import numpy as np

    return np.dstack([pixels] * 3) if pixels.ndim == 2 else pixels


def with_borders(pixels: Any, labels: Any) -> Any:
    """The picture with a bright line on a dark one along every border."""
    import numpy as np

    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edge[:-1] |= labels[:-1] != labels[1:]
    dark = edge.copy()
    dark[1:] |= edge[:-1]
    dark[:, 1:] |= edge[:, :-1]
    shown = in_color(pixels).copy()
    shown[dark] = DARK_LINE
    shown[edge] = BRIGHT_LINE
    return shown


def mean_colors(pixels: Any, labels: Any, n_segments: int) -> Any:
    """Each segment in its mean colour."""
    import numpy as np

    colors = in_color(pixels).reshape(-1, 3).astype(np.float64)
    counts = np.maximum(np.bincount(labels.ravel(), minlength=n_segments), 1)
    means = np.stack([np.bincount(labels.ravel(), each, minlength=n_segments) / counts for each in colors.T], axis=1)
    return means.round().astype(np.uint8)[labels]
