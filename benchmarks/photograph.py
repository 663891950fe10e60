"""Seconds and memory of segmenting a photograph: ``python benchmarks/photograph.py [--side 700]``.

The photograph is scikit-learn's temple, brought to a square. Memory is the largest use beyond the image itself.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measure import PeakMemory, report
from PIL import Image
from sklearn.datasets import load_sample_image

from lapmodes.image import segment


def photograph(side: int) -> np.ndarray:
    """The temple as a square."""
    return np.asarray(Image.fromarray(load_sample_image("china.jpg")).resize((side, side)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=700)
    parser.add_argument("--segments", type=int, nargs="+", default=[2, 6])
    arguments = parser.parse_args()
    image = photograph(arguments.side)
    segment(image[:50, :50], 2, random_state=0)  # the libraries' own code is not the work's memory
    rows = []
    for n_segments in arguments.segments:
        began = time.perf_counter()
        with PeakMemory() as memory:
            segment(image, n_segments, random_state=0)
        seconds = time.perf_counter() - began
        rows.append(
            [
                f"{arguments.side} x {arguments.side}",
                n_segments,
                f"{seconds:.1f}",
                round(memory.growth / image[:, :, 0].size),
            ]
        )
    report("photograph", ["pixels", "segments", "seconds", "bytes a pixel"], rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
