"""Configuration of the converter between CSR and C2SR."""

from __future__ import annotations

from dataclasses import dataclass

from .c2sr import POINTER_BYTES, C2srLayout, C2srOperands
from .channels import BlockReads, ChannelGeometry
from .config import Config, IntRange, like, parameter
from .matraptor import MatRaptorConfig
from .sidecar.traffic import BusSide, IdPart, Traffic, one_id_each
from .unit import Unit

__all__ = ["C2SR_CONVERTER", "POINTER_BYTES", "UNITS", "C2srConverterConfig", "converter_like"]

_WRITERS = ("pairs", "entries")
"""Writers that have IDs of their own, in both forms: pairs or pointers, and entries."""
_CHUNK_BEATS = 4


@dataclass(frozen=True, kw_only=True)
class C2srConverterConfig(C2srOperands, Config):
    """Sparse matrices from CSR to C2SR and back, from memory to memory."""

    lanes: int = parameter(
        0,
        allowed=IntRange(0, 16),
        doc="rows whose entries are copied at the same time; 0: as many as channels",
    )
    channels: int = like(ChannelGeometry, "channels")
    value: str = like(C2srLayout, "value", doc="format of the values")
    outstanding: int = like(
        BlockReads, "outstanding", doc="bursts that each reader may have in flight"
    )
    data_bits: int = like(ChannelGeometry, "data_bits")
    interleave: int = like(ChannelGeometry, "interleave")
    addr_bits: int = like(ChannelGeometry, "addr_bits")
    index_bits: int = like(C2srLayout, "index_bits")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layout.check_beat(self.data_bits)
        if self.lanes and self.channels % self.lanes:
            raise ValueError(
                f"`lanes` must be 0 or divide `channels`, {self.channels}, not {self.lanes}"
            )

    @property
    def lane_count(self) -> int:
        """Lanes; the rows of a channel belong to one lane, channel ``c`` to lane ``c % lanes``."""
        return self.lanes or self.channels

    @property
    def step_rows(self) -> int:
        """Rows that are found in a cycle: consecutive ones, of different lanes."""
        return 1 if self.lane_count % 2 else 2

    @property
    def chunk_beats(self) -> int:
        """Beats of pairs that are read from a channel before those of the next one."""
        return min(_CHUNK_BEATS, self.geometry.block_beats)

    @property
    def readers(self) -> tuple[str, ...]:
        """Readers that have IDs of their own: of pairs or pointers, and of each lane's entries."""
        return "index", *(f"lane_{lane}" for lane in range(self.lane_count))

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID: which reader, and the burst's number."""
        return self.slot_bits + self.lane_count.bit_length()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        slots, readers = self.outstanding, len(self.readers)
        reads = BusSide(
            longest_beats=self.geometry.block_beats,
            outstanding=readers * slots,
            outstanding_per_id=1,
            id_parts=(
                IdPart(name="burst", low=0, bits=self.slot_bits, count=slots),
                IdPart(
                    name="reader",
                    low=self.slot_bits,
                    bits=self.lane_count.bit_length(),
                    count=readers,
                    names=self.readers,
                ),
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
    summary="sparse matrices in memory from CSR to C2SR and back, an entry per cycle and lane",
    source="MatRaptor: sparse matrix format",
    config=C2srConverterConfig,
    component="tilewright.hw.c2sr_converter.converter:Converter",
    jobs="tilewright.hw.spec.jobs.c2sr_converter:job_spec",
)

UNITS = (C2SR_CONVERTER,)


def converter_like(config: MatRaptorConfig) -> C2srConverterConfig:
    """The converter with the channels and the formats of a MatRaptor."""
    names = "channels", "interleave", "value", "index_bits", "data_bits", "addr_bits", "outstanding"
    return C2srConverterConfig(**{name: getattr(config, name) for name in names})
