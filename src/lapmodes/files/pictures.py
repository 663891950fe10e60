"""Pictures: one as an array of pixels, a folder of them as rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from .._records import Array
from .base import FileError, Reading, Table, first_line, listed, require

PURPOSE = "Reading and writing pictures"
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def read_pixels(path: Path, size: tuple[int, int] | None = None, *, gray: bool = False) -> Array:
    """A picture as (height, width) or (height, width, 3) of uint8; transparency is laid over white."""
    image_module = require("PIL.Image", "cli", PURPOSE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", image_module.DecompressionBombWarning)
            with image_module.open(path) as image:
                image.load()
                if image.mode in ("RGBA", "LA", "P", "PA"):
                    over = image.convert("RGBA")
                    image = image_module.alpha_composite(image_module.new("RGBA", over.size, "white"), over)
                image = image.convert("L" if gray or image.mode in ("1", "L", "I", "I;16", "F") else "RGB")
                return np.asarray(image if size is None else image.resize(size[::-1]))
    except (image_module.DecompressionBombError, image_module.DecompressionBombWarning) as error:
        raise FileError(f"{str(path)!r} has too many pixels to be opened safely: {first_line(error)}.") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole picture: {first_line(error)}.") from error


def read_folder(path: Path, reading: Reading) -> Table:
    """Each picture of a folder as a row; all must have one size, or be brought to one."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise FileError(f"The folder {str(path)!r} holds no pictures.")
    pictures = [read_pixels(file, reading.size) for file in files]
    sizes = {picture.shape[:2] for picture in pictures}
    if len(sizes) > 1:
        odd = [f"{w} x {h}" for h, w in sorted(sizes)]
        raise FileError(f"The pictures in {str(path)!r} have several sizes: {listed(odd)}. Use --image 32x32.")
    if len({picture.ndim for picture in pictures}) > 1:  # some grey, some coloured
        pictures = [np.dstack([each] * 3) if each.ndim == 2 else each for each in pictures]
    stack = np.stack(pictures)
    rows = stack.reshape(len(files), -1).astype(np.float32) / 255
    return Table(matrix=rows, image_shape=stack.shape[1:], row_names=tuple(file.name for file in files))


def write_png(path: Path, pixels: Array) -> None:
    """An array of uint8 as a picture."""
    require("PIL.Image", "cli", PURPOSE).fromarray(pixels).save(path, format="PNG")
