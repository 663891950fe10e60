"""
Segments of a photograph
========================

Pixels are points, and neighbouring pixels are linked unless there is an edge between them. A segment contains what
looks alike and has a smooth border. Its mode is a typical pixel.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_sample_image

from lapmodes.image import plot_segmentation, segment

image = load_sample_image("flower.jpg")[::4, ::4]
found = segment(image, 4, random_state=0)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
left.imshow(image)
left.set_title("Photograph")
left.set_axis_off()
plot_segmentation(image, found, middle).set_title("Four segments")
brightest = found.modes[:, 2].argmax()
right.imshow(found.assignments[:, :, brightest], cmap="cividis", vmin=0, vmax=1)
right.set_title("Soft map of one segment")
right.set_axis_off()
plt.show()
