"""The algorithms that the paper compares with, all with `fit(X, graph=None)`, `labels_` and `n_iter_`."""

from .paper.rivals import *  # noqa: F403
from .paper.rivals import __all__ as __all__
