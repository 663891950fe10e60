from __future__ import annotations

import warnings

import numpy as np
import pytest

from lapmodes.image import pixel_features, segment


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
    [({"color_space": "hsv"}, "'color_space' parameter"), ({"spatial_scale": -1.0}, "'spatial_scale' parameter")],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        pixel_features(halves(), **arguments)
