"""Arrow IPC files, also known as Feather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .problems import FileError, first_line, require
from .table import Reading, Table

PURPOSE = "Reading and writing Arrow files"


def read(path: Path, reading: Reading) -> Table:
    """All columns."""
    return Table(columns=_told(path, lambda: _open(path).read_all()))


def batches(path: Path, reading: Reading, columns: Sequence[str], numeric: Sequence[str], rows: int) -> Iterator[Table]:
    """Some columns, piece by piece."""
    pa = require("pyarrow", "cli", PURPOSE)
    file = _told(path, lambda: _open(path))
    for i in range(file.num_record_batches):
        whole = pa.Table.from_batches([_told(path, lambda i=i: file.get_batch(i))]).select(list(columns))
        for start in range(0, whole.num_rows, rows):
            yield Table(columns=whole.slice(start, rows))


def columns_of(path: Path, reading: Reading) -> list[str]:
    """Names of the columns."""
    return list(_told(path, lambda: _open(path)).schema.names)


class Writer:
    """Rows of an Arrow schema as an Arrow file."""

    def __init__(self, stream: Any, schema: Any, suffix: str = ".feather") -> None:
        ipc = require("pyarrow.ipc", "cli", PURPOSE)
        self._writer = ipc.new_file(stream, schema, options=ipc.IpcWriteOptions(compression="lz4"))

    def write(self, table: Any) -> None:
        """Append rows."""
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def _open(path: Path) -> Any:
    pa = require("pyarrow", "cli", PURPOSE)
    return require("pyarrow.ipc", "cli", PURPOSE).open_file(pa.memory_map(str(path)))


def _told(path: Path, work: Any) -> Any:
    """Arrow's errors in one sentence."""
    try:
        return work()
    except (ValueError, OSError, NotImplementedError) as error:
        raise FileError(f"{str(path)!r} is not a whole Arrow file: {first_line(error)}.") from error
