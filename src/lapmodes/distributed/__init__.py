"""Laplacian K-modes on a Dask cluster, for data that outgrow one machine; certified over all points.

Write ``from lapmodes.distributed import LaplacianKModes`` in place of ``from lapmodes import LaplacianKModes``. Data go
one way: source → parts → neighbours → local graphs → start → alternation → lazy arrays in the order of the rows.
All work is pure functions as Dask tasks; nothing here opens a connection of its own.
"""

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        'lapmodes.distributed needs dask and distributed. Install the extra: pip install "lapmodes[distributed]".'
    ) from error

from .estimator import LaplacianKModes, load

__all__ = ["LaplacianKModes", "load"]
