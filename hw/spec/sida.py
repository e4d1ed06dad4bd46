"""Configuration of the SIDA accelerator for two products in one pass over a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass

from .channels import BlockReads, ChannelGeometry, MemoryPorts
from .config import Config, IntRange, OneOf, OperatorStages, SubsetOf, like, parameter
from .formats import FORMATS, Format
from .semirings import SEMIRINGS, Semiring
from .sidecar.traffic import BusSide, IdPart, Traffic, one_id_each
from .unit import Unit

__all__ = [
    "CHUNK",
    "DELAY",
    "INDEX_BITS",
    "READERS",
    "SIDA",
    "SIDA_SEMIRINGS",
    "UNITS",
    "VALUES",
    "ModelSidaConfig",
    "SidaConfig",
    "WideSidaConfig",
]

INDEX_BITS = 32
"""Bits of a pointer, and of the number of a row or a column, in memory."""

CHUNK = 2
"""Elements of the buffer that a list allocates at once."""

DELAY = 2
"""Steps by which rows of the second product lag behind the columns of the first one: a column's
result is available one step later, and its z another step later."""

_ARIL_ADD = Semiring(
    name="aril-add", opcode=9, plus="add", times="second", identity="0", padding=("0", "0")
)

SIDA_SEMIRINGS = {**SEMIRINGS, _ARIL_ADD.name: _ARIL_ADD}
"""Semirings by name: those of all units, and *aril-add*, which adds the second operands (of the
matrix) where the first (of the vector) are true."""

VALUES = ("fp32", "fp16", "fp64", "int32")
"""Formats of values."""

ARRAYS = ("pointers", "indices", "values")
"""Arrays of a matrix in memory, in the order of their readers' IDs."""

READERS = ("columns", "rows", "vectors", "program")
"""Readers in the order of their IDs; the ID of a reader of the matrix is above those of its arrays.
Where vectors are in memory, the last reader reads the part of them that is not on chip."""

_ARRAY_BITS = (len(ARRAYS) - 1).bit_length()

_MOST_PANELS = 1 << 16
"""Steps of a matrix, where its vectors are in memory."""

_GATHER_BANKS = 2
"""Banks of the vectors for each element of a set, so that few wait for each other."""


