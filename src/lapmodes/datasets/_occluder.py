"""An occluder in front of a textured background: easy for the eye, hard for spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._records import Array

BACKGROUND, OCCLUDER = 0.35, 0.78
"""Mean intensities."""
OWN_GRADIENT, OWN_TEXTURE = 0.16, 0.04
"""Of the occluder: how much its intensity rises from side to side, and its texture."""
GRAIN = 0.5
"""Size of the texture's grain in pixels."""
WOBBLE = 0.12
"""How far the outline is from a circle, as part of the radius."""


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
