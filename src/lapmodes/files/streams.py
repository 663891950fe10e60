"""The bytes of a file, packed or not, and the encoding of the text in it."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from .._archives import check_fits
from .base import FileError, Reading, first_line, require

CODECS = {".gz": "gzip", ".zst": "zstd"}
PACKED = (*CODECS, ".zip")
"""Endings of files that are unpacked on the way."""
CHUNK = 2**20
FALLBACK = "cp1252"
"""What text is that is not UTF-8: the encoding of Windows in western countries."""


def is_packed(path: Path) -> bool:
    """Whether a file is packed by its ending."""
    return path.suffix.lower() in PACKED


def inner_suffix(path: Path) -> str:
    """The ending of the table itself, without that of its packing; a name without any is that of a CSV."""
    if not is_packed(path):
        return path.suffix.lower()
    if path.suffix.lower() != ".zip":
        return Path(path.stem).suffix.lower() or ".csv"
    with _one_sentence(path), zipfile.ZipFile(path) as archive:
        return PurePosixPath(_only_member(path, archive).filename).suffix.lower() or ".csv"


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The bytes of the table in a file, as a stream that Arrow and Python read."""
    pa = require("pyarrow", "cli", "Reading tables")
    suffix = path.suffix.lower()
    with _one_sentence(path):
        if suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(path, archive)) as member:
                yield member
        elif suffix in CODECS:
            with pa.CompressedInputStream(pa.OSFile(str(path)), CODECS[suffix]) as stream:
                yield stream
        else:
            with pa.OSFile(str(path)) as stream:
                yield stream


class Squeezed(io.RawIOBase):
    """A stream of lines in which one space stands between cells, and none before or behind them."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._left, self._ready = stream, b"", b""

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """About so many bytes."""
        while not self._ready:
            chunk = self._stream.read(2**20)
            whole, sign, self._left = (self._left + chunk).rpartition(b"\n") if chunk else (self._left, b"", b"")
            self._ready = re.sub(rb"(?m)^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", whole)) + sign
            if not chunk:
                break
        size = len(self._ready) if size < 0 else size
        out, self._ready = self._ready[:size], self._ready[size:]
        return out


def text_encoding(path: Path, reading: Reading) -> str:
    """The encoding asked for; else UTF-16 where a mark says so, UTF-8, or Windows-1252 if all bytes fit that."""
    with opened(path) as stream:
        marked = stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    candidates = ["utf-16"] if marked else ["utf8", FALLBACK]
    if reading.encoding is not None:
        candidates = [reading.encoding]
    for encoding in candidates:
        if _decodes(path, encoding):
            return encoding
    what = "UTF-8 or Windows-1252" if len(candidates) > 1 else candidates[0]
    raise FileError(f"{str(path)!r} is not {what} text. Save it as UTF-8, or say what it is, e.g. --encoding latin-1.")


def encoding_lines(encoding: str, reading: Reading) -> tuple[str, ...]:
    """What to tell about an encoding that nobody asked for and no mark gives."""
    if encoding != FALLBACK or reading.encoding is not None:
        return ()
    return ("Read as Windows-1252 text, since it is not UTF-8 (if that is wrong, use --encoding).",)


def check_unpacked(path: Path) -> None:
    """Refuse a packed file whose table does not fit into memory."""
    if not is_packed(path):
        return
    size = 0
    with opened(path) as stream:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            try:
                check_fits(size, path)
            except ValueError as error:
                raise FileError(f"{str(path)!r} cannot be read: {error}.") from error


def _decodes(path: Path, encoding: str) -> bool:
    """Whether all bytes are text of an encoding."""
    try:
        "a".encode(encoding)  # refuses codecs that are not about text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, TypeError, ValueError) as error:
        raise FileError(f"There is no encoding {encoding!r}. Use for example utf-8 or latin-1.") from error
    with opened(path) as stream:
        try:
            while chunk := stream.read(CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeError:
            return False
    return True


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one file in an archive; what macOS and hidden folders add is passed over."""
    members = [item for item in archive.infolist() if not item.is_dir() and not _hidden(item.filename)]
    if len(members) != 1:
        raise FileError(f"{str(path)!r} must hold exactly one table. It holds {len(members)} files. Unpack it first.")
    return members[0]


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Errors of unpacking, in one sentence about the file."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        kind = f"a whole {path.suffix} file" if is_packed(path) else "readable"
        raise FileError(f"{str(path)!r} is not {kind}: {first_line(error)}. Pack or copy it again.") from error
