"""The C2SR format in memory: which channel a row is in, and where its bytes are.

Source: MatRaptor, section on the sparse matrix format. The paper leaves open where the (row
length, row pointer) pairs are and how entries are packed; what is fixed here is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .channels import MemoryPorts, Striping
from .config import IntRange, OneOf, parameter
from .formats import FORMATS, Format
from .sidecar.placement import C2srPlacement, ColumnsByLanes, CsrPlacement, Part, Records, Room

__all__ = ["PAIR_BYTES", "POINTER_BYTES", "VALUES", "C2srLayout", "C2srOperands"]

VALUES = ("fp16", "bf16", "fp32", "fp64", "int32")
"""Formats that values may have."""

PAIR_BYTES = 8
"""A (row length, row pointer) pair: length in the low 32 bits, pointer in the high 32 bits, both
in entries; the pointer counts from the channel's first entry."""


POINTER_BYTES = 4
"""A row pointer of plain CSR."""

COLUMN_BYTES = 4
"""A column of plain CSR whose columns and values are in arrays of their own."""


@dataclass(frozen=True, kw_only=True)
class C2srLayout(Striping):
    """Rows in channels, and channels in a flat address space, see :class:`Striping`.

    Row ``i`` is in channel ``i % channels`` and is that channel's row ``i // channels``. An operand
    has two such arrays in every channel: the pairs of its rows, in order, and its entries.

    An entry is the value in the low bits, then the column, then zeros up to ``entry_bytes``.
    """

    value: str = parameter("fp32", allowed=OneOf(VALUES), doc="format of the values")
    index_bits: int = parameter(
        32, allowed=IntRange(16, 32, multiple_of=16), doc="width of a row or column number, in bits"
    )

    @property
    def format(self) -> Format:
        return FORMATS[self.value]

    @property
    def entry_bytes(self) -> int:
        """Bytes of a (value, column) entry: a power of two."""
        used = (self.format.bits + self.index_bits) // 8
        return 1 << (used - 1).bit_length()

    @property
    def block_entries(self) -> int:
        """Entries of a block."""
        return self.interleave // self.entry_bytes

    @property
    def block_pairs(self) -> int:
        """Pairs of a block."""
        return self.interleave // PAIR_BYTES

    def _entries(self, base: str) -> Records:
        value = self.format.container_bits
        parts = {"value": Part(low=0, bits=value), "column": Part(low=value, bits=self.index_bits)}
        return Records(base=base, bytes=self.entry_bytes, parts=parts)

    def placement(
        self,
        name: str,
        *,
        lanes: int | None = None,
        read: bool = True,
        room: Room | None = None,
    ) -> C2srPlacement:
        """A matrix with the base registers ``name``_PAIRS and ``name``_ENTRIES.

        Parameters
        ----------
        lanes: it is stored by columns, each divided among so many
        read: it is read, by whole blocks
        room: entries that it may have in each channel
        """
        parts = {"length": Part(low=0, bits=32), "pointer": Part(low=32, bits=32)}
        return C2srPlacement(
            channels=self.channels,
            interleave=self.interleave,
            align=self.stripe_bytes,
            read_bytes=self.interleave if read else None,
            pairs=Records(base=f"{name}_PAIRS", bytes=PAIR_BYTES, parts=parts),
            entries=self._entries(f"{name}_ENTRIES"),
            by_columns=ColumnsByLanes(lanes=lanes) if lanes else None,
            room=room,
        )

    def csr_placement(
        self,
        name: str,
        *,
        read: bool = True,
        room: Room | None = None,
        pointers: str = "POINTERS",
    ) -> CsrPlacement:
        """A matrix in CSR with the base registers ``name``_``pointers`` and ``name``_ENTRIES."""
        start = {"start": Part(low=0, bits=8 * POINTER_BYTES)}
        return CsrPlacement(
            align=self.stripe_bytes,
            read_bytes=self.interleave if read else None,
            pointers=Records(base=f"{name}_{pointers}", bytes=POINTER_BYTES, parts=start),
            entries=self._entries(f"{name}_ENTRIES"),
            room=room,
        )

    def check_beat(self, data_bits: int) -> None:
        """Raises ValueError if a beat holds no entry."""
        if data_bits < 8 * self.entry_bytes:
            raise ValueError(
                f"`data_bits` must be at least {8 * self.entry_bytes} for entries of "
                f"{self.value}, not {data_bits}"
            )


class C2srOperands(MemoryPorts):
    """Base class of configurations whose operands are stored as C2SR in the channels of a
    memory."""

    value: str
    outstanding: int
    index_bits: int

    @cached_property
    def layout(self) -> C2srLayout:
        """Layout of the operands in memory."""
        return C2srLayout(
            channels=self.channels,
            interleave=self.interleave,
            value=self.value,
            index_bits=self.index_bits,
        )

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.geometry.beat_bytes

    @property
    def beat_entries(self) -> int:
        """Entries of a beat."""
        return self.beat_bytes // self.layout.entry_bytes

    @property
    def slot_bits(self) -> int:
        """Width of a burst's number within a reader."""
        return (self.outstanding - 1).bit_length()
