"""Configuration of the MatRaptor SpGEMM accelerator."""

from __future__ import annotations

from dataclasses import dataclass

from .c2sr import C2srLayout
from .config import Config, Flag, IntRange, OneOf, parameter
from .formats import FORMATS, Format
from .semirings import SEMIRINGS, Semiring

__all__ = ["VALUES", "MatRaptorConfig"]

VALUES = ("fp16", "bf16", "fp32", "fp64", "int32")
"""Formats that values may have."""

_UNIT_BITS = 2

_MOST_BANKS = 16
_ROW_BUFFERS = 2


@dataclass(frozen=True, kw_only=True)
class MatRaptorConfig(Config):
    """``C = A (x) B`` of sparse matrices in C2SR, row by row, in ``lanes`` lanes."""

    lanes: int = parameter(
        8, allowed=IntRange(1, 16), doc="lanes, each with its loaders and processing element"
    )
    channels: int = parameter(
        8, allowed=IntRange(1, 16), doc="memory channels; lanes or channels divides the other"
    )
    queues: int = parameter(
        10, allowed=IntRange(3, 16), doc="sorting queues in each of a lane's two sets"
    )
    queue_depth: int = parameter(1024, allowed=IntRange(4, 65536), doc="entries of a sorting queue")
    value: str = parameter("fp32", allowed=OneOf(VALUES), doc="format of the values of A, B and C")
    semiring: str = parameter(
        "mma", allowed=OneOf(tuple(SEMIRINGS)), doc="what is added and multiplied; mma: + and *"
    )
    outstanding: int = parameter(
        64,
        allowed=IntRange(2, 256, power_of_two=True),
        doc="bursts that each of a lane's four readers may have under way",
    )
    data_bits: int = parameter(
        128, allowed=IntRange(64, 512, power_of_two=True), doc="width of a memory channel, in bits"
    )
    interleave: int = parameter(
        64,
        allowed=IntRange(64, 2048, power_of_two=True),
        doc="bytes after which memory goes on in the next channel",
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")
    index_bits: int = parameter(
        32, allowed=IntRange(16, 32, multiple_of=16), doc="width of a row or column number, in bits"
    )
    adder_stages: int = parameter(3, allowed=IntRange(1, 3), doc="latency of an adder, in cycles")
    multiplier_stages: int = parameter(
        3, allowed=IntRange(1, 3), doc="latency of the multiplier, in cycles"
    )
    outer_product: bool = parameter(
        False,
        allowed=Flag(),
        doc="a second mode for small, denser operands: outer products, summed in the queues",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lanes % self.channels and self.channels % self.lanes:
            raise ValueError(
                f"`channels` must divide `lanes` or be a multiple of it, {self.lanes}, "
                f"not {self.channels}"
            )
        if self.layout.entry_bytes > self.beat_bytes:
            raise ValueError(
                f"`data_bits` must be at least {8 * self.layout.entry_bytes} for entries of "
                f"{self.value}, not {self.data_bits}"
            )

    @property
    def format(self) -> Format:
        """Of the values."""
        return FORMATS[self.value]

    @property
    def operators(self) -> Semiring:
        """The semiring itself."""
        return SEMIRINGS[self.semiring]

    @property
    def layout(self) -> C2srLayout:
        """How operands lie in memory."""
        return C2srLayout(
            channels=self.channels,
            interleave=self.interleave,
            value=self.value,
            index_bits=self.index_bits,
        )

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst: one block of the interleaving."""
        return self.interleave // self.beat_bytes

    @property
    def beat_entries(self) -> int:
        """Entries of a beat."""
        return self.beat_bytes // self.layout.entry_bytes

    @property
    def lane_bits(self) -> int:
        """Width of a lane's number."""
        return max(1, (self.lanes - 1).bit_length())

    @property
    def lane_channels(self) -> int:
        """Channels that the rows of a lane are in."""
        return max(1, self.channels // self.lanes)

    @property
    def channel_lanes(self) -> int:
        """Lanes whose rows share a channel."""
        return max(1, self.lanes // self.channels)

    @property
    def accumulator_banks(self) -> int:
        """Queues of a lane that sum a line of C each in the outer-product mode: a power of two.
        Two of the others hold rows of B."""
        return min(_MOST_BANKS, 1 << (2 * self.queues - _ROW_BUFFERS).bit_length() - 1)

    @property
    def slot_bits(self) -> int:
        """Width of a burst's number within a reader."""
        return (self.outstanding - 1).bit_length()

    @property
    def lane_id_bits(self) -> int:
        """Width of an AXI ID within a lane: which of its readers, and the burst's number."""
        return _UNIT_BITS + self.slot_bits

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID."""
        return self.lane_id_bits + (self.lanes - 1).bit_length()
