"""Configuration of the converter between CSR and C2SR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .c2sr import POINTER_BYTES, C2srLayout, C2srOperands
from .channels import BlockReads, ChannelGeometry, LaneMap
from .config import Config, like
from .sidecar.traffic import BusSide, IdPart, Traffic, one_id_each
from .unit import Unit

__all__ = ["C2SR_CONVERTER", "POINTER_BYTES", "UNITS", "C2srConverterConfig"]

_READERS = ("pairs", "entries")
_WRITERS = ("pairs", "entries")
"""Writers that have IDs of their own, in both forms: pairs or pointers, and entries."""


@dataclass(frozen=True, kw_only=True)
class C2srConverterConfig(C2srOperands, Config):
    """Sparse matrices from CSR to C2SR and back, from memory to memory."""

    channels: int = like(ChannelGeometry, "channels")
    value: str = like(C2srLayout, "value", doc="format of the values")
    outstanding: int = like(
        BlockReads, "outstanding", doc="bursts that each of two readers may have in flight"
    )
    data_bits: int = like(ChannelGeometry, "data_bits")
    interleave: int = like(ChannelGeometry, "interleave")
    addr_bits: int = like(ChannelGeometry, "addr_bits")
    index_bits: int = like(C2srLayout, "index_bits")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layout.check_beat(self.data_bits)

    @cached_property
    def lane_map(self) -> LaneMap:
        """All rows are those of one lane."""
        return LaneMap(lanes=1, channels=self.channels)

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID: which reader, and the burst's number."""
        return self.slot_bits + (len(_READERS) - 1).bit_length()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        slots, readers = self.outstanding, len(_READERS)
        reads = BusSide(
            longest_beats=self.geometry.block_beats,
            outstanding=readers * slots,
            outstanding_per_id=1,
            id_parts=(
                IdPart(name="burst", low=0, bits=self.slot_bits, count=slots),
                IdPart(name="array", low=self.slot_bits, bits=1, count=readers, names=_READERS),
            ),
        )
        writes = one_id_each(
            "array",
            _WRITERS,
            longest_beats=self.geometry.block_beats,
            outstanding=self.outstanding,
            id_bits=self.id_bits,
        )
        return tuple(
            Traffic(reads=reads, writes=writes, blocks=self.geometry.blocks(channel))
            for channel in range(self.channels)
        )


C2SR_CONVERTER = Unit(
    name="c2sr_converter",
    summary="sparse matrices in memory from CSR to C2SR and back, one entry per cycle, over AXI4",
    source="MatRaptor: sparse matrix format",
    config=C2srConverterConfig,
    component="tilewright.hw.c2sr_converter.converter:Converter",
    jobs="tilewright.hw.spec.jobs.c2sr_converter:job_spec",
)

UNITS = (C2SR_CONVERTER,)
