"""Data to try things on."""

from ._synthetic import make_moons_with_outliers, make_spirals

__all__ = ["make_moons_with_outliers", "make_spirals"]
