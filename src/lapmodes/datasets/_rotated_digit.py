"""One digit, continuously turned: a cluster that is a curve in pixel space."""

from __future__ import annotations

import numpy as np

from .._records import Array


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