@dataclass(frozen=True, kw_only=True)
class SidaConfig(MemoryPorts, Config):
    """Columns of a sparse matrix, ``pes`` elements a cycle, each used for two products.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture.
    """

    pes: int = parameter(
        16,
        allowed=IntRange(4, 64, power_of_two=True),
        doc="elements of each core: multipliers, leaves of the trees, lanes",
    )
    subtensor: int = parameter(
        64,
        allowed=IntRange(4, 4096, power_of_two=True),
        doc="columns of a step, at least `pes`, at most `vector_words`",
    )
    buffer_words: int = parameter(
        65536,
        allowed=IntRange(64, 1 << 24, power_of_two=True),
        doc="capacity, in elements of the matrix that wait on chip for their row",
    )
    vector_words: int = parameter(
        16384,
        allowed=IntRange(64, 1 << 20, power_of_two=True),
        doc="elements of each vector on chip; the most rows of a matrix if `rows_limit` is 0",
    )
    rows_limit: int = parameter(
        0,
        allowed=IntRange(0, 1 << 27, power_of_two=True),
        doc="most rows of a matrix if more than `vector_words`; 0: `vector_words`",
    )
    value: str = parameter("fp32", allowed=OneOf(VALUES), doc="format of all values")
    semirings: tuple[str, ...] = parameter(
        ("mma", "orand", "minplus", "aril-add"),
        allowed=SubsetOf(SIDA_SEMIRINGS),
        doc="semirings of either product",
    )
    window: int = parameter(
        16,
        allowed=IntRange(2, 64, power_of_two=True),
        doc="operands of a leaf that are in flight, or wait for others of their set",
    )
    program_words: int = parameter(
        64, allowed=IntRange(8, 1024, power_of_two=True), doc="instructions of a program"
    )
    channels: int = parameter(4, allowed=IntRange(1, 16), doc="memory channels")
    data_bits: int = like(ChannelGeometry, "data_bits")
    interleave: int = like(ChannelGeometry, "interleave")
    addr_bits: int = like(ChannelGeometry, "addr_bits")
    outstanding: int = like(BlockReads, "outstanding")
    adder_stages: int = like(OperatorStages, "adder_stages")
    multiplier_stages: int = like(OperatorStages, "multiplier_stages")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subtensor < self.pes:
            raise ValueError(
                f"`subtensor` must be at least `pes`, {self.pes}, not {self.subtensor}"
            )
        if self.vector_words < self.subtensor:
            raise ValueError(
                f"`subtensor` must be at most `vector_words`, {self.vector_words}, "
                f"not {self.subtensor}"
            )
        if self.buffer_words < 4 * self.pes:
            raise ValueError(
                f"`buffer_words` must be at least {4 * self.pes}, four for each of `pes`, "
                f"not {self.buffer_words}"
            )
        if self.vector_words < _GATHER_BANKS * self.pes:
            raise ValueError(
                f"`vector_words` must be at least {_GATHER_BANKS * self.pes}, two for each of "
                f"`pes`, not {self.vector_words}"
            )
        if self.windowed:
            self._check_windows()

    def _check_windows(self) -> None:
        if self.rows_limit < self.vector_words:
            raise ValueError(
                f"`rows_limit` must be 0 or at least `vector_words`, {self.vector_words}, "
                f"not {self.rows_limit}"
            )
        if self.rows_limit > _MOST_PANELS * self.subtensor:
            raise ValueError(
                f"`rows_limit` must be at most {_MOST_PANELS * self.subtensor}, {_MOST_PANELS} "
                f"steps of `subtensor` columns, not {self.rows_limit}"
            )
        if self.subtensor < self.window_elements:
            raise ValueError(
                f"`subtensor` must be at least {self.window_elements} where `rows_limit` is not "
                f"0, elements of the vectors that are read at once, not {self.subtensor}"
            )

    @property
    def format(self) -> Format:
        """Format of all values."""
        return FORMATS[self.value]

    @property
    def operators(self) -> tuple[Semiring, ...]:
        """The semirings themselves, in the order of ``SIDA_SEMIRINGS``."""
        return tuple(row for name, row in SIDA_SEMIRINGS.items() if name in self.semirings)

    @property
    def partials(self) -> int:
        """Sums over which the sets of a column are distributed, one more than an adder's
        latency."""
        return self.adder_stages + 1

    @property
    def sums_latency(self) -> int:
        """Cycles from a set of elements to the results of its columns: the multipliers, the tree,
        its output register, the sums from set to set and those of partial sums, a register."""
        adders = (self.pes - 1).bit_length() + 1 + (self.partials - 1).bit_length()
        return self.multiplier_stages + adders * self.adder_stages + 2

    @property
    def held_lists(self) -> int:
        """Lists of a panel in a bank of the buffer, a power of two. They are read round robin, so
        that no sum waits for the previous one. There are fewer if their first chunks would occupy
        half of the bank."""
        panels = max(1, self.most_rows // self.subtensor)
        room = self.buffer_words // self.pes // (2 * CHUNK * panels)
        return 1 << min((self.partials - 1).bit_length(), max(0, room.bit_length() - 1))

    @property
    def place_bits(self) -> int:
        """Width of the number of a row, or of a column."""
        return (self.most_rows - 1).bit_length()

    @property
    def windowed(self) -> bool:
        """Returns whether x, z and w are in memory, with `vector_words` elements of each on
        chip."""
        return self.rows_limit != 0

    @property
    def most_rows(self) -> int:
        """Most rows of a matrix."""
        return self.rows_limit or self.vector_words

    @property
    def window_elements(self) -> int:
        """Elements of x or z that are read from memory at once: a line, or one of each bank."""
        return max(8 * self.line_bytes // self.format.bits, self.gather_banks)

    @property
    def piece_bytes(self) -> int:
        """Bytes of a piece: a line, or `pes` elements, whichever is larger. A piece is written at
        once, and is the stride of rows of w in memory."""
        return max(self.line_bytes, self.pes * self.format.bits // 8)

    @property
    def readers(self) -> tuple[str, ...]:
        """Names of the readers, in the order of their IDs."""
        return (*READERS, "windows") if self.windowed else READERS

    @property
    def gather_banks(self) -> int:
        """Banks of the vectors whose elements rows name."""
        return _GATHER_BANKS * self.pes

    @property
    def slot_bits(self) -> int:
        """Width of a block's number within a reader of a channel."""
        return (self.outstanding - 1).bit_length()

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID."""
        return self.slot_bits + _ARRAY_BITS + self.reader_bits

    @property
    def reader_bits(self) -> int:
        """Bits of the reader's number in an ID."""
        return (len(self.readers) - 1).bit_length()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        arrays = self.slot_bits + _ARRAY_BITS
        slots = IdPart(name="block", low=0, bits=self.slot_bits, count=self.outstanding)
        array = IdPart(
            name="array", low=self.slot_bits, bits=_ARRAY_BITS, count=len(ARRAYS), names=ARRAYS
        )
        reader = IdPart(
            name="reader",
            low=arrays,
            bits=self.reader_bits,
            count=len(self.readers),
            names=self.readers,
        )
        reads = BusSide(
            longest_beats=self.geometry.block_beats,
            outstanding=(2 * len(ARRAYS) + len(self.readers) - 2) * self.outstanding,
            outstanding_per_id=1,
            id_parts=(slots, array, reader),
        )
        writes = one_id_each(
            "array",
            ("vectors",),
            longest_beats=self.geometry.block_beats,
            outstanding=self.outstanding,
            id_bits=self.id_bits,
        )
        return tuple(
            Traffic(reads=reads, writes=writes, blocks=self.geometry.blocks(channel))
            for channel in range(self.channels)
        )


@dataclass(frozen=True, kw_only=True)
class ModelSidaConfig(SidaConfig):
    """A SIDA of any size that the models take: larger ones are not built."""

    pes: int = like(SidaConfig, "pes", allowed=IntRange(4, 1024, power_of_two=True))
    buffer_words: int = like(
        SidaConfig, "buffer_words", allowed=IntRange(64, 1 << 26, power_of_two=True)
    )
    vector_words: int = like(
        SidaConfig, "vector_words", allowed=IntRange(64, 1 << 27, power_of_two=True)
    )


@dataclass(frozen=True, kw_only=True)
class WideSidaConfig(ModelSidaConfig):
    """SIDA of the paper's size by default: cores of 1,024 elements, and 512 bytes a cycle, which 16
    channels have in blocks of 256 bytes.

    Source: Exploiting data reuse with inter-operator dataflow, methodology.
    """

    pes: int = like(ModelSidaConfig, "pes", default=1024)
    subtensor: int = like(ModelSidaConfig, "subtensor", default=2048)
    buffer_words: int = like(ModelSidaConfig, "buffer_words", default=1 << 22)
    vector_words: int = like(ModelSidaConfig, "vector_words", default=1 << 20)
    channels: int = like(ModelSidaConfig, "channels", default=16)
    data_bits: int = like(ModelSidaConfig, "data_bits", default=256)
    interleave: int = like(ModelSidaConfig, "interleave", default=256)


SIDA = Unit(
    name="sida",
    summary="two products with a sparse matrix, and work between them, in one pass over AXI4",
    source="OEI: SIDA",
    config=SidaConfig,
    component="tilewright.hw.sida.sida:Sida",
    jobs="tilewright.hw.spec.jobs.sida:job_spec",
)

UNITS = (SIDA,)
