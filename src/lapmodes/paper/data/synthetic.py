"""The paper's synthetic data: spirals, moons among outliers, a turned digit, an occluder."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._records import Array

BACKGROUND, OCCLUDER = 0.35, 0.78
"""Mean intensities."""
OWN_GRADIENT, OWN_TEXTURE = 0.16, 0.04
"""Of the occluder: how much its intensity rises from side to side, and its texture."""
GRAIN = 0.5
"""Size of the texture's grain in pixels."""
WOBBLE = 0.12
"""How far the outline is from a circle, as part of the radius."""


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


def make_rotated_digit(
    n_images: int = 7, digit: int = 1, *, side: int = 28, turn: float = 120.0, sample: int = 165
) -> tuple[Array, Array]:
    """Images of one handwritten digit, turned step by step, as in the paper's figure 1.

    The mean of such images is a blur that looks like none of them; a mode looks like a digit. The digit is one of
    scikit-learn's, enlarged; nothing is downloaded.

    Parameters
    ----------
    n_images : int, default=7
        Number of images.
    digit : int, default=1
        Which digit, 0 to 9.
    side : int, default=28
        Height and width of an image in pixels, at least 8.
    turn : float, default=120
        Degrees from the first image to the last, half of them to each side of upright.
    sample : int, default=165
        Which of the handwritten samples of the digit.

    Returns
    -------
    images : ndarray of shape (n_images, side * side)
        Between 0 and 1, row by row.
    angles : ndarray of shape (n_images,)
        Degrees, counter-clockwise.

    Examples
    --------
    >>> from lapmodes.datasets import make_rotated_digit
    >>> images, angles = make_rotated_digit(5)
    >>> images.shape, angles.tolist()
    ((5, 784), [-60.0, -30.0, 0.0, 30.0, 60.0])
    """
    from scipy.ndimage import rotate

    if n_images < 1 or side < 8:
        raise ValueError(
            "make_rotated_digit needs 'n_images' of at least 1 and 'side' of at least 8. "
            f"Got {n_images!r} and {side!r} instead."
        )
    upright = _large_digit(digit, sample, side)
    angles = np.linspace(-turn / 2, turn / 2, n_images) if n_images > 1 else np.zeros(1)
    images = [rotate(upright, angle, reshape=False, order=1) for angle in angles]
    return np.array(images).reshape(n_images, -1), angles


def _large_digit(digit: int, sample: int, side: int) -> Array:
    """A bundled 8 x 8 digit, enlarged smoothly, with an empty border so that turning cuts nothing off."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    digits = load_digits()
    samples = digits.images[digits.target == digit]
    if not 0 <= sample < len(samples):
        raise ValueError(
            f"make_rotated_digit needs a 'digit' from 0 to 9 and a 'sample' below {len(samples) or 100}. "
            f"Got {digit!r} and {sample!r} instead."
        )
    small = np.pad(samples[sample] / 16, 1)
    return np.asarray(np.clip(zoom(small, side / len(small), order=3), 0, 1))


def make_occluder(
    shape: tuple[int, int] = (30, 30),
    *,
    radius: float = 0.2,
    gradient: float = 0.6,
    texture: float = 0.15,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Grey image of a blob in front of a textured background with an intensity gradient, as in the paper's figure 4.

    Blob and background have gradients and textures of their own and overlap in intensity: where the background is
    bright, steps across the outline are hardly larger than steps within the texture. The blob is a rounded shape
    near the middle; the directions of the gradients, the outline and the textures are random.

    Parameters
    ----------
    shape : tuple of int, default=(30, 30)
        Height and width in pixels.
    radius : float, default=0.2
        Mean radius of the blob, as part of the shorter side.
    gradient : float, default=0.6
        How much the background's intensity rises over the length of the shorter side.
    texture : float, default=0.15
        Most that the background's texture adds or takes away.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    image : ndarray of shape `shape`
        Intensities between 0 and 1.
    mask : ndarray of bool of shape `shape`
        True on the blob.

    Examples
    --------
    >>> from lapmodes.datasets import make_occluder
    >>> image, mask = make_occluder(random_state=0)
    >>> image.shape, bool(image[mask].mean() > image[~mask].mean())
    ((30, 30), True)
    """
    if len(shape) != 2 or min(shape) < 8 or not 0 < radius < 0.4:
        raise ValueError(
            "make_occluder needs a 'shape' of at least (8, 8) and a 'radius' above 0 and below 0.4. "
            f"Got {shape!r} and {radius!r} instead."
        )
    rng = np.random.default_rng(random_state)
    y, x = ((np.indices(shape).T - (np.array(shape) - 1) / 2) / min(shape)).T
    center = rng.uniform(-0.1, 0.1, 2)
    u, v = x - center[0], y - center[1]
    mask = np.hypot(u, v) < radius * _outline(np.arctan2(v, u), rng)
    behind = BACKGROUND + gradient * _ramp(x, y, rng) + texture * _texture(shape, rng)
    before = OCCLUDER + OWN_GRADIENT * _ramp(u, v, rng) / (2 * radius) + OWN_TEXTURE * _texture(shape, rng)
    return np.clip(np.where(mask, before, behind), 0, 1), mask


def _outline(angle: Array, rng: np.random.Generator) -> Array:
    """Radius at each angle, around 1."""
    first, second = rng.uniform(0, 2 * np.pi, 2)
    return np.asarray(1 + WOBBLE * (np.cos(2 * angle - first) + 0.5 * np.cos(3 * angle - second)))


def _ramp(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """Rises by 1 over a length of 1 in a random direction."""
    direction = rng.uniform(0, 2 * np.pi)
    return np.asarray(np.cos(direction) * x + np.sin(direction) * y)


def _texture(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Blurred noise from -1 to 1."""
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(rng.uniform(-1, 1, shape), GRAIN)
    return np.asarray(2 * (noise - noise.min()) / np.ptp(noise) - 1)
