from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import label, rotate

from lapmodes.datasets import make_moons_with_outliers, make_occluder, make_rotated_digit, make_spirals


def test_points_of_a_spiral_have_their_radius_as_angle():
    X, y = make_spirals(noise=0.0)
    np.testing.assert_array_equal(np.bincount(y), 400)
    radius, angle = np.linalg.norm(X, axis=1), np.arctan2(X[:, 1], X[:, 0])
    turns = (angle - 2 * np.pi * y / 5 - radius) / (2 * np.pi)
    np.testing.assert_allclose(turns, turns.round(), atol=1e-12)
    np.testing.assert_array_equal(np.bincount(make_spirals(11, n_spirals=3)[1]), [4, 4, 3])


def test_moons_lie_on_their_circles():
    X, y = make_moons_with_outliers(noise=0.0, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [400, 400, 200])
    np.testing.assert_allclose(np.linalg.norm(X[y == 0], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(X[y == 1] - [1, 0.2], axis=1), 1)


def test_seeds_repeat():
    for make in (make_spirals, make_moons_with_outliers, make_occluder):
        one, two, other = (make(random_state=seed)[0] for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)


def test_turning_an_image_back_gives_the_upright_digit():
    images, angles = make_rotated_digit()
    upright = images[3].reshape(28, 28)
    assert angles[3] == 0 and (np.diff(angles) == 20).all()
    for image, angle in zip(images, angles, strict=True):
        back = rotate(image.reshape(28, 28), -angle, reshape=False, order=1)
        assert np.corrcoef(back.ravel(), upright.ravel())[0, 1] > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_occluder_is_one_blob_that_overlaps_the_background_in_intensity(seed):
    image, mask = make_occluder(random_state=seed)
    assert image.min() >= 0 and image.max() <= 1
    assert label(mask)[1] == 1
    assert mask.mean() == pytest.approx(np.pi * 0.2**2, rel=0.2)
    assert image[mask].mean() > image[~mask].mean() and image[~mask].max() > image[mask].min()
