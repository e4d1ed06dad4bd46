"""The content of a memory in the benches, kept as whole beats."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

FLAGS = ("aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
"""Fields of ``axi_memory.Behaviour`` that AXI4 leaves to a memory, each on or off."""

MODES = (*FLAGS, "write_latency")


def any_modes(seed: Any) -> dict[str, Any]:
    """Each flag on or off, responses to writes as soon as all others or long after."""
    generator = random.Random(f"modes {seed}")
    drawn: dict[str, Any] = {name: generator.random() < 0.5 for name in FLAGS}
    drawn["write_latency"] = generator.choice([None, None, (1, 1), (60, 120)])
    return drawn


def _nothing(address: int) -> int:
    return 0


class Storage:
    """Bytes by address, kept as beats; several ports may share one.

    Parameters
    ----------
    data_bits: of a beat
    initial: value of the beat at an address before anything is written there
    """

    def __init__(self, data_bits: int, initial: Callable[[int], int] = _nothing) -> None:
        self.bytes = data_bits // 8
        self._initial = initial
        self._beats: dict[int, int] = {}
        self._masks: dict[int, int] = {}

    def get(self, address: int) -> int:
        """The beat at an aligned address."""
        found = self._beats.get(address)
        return self._initial(address) if found is None else found

    def put(self, address: int, value: int, strobe: int) -> None:
        """Write the bytes of a beat that ``strobe`` names."""
        mask = self._masks.get(strobe)
        if mask is None:
            mask = sum(0xFF << 8 * i for i in range(self.bytes) if strobe >> i & 1)
            self._masks[strobe] = mask
        self._beats[address] = (self.get(address) & ~mask) | (value & mask)

    def copy(self) -> Storage:
        """Another storage with the same content."""
        other = Storage(8 * self.bytes, self._initial)
        other._beats = dict(self._beats)
        return other

    def written(self) -> set[int]:
        """Addresses of all beats that were written."""
        return set(self._beats)

    def load(self, address: int, content: bytes) -> None:
        """Write any bytes."""
        start, size = address % self.bytes, self.bytes
        padded = bytes(start) + content + bytes(-(start + len(content)) % size)
        strobes = ((1 << len(content)) - 1) << start
        for offset in range(0, len(padded), size):
            word = int.from_bytes(padded[offset : offset + size], "little")
            self.put(address - start + offset, word, strobes >> offset & ((1 << size) - 1))

    def dump(self, address: int, length: int) -> bytes:
        """Read any bytes."""
        start, size = address % self.bytes, self.bytes
        places = range(address - start, address + length, size)
        content = b"".join(self.get(place).to_bytes(size, "little") for place in places)
        return content[start : start + length]
