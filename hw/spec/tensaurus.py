"""Configuration of the Tensaurus accelerator for sparse and dense tensors."""

from __future__ import annotations

from dataclasses import dataclass

from .channels import BlockReads, ChannelGeometry, MemoryPorts
from .ciss import MARKERS, VALUES, CissLayout
from .config import Config, IntRange, OneOf, OperatorStages, like, parameter
from .formats import FORMATS, Format
from .semirings import SEMIRINGS, Semiring
from .sidecar.traffic import BusSide, IdPart, Traffic, one_id_each
from .unit import Unit

__all__ = [
    "KERNELS",
    "OUTPUT_SIDES",
    "OVERDUE",
    "READS",
    "TEMPORARY_SIDES",
    "TENSAURUS",
    "UNITS",
    "TensaurusConfig",
]

KERNELS = ("mttkrp", "ttmc", "mm", "mv")
"""Kernels of a job, by the value of its register; the tensor is sparse or dense."""

READS = ("list", "matrices", "tensor", "output")
"""Data that is read, each kind under IDs of its own."""

_READER_BITS = 2

TEMPORARY_SIDES = 4
"""Capacity of a temporary register, in vectors of a fiber per vector: while one fiber is summed,
others are reduced or wait for their product."""

OUTPUT_SIDES = 4
"""The same of slices in the output register: one is summed, others are reduced, or leave."""

_MEMORY_SLOTS = 64
"""Units that are added to memory at a time, at most."""

_SLICE_BITS = 24
"""Width of a slice's number in memory, at most."""

OVERDUE = 128
"""Operations after which one is left out for the sake of a sum that found no free adder."""


