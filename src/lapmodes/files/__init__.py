"""Reading points from files, preparing them, and writing clusters back in the same format.

The command line stands on this package; use it to do in Python what ``lapmodes fit`` and ``lapmodes predict`` do.
"""

from .formats import batches, read
from .prepared import PreparedModel
from .problems import FileError
from .recipe import Recipe, learn
from .table import Reading, Table

__all__ = ["FileError", "PreparedModel", "Reading", "Recipe", "Table", "batches", "learn", "read"]
