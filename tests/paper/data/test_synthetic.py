from __future__ import annotations

import numpy as np

from lapmodes.datasets import make_moons_with_outliers, make_occluder, make_rotated_digit, make_spirals


def test_spirals_follow_their_formula():
    X, y = make_spirals(noise=0.0)
    assert X.shape == (2000, 2)
    np.testing.assert_array_equal(np.bincount(y), 400)
    t = 15 * np.pi / 4 * ((np.arange(400) + 0.5) / 400) ** 0.65 + np.pi / 4
    np.testing.assert_allclose(np.linalg.norm(X[y == 3], axis=1), t)
    assert make_spirals(11, n_spirals=3)[0].shape == (11, 2)


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


def test_rotated_digit_turns():
    images, angles = make_rotated_digit()
    assert len(images) == len(angles) == 7
    assert np.all(np.diff(angles) > 0) or np.all(np.diff(angles) < 0)
    assert np.linalg.norm(images[0] - images[-1]) > np.linalg.norm(images[0] - images[1]) / 2