@dataclass(frozen=True, kw_only=True)
class TensaurusConfig(MemoryPorts, Config):
    """Scalar-fiber products followed by fiber-fiber products on ``rows`` x ``cols`` elements."""

    rows: int = like(CissLayout, "rows")
    cols: int = parameter(8, allowed=IntRange(1, 16), doc="columns of processing elements")
    vlen: int = parameter(4, allowed=IntRange(1, 16), doc="values of a vector")
    value: str = parameter("fp32", allowed=OneOf(VALUES), doc="format of all operands")
    order: int = parameter(3, allowed=IntRange(2, 4), doc="modes of the largest tensor")
    semiring: str = parameter(
        "mma",
        allowed=OneOf(tuple(SEMIRINGS)),
        doc="semiring of the products; mma: + and *; with another one the kernels are mm and mv",
    )
    marker: str = parameter("zero", allowed=OneOf(MARKERS), doc="mark of a header in the stream")
    index_bits: int = like(CissLayout, "index_bits")
    spm_bytes: int = parameter(
        16384,
        allowed=IntRange(64, 1 << 20, power_of_two=True),
        doc="bytes of one side of a column's scratchpad, and of that of scalars",
    )
    banks: int = parameter(
        8, allowed=IntRange(1, 32, power_of_two=True), doc="banks of one side of a scratchpad"
    )
    out_bytes: int = parameter(
        131072,
        allowed=IntRange(64, 1 << 22, power_of_two=True),
        doc="bytes of one side of the output buffer, of all columns together",
    )
    tlen: int = parameter(
        4, allowed=IntRange(1, 16), doc="vectors of a fiber in a temporary register"
    )
    olen: int = parameter(
        4, allowed=IntRange(1, 16), doc="vectors of a slice in the output register"
    )
    row_queue: int = parameter(16, allowed=IntRange(2, 256), doc="slots buffered for a row")
    window: int = parameter(
        16,
        allowed=IntRange(4, 64, power_of_two=True),
        doc="operands of a row that are in flight or buffered",
    )
    channels: int = like(ChannelGeometry, "channels")
    data_bits: int = like(ChannelGeometry, "data_bits")
    interleave: int = like(ChannelGeometry, "interleave")
    addr_bits: int = like(ChannelGeometry, "addr_bits")
    outstanding: int = like(BlockReads, "outstanding")
    adder_stages: int = like(OperatorStages, "adder_stages")
    multiplier_stages: int = like(
        OperatorStages, "multiplier_stages", default=4, allowed=IntRange(1, 4)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.semiring != "mma" and self.marker == "zero":
            raise ValueError(
                f"`marker` must be bit with semiring {self.semiring}, of which 0 is a value, not "
                "'zero'"
            )
        if self.semiring != "mma" and self.value == "int8":
            raise ValueError(f"`value` must not be int8 with semiring {self.semiring}")
        for name, units in (("spm_bytes", self.spm_units), ("out_bytes", self.out_units)):
            if units < 2:
                raise ValueError(
                    f"`{name}` must hold at least 2 vectors, not {getattr(self, name)} bytes"
                )
        if self.banks > self.spm_units:
            raise ValueError(
                f"`banks` must be at most {self.spm_units}, the vectors of `spm_bytes`, "
                f"not {self.banks}"
            )

    @property
    def format(self) -> Format:
        """Format of the operands."""
        return FORMATS[self.value]

    @property
    def sum_format(self) -> Format:
        """Format of sums, of fibers that are multiplied again, and of the result."""
        return FORMATS["int32"] if self.value == "int8" else self.format

    @property
    def operators(self) -> Semiring:
        """The semiring itself."""
        return SEMIRINGS[self.semiring]

    def layout(self, order: int) -> CissLayout:
        """Layout in memory of a stream of a tensor with so many modes."""
        return CissLayout(
            rows=self.rows,
            order=order,
            value=self.value,
            index_bits=self.index_bits,
            marker=self.marker,
        )

    # Memory

    @property
    def slot_bits(self) -> int:
        """Width of a block's number within a reader of a channel."""
        return (self.outstanding - 1).bit_length()

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID."""
        return self.slot_bits + _READER_BITS

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        slots = IdPart(name="block", low=0, bits=self.slot_bits, count=self.outstanding)
        readers = IdPart(
            name="array", low=self.slot_bits, bits=_READER_BITS, count=len(READS), names=READS
        )
        reads = BusSide(
            longest_beats=self.geometry.block_beats,
            outstanding=len(READS) * self.outstanding,
            outstanding_per_id=1,
            id_parts=(slots, readers),
        )
        writes = one_id_each(
            "array",
            ("result",),
            longest_beats=self.geometry.block_beats,
            outstanding=self.outstanding,
            id_bits=self.id_bits,
        )
        return tuple(
            Traffic(reads=reads, writes=writes, blocks=self.geometry.blocks(channel))
            for channel in range(self.channels)
        )

    # Vectors

    @property
    def unit_values(self) -> int:
        """Values of a unit: a vector in each column."""
        return self.cols * self.vlen

    @property
    def unit_bytes(self) -> int:
        """Bytes of a unit of operands."""
        return self.unit_values * self.format.bits // 8

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector of operands."""
        return self.vlen * self.format.bits // 8

    @property
    def result_unit_bytes(self) -> int:
        """Bytes of a unit of results."""
        return self.unit_values * self.sum_format.bits // 8

    @property
    def spm_units(self) -> int:
        """Units that one side of the scratchpads holds."""
        return self.spm_bytes // self.vector_bytes

    @property
    def spm_scalars(self) -> int:
        """Values that one side of the scratchpad of scalars holds."""
        return self.spm_units * self.vlen

    @property
    def out_units(self) -> int:
        """Units that one side of the output buffer holds."""
        return self.out_bytes // self.result_unit_bytes

    @property
    def slice_numbers(self) -> int:
        """Slices that any output may have: in memory, or, of values, in the buffer."""
        return max(self.memory_slices, self.out_units * self.unit_values)

    # Sums in memory

    @property
    def memory_slices(self) -> int:
        """Slices that an output in memory may have."""
        return 1 << min(self.index_bits, _SLICE_BITS)

    @property
    def memory_slots(self) -> int:
        """Most units that may be in flight to memory: a power of two."""
        return 1 << min(_MEMORY_SLOTS, self.outstanding, self.out_units).bit_length() - 1

    @property
    def memory_reads(self) -> int:
        """Blocks of these that may be read in each channel at a time."""
        blocks = self.memory_slots * (self.unit_block_bytes // self.interleave)
        return min(self.outstanding, max(2, -(-blocks // self.channels)))

    @property
    def unit_lines(self) -> int:
        """Lines of a unit in memory, which begins with a line."""
        return -(-self.result_unit_bytes // self.line_bytes)

    @property
    def memory_unit_bytes(self) -> int:
        """Bytes from a unit in memory to the next."""
        return self.unit_lines * self.line_bytes

    @property
    def unit_block_bytes(self) -> int:
        """Bytes of the blocks of the interleaving that a unit in memory has a part in."""
        return -(-self.result_unit_bytes // self.interleave) * self.interleave

    # Sums

    @property
    def product_latency(self) -> int:
        """Cycles from the choice of two operands to their product: of the register behind the
        choice, and of the multiplier."""
        return self.multiplier_stages + 1

    @property
    def sum_latency(self) -> int:
        """Cycles from the entry of a summand to that of the next into the same sum: those of the
        register of a summand and of the adder. The next one takes the sum from the adder."""
        return self.adder_stages + 1

    def partial_sums(self, vectors: int) -> int:
        """Number of partial sums over which the summands of each of so many vectors are
        distributed, so that the adder never waits for itself."""
        return -(-self.sum_latency // vectors)

    @property
    def temporary_slots(self) -> int:
        """Vectors of a temporary register."""
        return TEMPORARY_SIDES * max(self.tlen, self.sum_latency)

    @property
    def output_slots(self) -> int:
        """Vectors of the output register."""
        return OUTPUT_SIDES * max(self.olen, self.sum_latency)


TENSAURUS = Unit(
    name="tensaurus",
    summary="MTTKRP, TTMc and products of matrices, sparse from CISS or dense, over AXI4",
    source="Tensaurus: SF3, CISS, architecture",
    config=TensaurusConfig,
    component="tilewright.hw.tensaurus.tensaurus:Tensaurus",
    jobs="tilewright.hw.spec.jobs.tensaurus:job_spec",
)

UNITS = (TENSAURUS,)
