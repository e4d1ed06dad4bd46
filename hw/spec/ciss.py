"""Defines the CISS format in memory: entries, slots and headers.

Source: Tensaurus, section on the sparse format. The paper leaves open what fills the slots of a row
that has no slice left, how a stream ends and what a zero among the values is; what is fixed here is
ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from .config import Config, IntRange, OneOf, parameter
from .formats import FORMATS, Format
from .sidecar.placement import CissPlacement, Part

__all__ = ["MARKERS", "ORDERS", "VALUES", "CissLayout"]

VALUES = ("fp16", "bf16", "fp32", "fp64", "int8", "int32")
"""Formats that values may have."""

ORDERS = IntRange(2, 6)
"""Modes that a tensor may have."""

MARKERS = ("zero", "bit")
"""Ways to distinguish a header from a value."""


@dataclass(frozen=True, kw_only=True)
class CissLayout(Config):
    """A stream of entries; an entry has a slot for each row of processing elements.

    Slot ``p`` is for row ``p``: from the lowest bit on a value, index 0, index 1, ..., which are
    its places in modes 1, 2, ... Slot 0 is the lowest. Neither slots nor entries are padded; a
    stream begins at a multiple of a beat.

    A header announces slice ``i``, which the row's slots behind it are of: index 0 is ``i``, all
    other fields are zero. With ``marker`` "zero" a slot whose value is +0 is a header; with "bit"
    one whose index 0 has its top bit set is, and indices have a bit less. The header whose ``i`` is
    all ones, the no-op, fills the slots of a row that has no slice left. An entry of no-ops ends
    the stream.
    """

    rows: int = parameter(8, allowed=IntRange(1, 16), doc="rows of processing elements")
    order: int = parameter(3, allowed=ORDERS, doc="modes of the tensor")
    value: str = parameter("fp32", allowed=OneOf(VALUES), doc="format of the values")
    index_bits: int = parameter(
        32, allowed=IntRange(16, 32, multiple_of=16), doc="width of an index, in bits"
    )
    marker: str = parameter(
        "zero",
        allowed=OneOf(MARKERS),
        doc="mark of a header: the value +0, or the top bit of index 0",
    )

    @property
    def format(self) -> Format:
        return FORMATS[self.value]

    @property
    def slot_bits(self) -> int:
        """Width of a slot."""
        return self.format.bits + (self.order - 1) * self.index_bits

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot."""
        return self.slot_bits // 8

    @property
    def entry_bits(self) -> int:
        """Width of an entry."""
        return self.slot_bits * self.rows

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry, and from the beginning of one to that of the next."""
        return self.slot_bytes * self.rows

    @property
    def number_bits(self) -> int:
        """Width of an index without the bit that marks a header."""
        return self.index_bits - (self.marker == "bit")

    @property
    def header_bit(self) -> int:
        """The bit of index 0 that marks a header; 0 if none does."""
        return 1 << self.number_bits if self.marker == "bit" else 0

    @property
    def largest_index(self) -> int:
        """The largest index of modes 1, 2, ..."""
        return (1 << self.number_bits) - 1

    @property
    def largest_slice(self) -> int:
        """Largest index of mode 0; the next index marks a no-op."""
        return self.largest_index - 1

    @property
    def no_op(self) -> int:
        """The slot that fills and ends a stream."""
        return ((1 << self.index_bits) - 1) << self.format.bits

    def header(self, index: int) -> int:
        """The slot that announces a slice. Raises ValueError if there is no such slice."""
        if not 0 <= index <= self.largest_slice:
            raise ValueError(f"`index` must be in 0..{self.largest_slice}, not {index}")
        return (self.header_bit | index) << self.format.bits

    def largest_of(self, mode: int) -> int:
        """The largest index of a mode of the stream, whose mode 0 is the slices."""
        return self.largest_index if mode else self.largest_slice

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raises ValueError unless tensors of this shape, slices first, fit."""
        if len(shape) != self.order:
            raise ValueError(f"`shape` must have {self.order} modes, not {len(shape)}")
        for mode, size in enumerate(shape):
            most = self.largest_of(mode) + 1
            if not 0 <= size <= most:
                raise ValueError(
                    f"mode {mode} of a stream must have at most {most} indices with "
                    f"{self.index_bits} bits and marker {self.marker}, not {size}"
                )

    def placement(self, *, base: str, count: str, align: int, read_bytes: int) -> CissPlacement:
        """Placement of a tensor as a stream, for the sidecar. ``base``, ``count``: parts of the
        operation's list."""
        lows = range(self.format.bits, self.slot_bits, self.index_bits)
        first, *more = (Part(low=low, bits=self.number_bits) for low in lows)
        return CissPlacement(
            base=base,
            count=count,
            align=align,
            read_bytes=read_bytes,
            rows=self.rows,
            slot_bytes=self.slot_bytes,
            value=Part(low=0, bits=self.format.bits),
            index=first,
            more=tuple(more) or None,
            header=self.header(0),
            no_op=self.no_op,
        )
