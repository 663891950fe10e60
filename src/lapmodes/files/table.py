"""What every reader returns: named columns, or a matrix of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """How to read a file; what a format has no use for is ignored."""

    delimiter: str | None = None
    """Of a delimited file; found from its first lines if None."""
    encoding: str = "utf-8"
    array: str | None = None
    """Which array of an `.npz`, or which representation (`X`, a layer or a key of `obsm`) of an `.h5ad`."""
    size: tuple[int, int] | None = None
    """(height, width) to bring the pictures of a folder to."""


@dataclass(frozen=True)
class Table:
    """The rows of a file: `columns` (an Arrow table) or `matrix` (dense or CSR), never both."""

    columns: Any = None
    matrix: Any = None
    names: tuple[str, ...] | None = None
    """Names of the matrix's columns, where the file has them."""
    graph: Any = None
    """Affinities between the rows, where the file has them."""
    row_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    """Where each row is a picture: (height, width) or (height, width, 3)."""
    note: str = ""
    """What was read, where the file offers a choice."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.num_rows if self.columns is not None else self.matrix.shape[0])
