from __future__ import annotations

import warnings

import numpy as np
import pytest

from lapmodes.image import borders, mean_colors, pixel_features, plot_segmentation, segment, with_borders


def halves(shape=(40, 60)):
    image = np.full((*shape, 3), 0.2)
    image[:, shape[1] // 2 :] = [0.8, 0.3, 0.1]
    return np.clip(image + 0.02 * np.random.default_rng(0).standard_normal(image.shape), 0, 1)


def test_two_halves_are_two_segments():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = segment(halves(), 2, random_state=0)
    assert np.unique(found.labels[:, :30]).size == np.unique(found.labels[:, 30:]).size == 1
    assert found.labels[0, 0] != found.labels[0, -1]
    assert found.assignments.shape == (40, 60, 2)
    np.testing.assert_allclose(found.assignments.sum(axis=2), 1, atol=1e-5)


@pytest.mark.parametrize("shape", [(120, 160), (250, 320)])
def test_large_images_go_from_coarse_to_fine_and_agree(shape):
    found, middle = segment(halves(shape), 2, random_state=0), shape[1] // 2
    assert np.unique(found.labels[:, :middle]).size == np.unique(found.labels[:, middle:]).size == 1


def test_integers_and_floats_are_the_same_picture():
    image = (255 * halves()).astype(np.uint8)
    np.testing.assert_allclose(pixel_features(image), pixel_features(image / 255), atol=1e-6)


def test_white_and_black_in_lab():
    f = pixel_features(np.array([[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]), spatial_scale=0)
    np.testing.assert_allclose(f[0, :, 2:], [[0, 0, 0], [1, 0, 0]], atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"color_space": "hsv"}, "'color_space' must be 'lab'"),
        ({"spatial_scale": -1.0}, "'spatial_scale' must be a finite"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        pixel_features(halves(), **arguments)


def test_borders_separate_unlike_neighbours():
    labels = np.array([[0, 0, 1], [0, 2, 1]])
    sides = {tuple(map(tuple, line)) for line in borders(labels).tolist()}
    upright = {((1.5, -0.5), (1.5, 0.5)), ((0.5, 0.5), (0.5, 1.5)), ((1.5, 0.5), (1.5, 1.5))}
    assert sides == upright | {((0.5, 0.5), (1.5, 0.5))}


def test_the_plot_shows_a_mode_of_each_segment_and_refuses_another_image():
    from matplotlib.figure import Figure

    found = segment(halves(), 2, random_state=0)
    ax = plot_segmentation(halves(), found, Figure().subplots())
    rows, columns = np.unravel_index(found.model.exemplars_, found.labels.shape)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), np.column_stack([columns, rows]))
    with pytest.raises(ValueError, match="must be the image that was segmented"):
        plot_segmentation(halves((10, 10)), found, Figure().subplots())


def luminance(color):
    """Relative luminance of WCAG 2, from 0 to 1."""
    part = np.asarray(color, dtype=float) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize(
    "ground", [(255, 255, 255), (0, 0, 0), (255, 165, 0), (255, 236, 120), (128, 128, 128), (0, 90, 200)]
)
@pytest.mark.parametrize("size", [4, 100, 900, 3200])
def test_borders_stand_out_from_any_ground(ground, size):
    """Walking over a border, one meets a dark, a white and a dark line; one of them has at least three times the light
    of the ground, or a third of it."""
    image = np.broadcast_to(np.array(ground, dtype=np.uint8), (2, size, 3))
    labels = (np.arange(size) >= size // 2).astype(int)[None].repeat(2, axis=0)
    row = with_borders(image, labels)[0]
    assert len(row) >= 800
    change = np.flatnonzero((np.diff(row.astype(int), axis=0) != 0).any(axis=1))
    crossed = row[change[0] + 1 : change[-1] + 1] if len(change) else row[:0]
    assert len(crossed) >= len(row) // 400
    lights = luminance(np.vstack([crossed, row[:1]]))
    ratios = (np.maximum(lights[:-1], lights[-1]) + 0.05) / (np.minimum(lights[:-1], lights[-1]) + 0.05)
    assert ratios.max() >= 3
    middle = row[len(row) // 2]
    assert tuple(middle) == (255, 255, 255)


def test_mean_colours_are_the_means_of_the_segments():
    image, labels = halves(), np.zeros((40, 60), dtype=int)
    labels[:, 30:] = 1
    expected = [255 * image[:, :30].mean(axis=(0, 1)), 255 * image[:, 30:].mean(axis=(0, 1)), [0, 0, 0]]
    np.testing.assert_allclose(mean_colors(image, labels, 3), expected, atol=1)
