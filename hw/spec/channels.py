"""Memory that is striped over channels, and lanes that share it by rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .config import Config, IntRange, parameter
from .sidecar.traffic import Blocks

__all__ = ["BlockReads", "ChannelGeometry", "LaneMap", "MemoryPorts", "Striping"]


@dataclass(frozen=True, kw_only=True)
class Striping(Config):
    """Flat address space, distributed over channels by blocks.

    Block ``n`` of ``interleave`` bytes belongs to channel ``n % channels``; a stripe is a block in
    every channel. An array *in a channel* begins at a flat base address that is a multiple of
    ``stripe_bytes``; byte ``x`` of it is at

        base + (x // interleave * channels + channel) * interleave + x % interleave
    """

    channels: int = parameter(8, allowed=IntRange(1, 16), doc="memory channels")
    interleave: int = parameter(
        64,
        allowed=IntRange(64, 2048, power_of_two=True),
        doc="granularity of interleaving: bytes per channel before the next one follows",
    )

    @property
    def channel_bits(self) -> int:
        """Width of a channel's number."""
        return max(1, (self.channels - 1).bit_length())

    @property
    def stripe_bytes(self) -> int:
        """Bytes of a block in every channel; bases are multiples of it."""
        return self.channels * self.interleave

    @property
    def block_shift(self) -> int:
        """Bits of an address within a block."""
        return self.interleave.bit_length() - 1

    def blocks(self, channel: int) -> Blocks:
        """Blocks that belong to a channel, for the sidecar."""
        return Blocks(bytes=self.interleave, count=self.channels, number=channel)

    def flat(self, base: int, channel: int, offset: int) -> int:
        """The flat address of byte ``offset`` of an array in a channel."""
        block, within = divmod(offset, self.interleave)
        return base + (block * self.channels + channel) * self.interleave + within


@dataclass(frozen=True, kw_only=True)
class ChannelGeometry(Striping):
    """Properties of a striped memory that the hardware needs: besides the blocks, its ports."""

    data_bits: int = parameter(
        128, allowed=IntRange(64, 512, power_of_two=True), doc="width of a memory channel, in bits"
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    @property
    def beat_shift(self) -> int:
        """Bits of an address within a beat."""
        return self.beat_bytes.bit_length() - 1

    @property
    def block_beats(self) -> int:
        """Beats of a block, which is the longest burst."""
        return self.interleave // self.beat_bytes

    @property
    def block_beat_bits(self) -> int:
        """Width of a beat's number in its block; 0 if a block is one beat."""
        return (self.block_beats - 1).bit_length()

    @property
    def line_blocks(self) -> int:
        """Blocks that the channels carry in the cycles of one: at least 1, and a power of two, so
        that all alignments are."""
        blocks = max(1, self.channels * self.beat_bytes // self.interleave)
        return 1 << blocks.bit_length() - 1

    @property
    def line_bytes(self) -> int:
        """Bytes of a line: the blocks that are read or written at once."""
        return self.line_blocks * self.interleave


@dataclass(frozen=True, kw_only=True)
class BlockReads(Config):
    """Capacity of a reader of a striped memory."""

    outstanding: int = parameter(
        64,
        allowed=IntRange(2, 256, power_of_two=True),
        doc="blocks that a reader may have in flight in a channel",
    )


class MemoryPorts:
    """Base class of configurations with the channels of a striped memory."""

    channels: int
    data_bits: int
    interleave: int
    addr_bits: int

    @cached_property
    def geometry(self) -> ChannelGeometry:
        """The memory's channels."""
        return ChannelGeometry(
            channels=self.channels,
            interleave=self.interleave,
            data_bits=self.data_bits,
            addr_bits=self.addr_bits,
        )

    @property
    def line_blocks(self) -> int:
        """Blocks of a line, which is read or written at once."""
        return self.geometry.line_blocks

    @property
    def line_bytes(self) -> int:
        """Bytes of a line, which is read or written at once. Arrays begin at multiples of it."""
        return self.geometry.line_bytes


@dataclass(frozen=True, kw_only=True)
class LaneMap(Config):
    """Distribution of rows over lanes and channels: row ``i`` is the row ``i // channels`` of
    channel ``i % channels``, and belongs to lane ``i % lanes``."""

    lanes: int = parameter(8, allowed=IntRange(1, 16), doc="lanes")
    channels: int = parameter(
        8, allowed=IntRange(1, 16), doc="memory channels; lanes or channels divides the other"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lanes % self.channels and self.channels % self.lanes:
            raise ValueError(
                f"`channels` must divide `lanes` or be a multiple of it, {self.lanes}, "
                f"not {self.channels}"
            )

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
