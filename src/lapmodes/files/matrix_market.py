"""Sparse matrices in Matrix Market text."""

from __future__ import annotations

from pathlib import Path

from .._archives import check_fits
from .problems import FileError, first_line
from .table import Reading, Table

ENTRY = 16
"""Bytes of a stored number with its place."""


def read(path: Path, reading: Reading) -> Table:
    """The matrix as CSR, its rows being the samples."""
    from scipy.io import mminfo, mmread
    from scipy.sparse import csr_array

    try:
        rows, columns, entries, layout, field, _ = mminfo(path)
        if field == "complex":
            raise ValueError("it holds complex numbers")
        if layout == "coordinate" and entries > path.stat().st_size:
            raise ValueError(f"it declares {entries} entries but is too short to hold them")
        check_fits(ENTRY * entries + 8 * (rows + columns))
        return Table(matrix=csr_array(mmread(path)))
    except FileError:
        raise
    except (ValueError, OSError, OverflowError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole Matrix Market file: {first_line(error)}.") from error
