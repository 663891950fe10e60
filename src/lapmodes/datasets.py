"""Data to try things on: the paper's synthetic sets, made by code, and its real ones, found or downloaded."""

from .paper.data import *  # noqa: F403
from .paper.data import __all__ as __all__
