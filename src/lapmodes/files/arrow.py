"""Tables that Arrow stores: Parquet files, and Arrow's own files, also known as Feather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .base import FileError, Format, Reading, Table, first_line, require

PURPOSE = "Reading and writing Parquet and Arrow files"


def read_parquet(path: Path, reading: Reading) -> Table:
    """All columns."""
    with _one_sentence(path, "Parquet"):
        return Table(columns=_open_parquet(path).read())


def parquet_batches(
    path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int
) -> Iterator[Table]:
    """Some columns, piece by piece."""
    pa = require("pyarrow", "cli", PURPOSE)
    with _one_sentence(path, "Parquet"):
        for batch in _open_parquet(path).iter_batches(batch_size=rows, columns=list(columns), use_threads=False):
            yield Table(columns=pa.Table.from_batches([batch]))


def parquet_columns(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    with _one_sentence(path, "Parquet"):
        return list(_open_parquet(path).schema_arrow.names)


def parquet_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes Parquet."""
    return require("pyarrow.parquet", "cli", PURPOSE).ParquetWriter(stream, schema, compression="zstd")


def read_feather(path: Path, reading: Reading) -> Table:
    """All columns."""
    with _one_sentence(path, "Arrow"):
        return Table(columns=_open_feather(path).read_all())


def feather_batches(
    path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int
) -> Iterator[Table]:
    """Some columns, in pieces of at most the batches of the file."""
    pa = require("pyarrow", "cli", PURPOSE)
    with _one_sentence(path, "Arrow"):
        file = _open_feather(path)
        for i in range(file.num_record_batches):
            batch = pa.Table.from_batches([file.get_batch(i)]).select(list(columns))
            for start in range(0, batch.num_rows, rows):
                yield Table(columns=batch.slice(start, rows))


def feather_columns(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    with _one_sentence(path, "Arrow"):
        return list(_open_feather(path).schema.names)


def feather_writer(stream: Any, schema: Any, suffix: str) -> Any:
    """Takes tables and writes an Arrow file."""
    ipc = require("pyarrow.ipc", "cli", PURPOSE)
    return ipc.new_file(stream, schema, options=ipc.IpcWriteOptions(compression="lz4"))


PARQUET = Format(read_parquet, parquet_batches, parquet_columns, parquet_writer)
FEATHER = Format(read_feather, feather_batches, feather_columns, feather_writer)


def _open_parquet(path: Path) -> Any:
    return require("pyarrow.parquet", "cli", PURPOSE).ParquetFile(path, memory_map=False, pre_buffer=False)


def _open_feather(path: Path) -> Any:
    pa = require("pyarrow", "cli", PURPOSE)
    return require("pyarrow.ipc", "cli", PURPOSE).open_file(pa.memory_map(str(path)))


@contextmanager
def _one_sentence(path: Path, kind: str) -> Iterator[None]:
    """Arrow's errors in one sentence about the file."""
    try:
        yield
    except FileError:
        raise
    except (ValueError, OSError, NotImplementedError, EOFError) as error:
        raise FileError(f"{str(path)!r} is not a whole {kind} file: {first_line(error)}.") from error
