"""The paper's synthetic data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._records import Array


def make_spirals(
    n_samples: int = 2000, *, n_spirals: int = 5, noise: float = 0.1, random_state: Any = None
) -> tuple[Array, Array]:
    """Interleaved spirals around the origin, as in the paper's figure 2.

    The points of a spiral sit at radius and angle t = (15 pi / 4) u^0.65 + pi / 4 for u at the
    midpoints of equal parts of [0, 1] (nearly evenly along the spiral), turned by the spiral's share of the circle.

    Parameters
    ----------
    n_samples : int, default=2000
        Total number of points.
    n_spirals : int, default=5
        Number of spirals.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Number of the spiral.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * n_spirals // n_samples
    u = np.concatenate([(np.arange(size) + 0.5) / size for size in np.bincount(y, minlength=n_spirals)])
    t = 15 * np.pi / 4 * u**0.65 + np.pi / 4
    angle = t + 2 * np.pi * y / n_spirals
    X = np.column_stack([t * np.cos(angle), t * np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), y


def make_moons_with_outliers(
    n_samples: int = 800, *, n_outliers: int = 200, noise: float = 0.06, random_state: Any = None
) -> tuple[Array, Array]:
    """Two interleaved half circles among uniform outliers, as in the paper's figure 3.

    Parameters
    ----------
    n_samples : int, default=800
        Points on the moons, half on each.
    n_outliers : int, default=200
        Points spread evenly over the box around the moons, 0.4 wider on each side.
    noise : float, default=0.06
        Standard deviation of the Gaussian noise on the moons.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples + n_outliers, 2)
    y : ndarray of shape (n_samples + n_outliers,)
        0 and 1 for the moons, 2 for outliers.
    """
    rng = np.random.default_rng(random_state)
    y = np.repeat([0, 1], [n_samples - n_samples // 2, n_samples // 2])
    angle = np.pi * rng.random(n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.2 - np.sin(angle)])
    moons = np.where(y[:, None] == 0, upper, lower) + noise * rng.standard_normal((n_samples, 2))
    outliers = rng.uniform((-1.4, -1.2), (2.4, 1.4), size=(n_outliers, 2))
    return np.vstack([moons, outliers]), np.concatenate([y, np.full(n_outliers, 2)])
