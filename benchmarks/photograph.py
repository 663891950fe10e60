"""Segment a photograph of 321 x 481 pixels and draw the picture of the README.

Run with LAPMODES_DATA set to a folder that holds bsds_dev.npz, photographs of the Berkeley segmentation data set
(Martin, Fowlkes, Tal & Malik 2001, for research): ``python benchmarks/photograph.py [output.png]``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure

from lapmodes.image import plot_segmentation, segment

PHOTOGRAPH = "100007"
N_SEGMENTS = 6
ANIMAL = 165, 175
"""Row and column of a pixel on it."""


def draw(image, found):
    """Borders, mean colours, and the soft map of the animal's segment."""
    figure = Figure(figsize=(13.4, 3.2), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    plot_segmentation(image, found, first)
    means = [image[found.labels == k].mean(axis=0) / 255 for k in range(N_SEGMENTS)]
    second.imshow(np.array(means)[found.labels])
    third.imshow(found.assignments[:, :, found.labels[ANIMAL]], cmap="viridis", vmin=0, vmax=1)
    for ax, title in zip(figure.axes, ("Segments and modes", "Mean colours", "Soft map of one segment"), strict=True):
        ax.set_title(title, fontsize=13)
        ax.set_axis_off()
    return figure


def main():
    with np.load(Path(os.environ["LAPMODES_DATA"]) / "bsds_dev.npz") as stored:
        image = stored[f"{PHOTOGRAPH}/image"]
    began = perf_counter()
    found = segment(image, N_SEGMENTS, random_state=0, verbose=True)
    print(f"{image.shape[0]} x {image.shape[1]} pixels in {perf_counter() - began:.1f} s")
    output = sys.argv[1] if len(sys.argv) > 1 else "photograph.png"
    draw(image, found).savefig(output, dpi=100, bbox_inches="tight", pad_inches=0.05)
    print(f"Picture: {output}")


if __name__ == "__main__":
    main()
