"""Bytes at consecutive addresses of a device's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Read", "read_bytes", "write_blocks"]

Bytes = npt.NDArray[np.uint8]
Read = Callable[[int, int], bytes]
"""``read(address, count)``: bytes of a memory."""


class Block(NamedTuple):
    """Bytes at consecutive addresses."""

    address: int
    data: Bytes


def write_blocks(write: Callable[[int, bytes], None], blocks: Iterable[Block]) -> None:
    """Put blocks into a memory; ``write(address, content)``: puts bytes there."""
    for block in blocks:
        write(block.address, block.data.tobytes())


def read_bytes(read: Read, address: int, count: int) -> Bytes:
    """So many bytes at an address. Raises ValueError if the memory gives fewer."""
    data = np.frombuffer(read(address, count) if count else b"", np.uint8)
    if len(data) != count:
        raise ValueError(f"memory gave {len(data)} bytes at {address:#x}, not {count}")
    return data
