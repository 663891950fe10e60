"""Segments of a photograph: SLIC, Felzenszwalb, and lapmodes on pixels and on superpixels.

Needs scikit-image and Matplotlib; writes segmentations.png.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import astronaut
from skimage.segmentation import felzenszwalb, mark_boundaries, slic

from lapmodes import LaplacianKModes
from lapmodes.image import segment

SEGMENTS = 12


def of_superpixels(photo, n_segments):
    """Cluster 600 superpixels by colour and place; each weighs as much as it has pixels."""
    pixels = slic(photo, n_segments=600, start_label=0)
    sizes = np.bincount(pixels.ravel())
    columns = [photo[..., channel] for channel in range(3)]
    columns += [0.5 * at / max(pixels.shape) for at in np.indices(pixels.shape)]
    rows = np.stack([np.bincount(pixels.ravel(), each.ravel()) / sizes for each in columns], axis=1)
    model = LaplacianKModes(n_segments, random_state=0).fit(rows, sample_weight=sizes)
    return model.labels_[pixels]


photo = astronaut()[::4, ::4] / 255
ways = {
    "SLIC": lambda: slic(photo, n_segments=SEGMENTS, start_label=0),
    "Felzenszwalb": lambda: felzenszwalb(photo, scale=200, min_size=100),
    "lapmodes": lambda: segment(photo, SEGMENTS, random_state=0).labels,
    "lapmodes on superpixels": lambda: of_superpixels(photo, SEGMENTS),
}
figure, axes = plt.subplots(1, len(ways), figsize=(12, 3.4), layout="constrained")
for ax, (name, run) in zip(axes, ways.items(), strict=True):
    began = time.perf_counter()
    labels = run()
    ax.imshow(mark_boundaries(photo, labels))
    ax.set_title(f"{name}\n{len(np.unique(labels))} segments, {time.perf_counter() - began:.2f} s", fontsize=10)
    ax.set_axis_off()
figure.savefig("segmentations.png", dpi=120)
