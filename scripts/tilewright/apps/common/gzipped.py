"""Matrix Market files packed by gzip: unpacked, but never to more than what they say they hold."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ...errors import UserError
from .market_header import Lines, read_header

__all__ = ["packed_file", "packed_lines", "unpack_market"]

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
