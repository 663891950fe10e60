"""The work of `lapmodes segment`."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import typer

from .. import __version__
from .._records import Array
from ..files.atomic import check_folder_target, whole_folder
from ..files.base import counted, existing_file
from ..files.pictures import read_pixels, write_png
from .config import as_toml
from .progress import bars


@dataclass(frozen=True)
class Cut:
    """The options of ``lapmodes segment``."""

    image: Path
    segments: int = 6
    lam: float = 3.0
    bandwidth: float = 0.15
    spatial: float = 0.15
    color: str = "lab"
    seed: int = 0
    jobs: int | None = None


def segment_command(cut: Cut, output: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Segment a picture and write what came out, or nothing."""
    from ..image import segment

    target = output or Path(f"{cut.image.stem}.lapmodes")
    check_folder_target(target, overwrite=overwrite)
    pixels = read_pixels(existing_file(cut.image))
    if pixels.shape[0] * pixels.shape[1] < max(2, cut.segments):
        raise ValueError(
            f"{str(cut.image)!r} has {counted(pixels.shape[0] * pixels.shape[1], 'pixel')}, too few to divide."
        )
    with bars(quiet=quiet) as shown, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = segment(
            pixels,
            cut.segments,
            lam=cut.lam,
            bandwidth=cut.bandwidth,
            spatial_scale=cut.spatial,
            color_space=cut.color,
            random_state=cut.seed,
            n_jobs=cut.jobs,
            callback=shown,
        )
    notes = list(dict.fromkeys(" ".join(str(each.message).split()) for each in caught))
    facts = {
        "lapmodes": __version__,
        "image": cut.image.name,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "n_segments": cut.segments,
        "pixels": np.bincount(found.labels.ravel(), minlength=cut.segments).tolist(),
        "objective": float(found.model.objective_),
        "gap": float(found.model.gap_),
        "notes": notes,
    }
    with whole_folder(target) as folder:
        write_png(folder / "borders.png", with_borders(pixels, found.labels))
        write_png(folder / "segments.png", mean_colors(pixels, found.labels, cut.segments))
        np.save(folder / "labels.npy", found.labels, allow_pickle=False)
        np.savez_compressed(folder / "soft.npz", assignments=found.assignments.astype(np.float16))
        parameters = as_toml("segment", asdict(cut) | {"image": str(cut.image.absolute())})
        (folder / "parameters.toml").write_text(parameters, encoding="utf-8")
        (folder / "summary.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    if not quiet:
        for note in notes:
            typer.echo(f"Note: {note}", err=True)
        typer.echo(f"Open {target / 'borders.png'} and {target / 'segments.png'}", err=True)


def in_color(pixels: Array) -> Array:
    """Grey or coloured pixels as three colours."""
    return np.dstack([pixels] * 3) if pixels.ndim == 2 else pixels


def with_borders(pixels: Array, labels: Array) -> Array:
    """The picture with a bright line on a dark one along every border."""
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edge[:-1] |= labels[:-1] != labels[1:]
    dark = edge.copy()
    dark[1:] |= edge[:-1]
    dark[:, 1:] |= edge[:, :-1]
    shown = in_color(pixels).copy()
    shown[dark] = 20
    shown[edge] = (255, 236, 120)
    return shown


def mean_colors(pixels: Array, labels: Array, n_segments: int) -> Array:
    """Each segment in its mean colour."""
    colors = in_color(pixels).reshape(-1, 3).astype(np.float64)
    counts = np.maximum(np.bincount(labels.ravel(), minlength=n_segments), 1)
    means = np.stack([np.bincount(labels.ravel(), each, minlength=n_segments) / counts for each in colors.T], axis=1)
    return np.asarray(means.round().astype(np.uint8)[labels])
