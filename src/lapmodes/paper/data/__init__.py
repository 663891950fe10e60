"""Data to try things on: the paper's synthetic sets, made by code, and its real ones, found or downloaded."""

from .fetch import fetch_coil20, fetch_fashion_mnist, fetch_mnist, fetch_usps, load_tdt2
from .sources import DataNotFoundError
from .synthetic import make_moons_with_outliers, make_occluder, make_rotated_digit, make_spirals

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
