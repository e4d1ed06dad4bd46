"""Configuration of the MatRaptor SpGEMM accelerator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .c2sr import C2srLayout, C2srOperands
from .channels import BlockReads, ChannelGeometry, LaneMap
from .config import Config, Flag, IntRange, OneOf, OperatorStages, like, parameter
from .formats import FORMATS, Format
from .semirings import SEMIRINGS, Semiring
from .sidecar.traffic import BusSide, IdPart, Traffic, one_id_each
from .unit import Unit

__all__ = ["MATRAPTOR", "MODES", "READS", "UNITS", "WRITES", "MatRaptorConfig"]

MODES = ("rows", "outer")
"""Methods to compute a product: row by row, or by outer products."""

CACHE_WAYS = 4
"""Blocks of a set of the cache of B."""

READS = ("a_pairs", "a_entries", "b_pairs", "b_entries")
"""Arrays that a lane reads, each under IDs of its own."""

WRITES = ("c_pairs", "c_entries")
"""Arrays that a lane writes, each under IDs of its own."""

VALUE_READS = {"a_values": 4, "b_values": 6}
"""Further ones with ``csr``, and where they are among the arrays: bit 1 is that of B."""

_MOST_BANKS = 16
_ROW_BUFFERS = 2


@dataclass(frozen=True, kw_only=True)
class MatRaptorConfig(C2srOperands, Config):
    """``C = A (x) B`` of sparse matrices in C2SR, row by row, in ``lanes`` lanes."""

    lanes: int = like(LaneMap, "lanes", doc="lanes, each with its loaders and processing element")
    channels: int = like(LaneMap, "channels")
    queues: int = parameter(
        10, allowed=IntRange(3, 16), doc="sorting queues in each of a lane's sets"
    )
    queue_sets: int = parameter(
        2, allowed=IntRange(2, 4), doc="sets of sorting queues of a lane: one a row at a time"
    )
    row_queue: int = parameter(
        0,
        allowed=IntRange(0, 32, multiple_of=2),
        doc="rows that may wait for phase II, those without products without a set of queues; "
        "0: each has a set",
    )
    queue_depth: int = parameter(1024, allowed=IntRange(4, 65536), doc="entries of a sorting queue")
    value: str = like(C2srLayout, "value", doc="format of the values of A, B and C")
    semiring: str = parameter(
        "mma", allowed=OneOf(tuple(SEMIRINGS)), doc="semiring of the products; mma: + and *"
    )
    outstanding: int = like(
        BlockReads,
        "outstanding",
        doc="bursts that each of a lane's readers may have in flight",
    )
    a_outstanding: int = parameter(
        0,
        allowed=IntRange(0, 256),
        doc="the same of the two readers of A, if other than `outstanding`; 0: as many",
    )
    beat_queue: int = parameter(
        0,
        allowed=IntRange(0, 32, multiple_of=2),
        doc="beats that may wait in each channel for each lane; 0: they wait for each other",
    )
    data_bits: int = like(ChannelGeometry, "data_bits")
    interleave: int = like(ChannelGeometry, "interleave")
    addr_bits: int = like(ChannelGeometry, "addr_bits")
    index_bits: int = like(C2srLayout, "index_bits")
    adder_stages: int = like(OperatorStages, "adder_stages", default=4, allowed=IntRange(1, 4))
    multiplier_stages: int = like(
        OperatorStages, "multiplier_stages", default=4, allowed=IntRange(1, 4)
    )
    outer_product: bool = parameter(
        False,
        allowed=Flag(),
        doc="a second mode for small, denser operands: outer products, summed in the queues",
    )

    cache_bytes: int = parameter(
        0,
        allowed=IntRange(0, 1 << 22),
        doc="bytes of a cache of B, all channels together; 0: no cache",
    )
    csr: bool = parameter(
        False, allowed=Flag(), doc="whether a job may have A or B in CSR; C is always in C2SR"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # The lane map checks the numbers of lanes and channels.
        _ = self.lane_map
        self.layout.check_beat(self.data_bits)
        if self.a_outstanding == 1 or self.a_outstanding & (self.a_outstanding - 1):
            raise ValueError(
                f"`a_outstanding` must be 0 or a power of two in 2..256, not {self.a_outstanding}"
            )
        step = self.channels * CACHE_WAYS * self.interleave
        sets = self.cache_bytes // step
        if self.cache_bytes and (sets < 2 or sets & (sets - 1) or self.cache_bytes % step):
            raise ValueError(
                f"`cache_bytes` must be 0 or `channels` * `interleave` * {CACHE_WAYS}, {step}, "
                f"times a power of two of at least 2, not {self.cache_bytes}"
            )
        if self.csr and self.outer_product:
            raise ValueError("`csr` must be false with `outer_product`, not true")

    @property
    def format(self) -> Format:
        """Format of the values."""
        return FORMATS[self.value]

    @property
    def operators(self) -> Semiring:
        """The semiring itself."""
        return SEMIRINGS[self.semiring]

    @cached_property
    def lane_map(self) -> LaneMap:
        """Assignment of rows and channels to lanes."""
        return LaneMap(lanes=self.lanes, channels=self.channels)

    @property
    def a_bursts(self) -> int:
        """Bursts that each reader of A may have in flight."""
        return self.a_outstanding or self.outstanding

    @property
    def slot_bits(self) -> int:
        """Width of a burst's number within a reader."""
        return (max(self.outstanding, self.a_bursts) - 1).bit_length()

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst: one block of the interleaving."""
        return self.geometry.block_beats

    @property
    def cache_sets(self) -> int:
        """Sets of a channel's part of the cache of B; its blocks are those of the interleaving."""
        return self.cache_bytes // (self.channels * CACHE_WAYS * self.interleave)

    @property
    def cache_waiting(self) -> int:
        """Reads of B in a channel that may wait for their blocks."""
        return 4 * self.outstanding

    @property
    def cache_skipped_bits(self) -> int:
        """Lowest bits of a block's number that do not choose its set: a channel has every so
        manieth block, of which the power of two would leave sets without blocks."""
        return (self.channels & -self.channels).bit_length() - 1

    @property
    def lane_bits(self) -> int:
        """Width of a lane's number."""
        return self.lane_map.lane_bits

    @property
    def lane_channels(self) -> int:
        """Channels that the rows of a lane are in."""
        return self.lane_map.lane_channels

    @property
    def channel_lanes(self) -> int:
        """Lanes whose rows share a channel."""
        return self.lane_map.channel_lanes

    @property
    def accumulator_banks(self) -> int:
        """Queues of a lane that sum a line of C each in the outer-product mode: a power of two.
        Two of the others hold rows of B."""
        return min(_MOST_BANKS, 1 << (2 * self.queues - _ROW_BUFFERS).bit_length() - 1)

    @property
    def unit_bits(self) -> int:
        """Width of a reader's number in its lane."""
        return 3 if self.csr else 2

    @property
    def lane_id_bits(self) -> int:
        """Width of an AXI ID within a lane: which of its readers, and the burst's number."""
        return self.unit_bits + self.slot_bits

    @property
    def read_ports(self) -> int:
        """Ports of the crossbar of reads: one a lane, and one of the stream of A in CSR."""
        return self.lanes + self.csr

    @property
    def stream_rows(self) -> int:
        """Rows of A in CSR whose blocks may be requested ahead."""
        return 4 * self.a_bursts

    @property
    def stream_queue(self) -> int:
        """Entries of A in CSR that may wait for each lane."""
        return 2 * self.a_bursts

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID."""
        return self.lane_id_bits + (self.read_ports - 1).bit_length()

    @property
    def writer_outstanding(self) -> int:
        """Bursts of a writer in flight; the writers of a channel share the channel's limit."""
        return max(2, self.outstanding // self.channel_lanes)

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        # A cache reads blocks of B under the IDs of the first lane's pairs.
        arrays = (*READS[:2], "b_blocks") if self.cache_bytes else READS
        if self.csr:
            more = {number: name for name, number in VALUE_READS.items()}
            # Those of B's values are of blocks, too.
            count = 1 + (min(more) if self.cache_bytes else max(more))
            arrays = (*arrays, *(more.get(n, f"array_{n}") for n in range(len(arrays), count)))
        readers = self.lanes * (2 + self.csr)
        of_b = self.outstanding * (1 if self.cache_bytes else readers)
        of_a = self.a_bursts * (2 * self.read_ports + self.csr)
        parts = [
            IdPart(name="burst", low=0, bits=self.slot_bits, count=1 << self.slot_bits),
            IdPart(
                name="array",
                low=self.slot_bits,
                bits=self.unit_bits,
                count=len(arrays),
                names=arrays,
            ),
        ]
        if self.read_ports > 1:
            bits, count = (self.read_ports - 1).bit_length(), self.read_ports
            parts.append(IdPart(name="lane", low=self.lane_id_bits, bits=bits, count=count))
        reads = BusSide(
            longest_beats=self.burst_beats,
            outstanding=of_a + of_b,
            outstanding_per_id=1,
            id_parts=tuple(parts),
        )
        return tuple(
            Traffic(reads=reads, writes=self._writes(channel), blocks=self.geometry.blocks(channel))
            for channel in range(self.channels)
        )

    def writing_lanes(self, channel: int) -> tuple[int, ...]:
        """The lanes whose rows are in a channel."""
        step = min(self.lanes, self.channels)
        return tuple(lane for lane in range(self.lanes) if (lane - channel) % step == 0)

    def _writes(self, channel: int) -> BusSide | None:
        lanes = self.writing_lanes(channel)
        return one_id_each(
            "array",
            [f"{what} of lane {lane}" for lane in lanes for what in WRITES],
            longest_beats=self.burst_beats,
            outstanding=self.writer_outstanding,
            id_bits=self.id_bits,
        )


MATRAPTOR = Unit(
    name="matraptor",
    summary="sparse times sparse, row by row through sorting queues, any semiring, over AXI4",
    source="MatRaptor: row-wise product, C2SR, architecture",
    config=MatRaptorConfig,
    component="tilewright.hw.matraptor.matraptor:MatRaptor",
    jobs="tilewright.hw.spec.jobs.matraptor:job_spec",
)

UNITS = (MATRAPTOR,)
