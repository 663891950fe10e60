from __future__ import annotations

import warnings

import numpy as np
import pytest

from lapmodes.image import borders, pixel_features, plot_segmentation, segment


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
