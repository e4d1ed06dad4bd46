"""Job list of a Tensaurus: the description of a tile in memory."""

from __future__ import annotations

__all__ = ["OPERANDS", "TILE_BYTES", "TILE_WORDS", "tile_words"]

OPERANDS = 3
"""Dense operands that a tile names at most: those of modes 1, 2 and 3."""

TILE_BYTES = 128
"""Bytes of a tile's description, and from one to the next."""

TILE_WORDS: dict[str, tuple[int, int]] = {
    "load": (0, 32),
    "last": (32, 32),
    "slices": (64, 32),
    "entries": (96, 32),
    "tensor": (128, 64),
    "output": (192, 64),
    "pitch": (256, 32),
    **{f"size_{mode}": (288 + 32 * (mode - 1), 32) for mode in range(1, OPERANDS + 1)},
    **{f"operand_{mode}": (384 + 64 * (mode - 1), 64) for mode in range(1, OPERANDS + 1)},
}
"""Lowest bit and width of each field.

load: bit m - 1: the operand of mode m is loaded; else the one that the job has loaded last is used
    again, as many of its rows or fewer
last: bit 0: behind this tile the output's slices are complete, and are written
slices: slices of the output, from its first one on
entries: of the stream, that which ends it included; of a dense tensor nothing
tensor: address of the stream, or of the dense tensor's first slice
output: address of the output's first slice; the same for all tiles of an output
pitch: bytes from a dense slice to the next
size_m: rows of the operand of mode m, which are the indices that mode m may have
operand_m: its address
"""


def tile_words(fields: dict[str, int]) -> bytes:
    """A tile in memory; fields that are not named are 0. Raises KeyError and ValueError."""
    number = 0
    for name, value in fields.items():
        low, bits = TILE_WORDS[name]
        if not 0 <= value < 1 << bits:
            raise ValueError(f"`{name}` must have {bits} bits, not {value}")
        number |= value << low
    return number.to_bytes(TILE_BYTES, "little")
