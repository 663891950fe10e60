"""Bytes that were changed: blindly, in the numbers that binary formats are made of, in words, and inside archives."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
NUMBERS = (0, 1, -1, 2, 255, 2**15, 2**16, 10**8, 2**31 - 1, 2**31 - 9, -(2**31), 2**31, 2**32, 2**40, 2**62, 2**63 - 1)
WORDS = (
    *(b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"1e200", b"0x10", b"NULL", b"", b"\0", b"\xff\xfe", b'"', b"'"),
    *(
        b"[" * 3000,
        b'{"a":' * 3000,
        b"9" * 5000,
        b"\n",
        b"\r",
        b",",
        b",,,,,,",
        b"=cmd|' /C calc'!A0",
        b"-",
        b"(",
        b")",
    ),
    *(b"1,5", b"1.000,5", b"%", "é".encode(), "é".encode("latin-1"), b"\xe2\x80\x8b", b"10000000000", b"-1", b"1e308"),
)


def flip(rng: Rng, data: bytearray) -> None:
    """A few bits."""
    for _ in range(int(rng.integers(1, 9))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def overwrite(rng: Rng, data: bytearray) -> None:
    """A few bytes by random ones."""
    at = int(rng.integers(len(data)))
    data[at : at + int(rng.integers(1, 17))] = rng.bytes(int(rng.integers(1, 17)))


def number(rng: Rng, data: bytearray) -> None:
    """Whole numbers of four or eight bytes, at the places where formats have them, by others of consequence."""
    for _ in range(int(rng.integers(1, 5))):
        code = "<iqIQ"[0] + "iq"[int(rng.integers(2))]
        size = struct.calcsize(code)
        if len(data) < size:
            return
        at = int(rng.integers(0, (len(data) - size) // 4 + 1)) * 4
        old = struct.unpack_from(code, data, at)[0]
        new = int(NUMBERS[int(rng.integers(len(NUMBERS)))])
        new = old + new if rng.random() < 0.5 else new
        bits = 8 * size
        struct.pack_into(code, data, at, (new + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))


def shift_run(rng: Rng, data: bytearray) -> None:
    """A run of whole numbers, such as offsets, by one constant."""
    count = int(rng.integers(2, 60))
    at = int(rng.integers(0, max(1, len(data) // 4 - count))) * 4
    run = np.frombuffer(bytes(data[at : at + 4 * count]), dtype="<i4") if len(data) >= at + 4 * count else None
    if run is not None:
        by = int(NUMBERS[int(rng.integers(len(NUMBERS)))])
        data[at : at + 4 * count] = (run.astype(np.int64) + by).astype("<i4").tobytes()


def cut(rng: Rng, data: bytearray) -> None:
    """The end is missing."""
    del data[int(rng.integers(len(data))) :]


def remove(rng: Rng, data: bytearray) -> None:
    """A piece in the middle is missing."""
    at = int(rng.integers(len(data)))
    del data[at : at + int(rng.integers(1, 200))]


def repeat(rng: Rng, data: bytearray) -> None:
    """A piece is there several times."""
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
    data[at:at] = data[at : at + size] * int(rng.integers(1, 20))


def insert_word(rng: Rng, data: bytearray) -> None:
    """A word that parsers stumble over, in the text or in place of a piece of it."""
    at = int(rng.integers(len(data) + 1))
    data[at : at + int(rng.integers(0, 6))] = WORDS[int(rng.integers(len(WORDS)))]


def replace_digits(rng: Rng, data: bytearray) -> None:
    """A run of digits by a number of consequence: sizes in headers of text."""
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        at = end = digits[int(rng.integers(len(digits)))]
        while end < len(data) and 48 <= data[end] <= 57:
            end += 1
        data[at:end] = str(NUMBERS[int(rng.integers(len(NUMBERS)))]).encode()


MUTATIONS: tuple[Callable[[Rng, bytearray], None], ...] = (
    *(flip, overwrite, number, number, shift_run, shift_run, cut, remove, repeat, insert_word, insert_word),
    replace_digits,
)


def mutated(rng: Rng, content: bytes) -> bytes:
    """Bytes with one to three mutations; those of an archive mostly inside one of its parts, whose sums stay right."""
    if content[:2] == b"PK" and rng.random() < 0.8:
        return _mutated_archive(rng, content)
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if data:
            MUTATIONS[int(rng.integers(len(MUTATIONS)))](rng, data)
    return bytes(data)


def _mutated_archive(rng: Rng, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        members = archive.infolist()
        chosen = int(rng.integers(len(members)))
        for i, member in enumerate(members):
            part = archive.read(member)
            if i == chosen and rng.random() < 0.05:
                continue
            part = _mutated_part(rng, part) if i == chosen else part
            new.writestr(member.filename, part)
    return out.getvalue()


def _mutated_part(rng: Rng, part: bytes) -> bytes:
    """The head of an array, its numbers, or both."""
    head = 128 if part[:6] == b"\x93NUMPY" else 0
    if head and rng.random() < 0.6:
        return part[:head] + mutated(rng, part[head:])
    if head and rng.random() < 0.6:
        data = bytearray(part[10:head])
        [insert_word, replace_digits, flip][int(rng.integers(3))](rng, data)
        size = len(data)
        return part[:8] + struct.pack("<H", size) + bytes(data) + part[head:]
    return mutated(rng, part)
