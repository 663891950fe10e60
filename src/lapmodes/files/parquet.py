"""Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .problems import FileError, first_line, require
from .table import Reading, Table

PURPOSE = "Reading and writing Parquet files"


def read(path: Path, reading: Reading) -> Table:
    """All columns."""
    return Table(columns=_file(path, lambda file: file.read()))


def batches(path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int) -> Iterator[Table]:
    """Some columns, piece by piece."""
    pa = require("pyarrow", "cli", PURPOSE)
    pieces = _file(path, lambda file: file.iter_batches(batch_size=rows, columns=list(columns), use_threads=False))
    while True:
        batch = _told(path, lambda: next(pieces, None))
        if batch is None:
            return
        yield Table(columns=pa.Table.from_batches([batch]))


def columns_of(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    return list(_file(path, lambda file: file.schema_arrow.names))


class Writer:
    """Rows of an Arrow schema as Parquet."""

    def __init__(self, stream: Any, schema: Any, suffix: str = ".parquet") -> None:
        parquet = require("pyarrow.parquet", "cli", PURPOSE)
        self._writer = parquet.ParquetWriter(stream, schema, compression="zstd")

    def write(self, table: Any) -> None:
        """Append rows."""
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def _file(path: Path, use: Any) -> Any:
    parquet = require("pyarrow.parquet", "cli", PURPOSE)
    return _told(path, lambda: use(parquet.ParquetFile(path, memory_map=False, pre_buffer=False)))


def _told(path: Path, work: Any) -> Any:
    """Arrow's errors in one sentence."""
    try:
        return work()
    except (ValueError, OSError, NotImplementedError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole Parquet file: {first_line(error)}.") from error
