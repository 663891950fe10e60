"""Data to try things on: the paper's synthetic sets, made by code, and its real ones, found or downloaded."""

from ._download import DataNotFoundError
from ._images import fetch_coil20, fetch_fashion_mnist, fetch_mnist, fetch_usps
from ._occluder import make_occluder
from ._rotated_digit import make_rotated_digit
from ._synthetic import make_moons_with_outliers, make_spirals
from ._text import load_tdt2

__all__ = [
    "DataNotFoundError",
    "fetch_coil20",
    "fetch_fashion_mnist",
    "fetch_mnist",
    "fetch_usps",
    "load_tdt2",
    "make_moons_with_outliers",
    "make_occluder",
    "make_rotated_digit",
    "make_spirals",
]
