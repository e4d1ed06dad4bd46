"""Reads the first lines of a Matrix Market file: its kind and its size; packed files, too.

They are looked at alone, without NumPy, before anything else of a file is. Comments may be in any
encoding. A file that gzip has packed is never unpacked to more than what it says it holds.

Source: The Matrix Market Exchange Formats (NIST IR 5935); LAGraph's ``%%GraphBLAS type`` line.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ...errors import UserError

__all__ = ["INTEGER_TYPES", "VALUES", "Header", "Lines", "is_count", "packed_file", "packed_lines",
           "quoted", "read_header", "unpack_market"]  # fmt: skip

_LAYOUTS = ("coordinate", "array")
VALUES = {"real": 1, "complex": 2, "integer": 1, "pattern": 0}
"""Numbers that an entry's value is, by the header's field."""
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
INTEGER_TYPES = {"bool": (0, 1)} | {
    f"{sign}int{bits}_t": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("", "u")
}
"""Ranges of the types that a ``%%GraphBLAS type`` line may declare."""
_FLOAT_TYPES = ("float", "double")
_COMPLEX_TYPES = ("float complex", "double complex")
_LONGEST = 60


@dataclass(frozen=True)
class Header:
    """The first lines: what the file holds."""

    layout: str
    field: str
    symmetry: str
    declared: str | None
    rows: int
    cols: int
    entries: int


@dataclass
class Lines:
    """The lines of a file with their numbers, and the way to complain about one."""

    path: Path
    lines: Iterator[bytes]
    number: int = 0

    def next(self) -> str | None:
        line = next(self.lines, None)
        self.number += line is not None
        return None if line is None else line.decode("latin-1")

    def refuse(self, what: str) -> UserError:
        return UserError(f"{self.path}: line {self.number}: {what}")


def read_header(source: Lines) -> Header:
    """Reads the header of a file, and nothing after it.

    Raises UserError that names the file, the line, what is wrong and what is allowed.
    """
    layout, field, symmetry = _banner(source)
    line = source.next()
    declared = None
    while line is not None and (line.startswith("%") or not line.strip()):
        if line.lower().startswith("%%graphblas"):
            declared = _declared_type(source, line, field)
        line = source.next()
    return _sizes(source, line, layout, field, symmetry, declared)


def _banner(source: Lines) -> tuple[str, str, str]:
    line = source.next()
    allowed = "%%MatrixMarket matrix coordinate|array real|complex|integer|pattern general|..."
    if line is None:
        raise UserError(f"{source.path}: the file is empty; its header must read {allowed}")
    words = line.lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket":
        raise source.refuse(
            f"not a Matrix Market header; it must read {allowed}, not {quoted(line)}"
        )
    _, kind, layout, field, symmetry = words
    for word, choices in (
        (kind, ("matrix",)), (layout, _LAYOUTS), (field, tuple(VALUES)), (symmetry, _SYMMETRIES)
    ):  # fmt: skip
        if word not in choices:
            allowed = ", ".join(choices)
            one_of = "one of " if len(choices) > 1 else ""
            raise source.refuse(f"{quoted(word)} in the header must be {one_of}{allowed}")
    if field == "pattern" and layout == "array":
        raise source.refuse("an array cannot be a pattern; it must be real, complex or integer")
    if field == "pattern" and symmetry not in ("general", "symmetric"):
        raise source.refuse(f"a pattern must be general or symmetric, not {symmetry}")
    if symmetry == "hermitian" and field != "complex":
        raise source.refuse(f"a hermitian matrix must be complex, not {field}")
    return layout, field, symmetry


def _declared_type(source: Lines, line: str, field: str) -> str:
    words = line.split()
    declared = " ".join(words[2:])
    known = (*INTEGER_TYPES, *_FLOAT_TYPES, *_COMPLEX_TYPES)
    if words[1:2] != ["type"] or declared not in known:
        raise source.refuse(f"GraphBLAS type {quoted(declared)} must be one of {', '.join(known)}")
    if field != "pattern" and (declared in _COMPLEX_TYPES) != (field == "complex"):
        raise source.refuse(f"GraphBLAS type {declared} contradicts the header's field {field}")
    return declared


def _sizes(
    source: Lines, line: str | None, layout: str, field: str, symmetry: str, declared: str | None
) -> Header:
    names = ("rows", "columns", "entries")[: 3 if layout == "coordinate" else 2]
    words = (line or "").split()
    if len(words) != len(names) or not all(is_count(word) for word in words):
        found = "the end of the file" if line is None else quoted(line)
        raise source.refuse(
            f"the size line must be {len(names)} counts: {', '.join(names)}, not {found}"
        )
    rows, cols = int(words[0]), int(words[1])
    if symmetry != "general" and rows != cols:
        raise source.refuse(f"a {symmetry} matrix must be square, not {rows} x {cols}")
    if layout == "coordinate":
        entries = int(words[2])
    elif symmetry == "general":
        entries = rows * cols
    else:
        entries = rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2
    if entries > rows * cols:
        raise source.refuse(f"{entries} entries do not fit {rows} x {cols}")
    return Header(layout, field, symmetry, declared, rows, cols, entries)


def is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 19


def quoted(text: str) -> str:
    """Quotes text of a file, shortened to the length of a message."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


_HEAD = 1 << 24
"""Bytes in which the size line must come, and that comments may take besides."""
_LINE = 1 << 16
"""Bytes that are looked at as one line of the head."""
_ENTRY = 256
"""Bytes that the line of an entry may take."""


def packed_lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    """The first lines of a packed file, which is open; raises UserError if it is no gzip file, or
    damaged there."""
    left = _HEAD
    with _gzip_errors(path), gzip.GzipFile(fileobj=file) as unpacked:
        while left > 0 and (line := unpacked.readline(_LINE)):
            left -= len(line)
            yield from line.splitlines()


def unpack_market(path: Path, content: bytes) -> bytes:
    """The text of a packed file from its bytes.

    Raises UserError if they are none of gzip or damaged, if the text begins with no header, or is
    longer than as many entries as that says ever are.
    """
    header = read_header(Lines(path, packed_lines(path, io.BytesIO(content))))
    most = _HEAD + _ENTRY * header.entries
    with _gzip_errors(path), gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
        text = unpacked.read(most + 1)
    if len(text) > most:
        raise UserError(
            f"{path}: unpacks to more than {most} bytes; {header.entries} entries take less"
        )
    return text


def packed_file(file: IO[bytes]) -> IO[bytes]:
    """A file to be written, packed into one that is open: the same text gives the same bytes."""
    return cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))


@contextmanager
def _gzip_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise UserError(f"{path}: damaged gzip file: it ends too early") from None
    except gzip.BadGzipFile as error:
        raise UserError(f"{path}: not a whole gzip file: {error}") from None
    except zlib.error as error:
        raise UserError(f"{path}: damaged gzip file: {error}") from None
