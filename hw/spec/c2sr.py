"""The C2SR format in memory: which channel a row is in, and where its bytes are.

Source: MatRaptor, section on the sparse matrix format. The paper leaves open where the (row
length, row pointer) pairs are and how entries are packed; what is fixed here is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from .formats import FORMATS, Format

__all__ = ["PAIR_BYTES", "C2srLayout"]

PAIR_BYTES = 8
"""A (row length, row pointer) pair: length in the low 32 bits, pointer in the high 32 bits, both
in entries; the pointer counts from the channel's first entry."""


@dataclass(frozen=True, kw_only=True)
class C2srLayout:
    """Rows in channels, and channels in a flat address space.

    Memory is interleaved: block ``n`` of ``interleave`` bytes belongs to channel ``n % channels``.
    An array *in a channel* begins at a flat base address that is a multiple of
    ``channels * interleave``; byte ``x`` of it is at

        base + (x // interleave * channels + channel) * interleave + x % interleave

    Row ``i`` is in channel ``i % channels`` and is that channel's row ``i // channels``. An operand
    has two such arrays in every channel: the pairs of its rows, in order, and its entries.

    An entry is the value in the low bits, then the column, then zeros up to ``entry_bytes``.

    Parameters
    ----------
    channels: memory channels, 1..16
    interleave: bytes of a block, a power of two
    value: name of the values' format
    index_bits: width of a column, 16 or 32
    """

    channels: int
    interleave: int
    value: str
    index_bits: int

    @property
    def format(self) -> Format:
        return FORMATS[self.value]

    @property
    def entry_bytes(self) -> int:
        """Bytes of a (value, column) entry: a power of two."""
        used = (self.format.bits + self.index_bits) // 8
        return 1 << (used - 1).bit_length()

    @property
    def channel_bits(self) -> int:
        """Width of a channel's number."""
        return max(1, (self.channels - 1).bit_length())

    @property
    def stripe_bytes(self) -> int:
        """Bytes of a block in every channel: what bases are multiples of."""
        return self.channels * self.interleave

    @property
    def block_entries(self) -> int:
        """Entries of a block."""
        return self.interleave // self.entry_bytes

    @property
    def block_pairs(self) -> int:
        """Pairs of a block."""
        return self.interleave // PAIR_BYTES

    def flat(self, base: int, channel: int, offset: int) -> int:
        """The flat address of byte ``offset`` of an array in a channel."""
        block, within = divmod(offset, self.interleave)
        return base + (block * self.channels + channel) * self.interleave + within
