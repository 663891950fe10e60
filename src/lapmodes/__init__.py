"""Laplacian K-modes clustering: exactly K clusters of any shape, a mode for each, soft assignments."""

from ._estimator import LaplacianKModes
from ._persistence import load
from ._records import PathPoint, Solution
from ._special_cases import KModes, LaplacianKMeans
from ._warnings import DegenerateWarning
from .path import fit_path

__version__ = "0.1.0"

__all__ = [
    "DegenerateWarning",
    "KModes",
    "LaplacianKMeans",
    "LaplacianKModes",
    "PathPoint",
    "Solution",
    "fit_path",
    "load",
]
