"""Reading points from files, preparing them, and writing clusters back in the same format.

The command line stands on this package; use it to do in Python what ``lapmodes fit`` and ``lapmodes predict`` do.
"""

from .base import FileError, Reading, Table
from .formats import batches, read
from .prepared import PreparedModel
from .recipe import Recipe, learn

__all__ = ["FileError", "PreparedModel", "Reading", "Recipe", "Table", "batches", "learn", "read"]
