"""Frames between a host and the bridge of a board, over a serial line.

``docs/bridge.md`` describes the protocol. A frame stands between two ``END`` bytes; inside, ``END``
and ``ESCAPE`` are replaced by two bytes (RFC 1055). Its last four bytes are the CRC-32 of those
before. Numbers have the lowest byte first.
"""

from __future__ import annotations

import hashlib
import json
from enum import IntEnum
from typing import Any, NamedTuple

END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE = 0xC0, 0xDB, 0xDC, 0xDD

VERSION = 1
BAUD = 1_000_000
"""Bits per second, unless said otherwise."""
HEADER_BYTES = 8
"""Of a request: command, sequence number, address (4), count (2)."""
CHECK_BYTES = 4
REPLY = 0x80
"""What a reply adds to the command."""
MOST_DATA = 1024
"""Bytes of data in a frame at most."""
DIGEST_BYTES = 8
WORD_BYTES = 4


class Command(IntEnum):
    """What a request asks for. ``EVENT`` comes from the board alone, when the interrupt rises."""

    OPEN = 1
    READ_REGISTER = 2
    WRITE_REGISTER = 3
    READ_MEMORY = 4
    WRITE_MEMORY = 5
    STATE = 6
    EVENT = 0x7F


class Status(IntEnum):
    """How a request went: ``CLOSED`` is the answer to all but ``OPEN`` behind a reset."""

    DONE = 0
    CLOSED = 1
    MALFORMED = 2
    REGISTER = 3
    MEMORY = 4


class Identity(NamedTuple):
    """What a board says of itself when it is opened.

    Members
    -------
    version: of the protocol
    most_data: bytes of data in a frame at most
    memory_bytes: size of the board's memory
    digest: of the unit and its configuration, see :func:`digest_of`
    """

    version: int
    most_data: int
    memory_bytes: int
    digest: bytes

    def to_bytes(self) -> bytes:
        """The data of the reply to ``OPEN``."""
        sizes = self.most_data.to_bytes(2, "little") + self.memory_bytes.to_bytes(8, "little")
        return bytes([self.version, 0]) + sizes + self.digest

    @classmethod
    def from_bytes(cls, content: bytes) -> Identity:
        """The reverse. Raises ValueError for another length."""
        if len(content) != IDENTITY_BYTES:
            raise ValueError(f"an identity must have {IDENTITY_BYTES} bytes, not {len(content)}")
        sizes = int.from_bytes(content[2:4], "little"), int.from_bytes(content[4:12], "little")
        return cls(content[0], *sizes, content[12:])


IDENTITY_BYTES = 12 + DIGEST_BYTES


def digest_of(unit: str, values: dict[str, Any]) -> bytes:
    """Returns eight bytes that tell configurations apart: of a unit's name and of all its
    parameters, as ``Config.resolved`` gives them."""
    text = json.dumps([unit, values], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]
