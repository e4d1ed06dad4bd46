"""Configuration of GTA: one array of 8-bit multipliers for every number format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .config import Config, IntRange, SubsetOf, parameter
from .formats import FORMATS, FloatFormat, Format
from .host.words import not_one_of
from .unit import Unit

__all__ = [
    "BANKS",
    "COLS",
    "FORMATS_OF_GTA",
    "GTA",
    "LEFT_WORD_BYTES",
    "LIMB_BITS",
    "RESULT_WORD_BYTES",
    "ROWS",
    "UNITS",
    "GtaConfig",
    "element_bytes",
    "is_float",
    "limbs",
    "result_bytes",
]

LIMB_BITS = 8
"""Bits of a limb without its sign; an element multiplies 9 x 9 bits."""

ROWS = 8
"""Rows of a lane's array."""

COLS = 8
"""Columns of a lane's array."""

BANKS = 8
"""Banks of each of a lane's memories: a row's, or a column's, each."""

LEFT_WORD_BYTES = 16
"""Bytes of a word of a bank, in the memories that feed rows and columns."""

RESULT_WORD_BYTES = 32
"""Bytes of a word of a bank, in the memory of results."""

FORMATS_OF_GTA = ("int8", "int16", "int32", "int64", "bf16", "fp16", "fp32", "fp64")
"""Formats of operands, in the order of their numbers in commands."""

_RESULT_BYTES = {
    "int8": 4,
    "int16": 4,
    "int32": 8,
    "int64": 8,
    "bf16": 4,
    "fp16": 4,
    "fp32": 4,
    "fp64": 8,
}


def _format(name: str) -> Format:
    if name not in FORMATS_OF_GTA:
        raise ValueError(not_one_of("`format`", FORMATS_OF_GTA, name))
    return FORMATS[name]


def is_float(name: str) -> bool:
    """Returns whether a format is a floating-point one."""
    return isinstance(_format(name), FloatFormat)


def element_bytes(name: str) -> int:
    """Bytes of an element of A and B in memory."""
    return _format(name).container_bits // 8


def limbs(name: str) -> int:
    """Limbs of an integer, or of a significand with its hidden bit: L."""
    found = _format(name)
    bits = found.significand_bits if isinstance(found, FloatFormat) else found.bits
    return -(-bits // LIMB_BITS)


def result_bytes(name: str) -> int:
    """Bytes of an element of C and D: sums of int8 and int16 are modulo 2**32, of longer integers
    modulo 2**64, of floats fp32 or fp64."""
    _format(name)
    return _RESULT_BYTES[name]


@dataclass(frozen=True)
class _AdderCount(IntRange):
    """None, or as many to each row as share out its columns."""

    def describe(self) -> str:
        return "0, 8, 16, 32 or 64"

    def check(self, name: str, value: Any) -> None:
        super().check(name, value)
        if value & (value - 1):
            raise ValueError(f"`{name}` must be {self.describe()}, not {value}")


@dataclass(frozen=True, kw_only=True)
class GtaConfig(Config):
    """Lanes of 8 x 8 elements that multiply limbs of 8 bits, with memories of their own.

    Source: GTA: a new General Tensor Accelerator with Better Area Efficiency and Data Reuse.
    """

    lanes: int = parameter(
        4, allowed=IntRange(1, 64, power_of_two=True), doc="lanes, 8 x 8 elements each"
    )
    formats: tuple[str, ...] = parameter(
        FORMATS_OF_GTA,
        allowed=SubsetOf(FORMATS_OF_GTA),
        doc="formats of operands; an absent one costs no area",
    )
    float_adders: int = parameter(
        8,
        allowed=_AdderCount(0, 64, multiple_of=8),
        doc="fused adders of a lane, an eighth of them per row; 0: no jobs on floats",
    )
    adder_stages: int = parameter(4, allowed=IntRange(1, 5), doc="register stages of a fused adder")
    partial_bits: int = parameter(
        27,
        allowed=IntRange(20, 64),
        doc="width of an element's sum of products of limbs: log2(`vector_bytes`) + 13 hold sums "
        "as long as operands in a bank",
    )
    vector_bytes: int = parameter(
        16384,
        allowed=IntRange(2048, 131072, power_of_two=True),
        doc="bytes of a lane's memories: a quarter for rows, a quarter for columns, half for "
        "results",
    )
    mask_bits: int = parameter(
        4, allowed=IntRange(1, 8), doc="width of a lane's mask: up to 2 ** mask_bits regions"
    )
    data_bits: int = parameter(
        128, allowed=IntRange(64, 512, power_of_two=True), doc="width of a memory channel, in bits"
    )
    outstanding: int = parameter(
        16, allowed=IntRange(2, 32), doc="bursts of a manager that may be in flight"
    )
    managers: int = parameter(
        2, allowed=IntRange(1, 2), doc="memory channels; 1: for all; 2: loads, and results"
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.integers or self.floats):
            raise ValueError("`float_adders` must not be 0 with formats of floats alone")

    @property
    def integers(self) -> tuple[str, ...]:
        """The integer formats, narrowest first."""
        return tuple(name for name in self.formats if not is_float(name))

    @property
    def floats(self) -> tuple[str, ...]:
        """The floating-point formats that jobs may have: none without adders."""
        return tuple(name for name in self.formats if is_float(name) and self.float_adders)

    @property
    def row_adders(self) -> int:
        """Fused adders of each row of a lane."""
        return self.float_adders // ROWS

    @property
    def second_rank(self) -> bool:
        """Whether an element has a second rank, for the low bytes of products of floats. Sums of
        integers that stay then leave through it, while the next ones arrive."""
        return self._low_bits > 0

    @property
    def drain_bits(self) -> int:
        """Width of an element's second rank: a sum that drains, or the low bytes of a product, but
        for those that stay above the sum."""
        return max(self.partial_bits if self.integers else 1, self._low_bits - self.spare_bits)

    @property
    def significand_sum_bits(self) -> int:
        """Bits of an element's sum that the sums of products of significands' limbs need."""
        return 2 * LIMB_BITS + max([limbs(name) for name in self.floats], default=0).bit_length()

    @property
    def spare_bits(self) -> int:
        """Extra bits at the top of an element's sum. They keep the lowest bits of a long product of
        significands, for which the second rank is too short."""
        least = self.partial_bits if self.integers else LIMB_BITS
        most = self.partial_bits - self.significand_sum_bits
        return max(0, min(most, self._low_bits - least))

    @property
    def _low_bits(self) -> int:
        """Bits of the longest product of significands, without those that end up in the sum's low
        bits."""
        return max((2 * LIMB_BITS * (limbs(name) - 1) for name in self.floats), default=0)

    @property
    def most_products(self) -> int:
        """The largest K of a segment of integers whose sums of limb products fit an element."""
        return 1 << (self.partial_bits - 2 * (LIMB_BITS + 1))

    def interval(self, name: str) -> int:
        """Cycles from a product of floats to the element's next one.

        In fp64 a row's first adder serves all columns; the others are narrower.
        """
        if name not in self.floats:
            raise ValueError(not_one_of("`format`", self.floats, name))
        columns = COLS if name == "fp64" else COLS // self.row_adders
        return max(limbs(name) ** 2, columns, self.adder_stages)

    @property
    def edge_bytes(self) -> int:
        """Bytes of each bank that feeds a row or a column."""
        return self.vector_bytes // 4 // BANKS

    @property
    def bank_bytes(self) -> int:
        """Bytes of each bank of results."""
        return self.vector_bytes // 2 // BANKS


GTA = Unit(
    name="gta",
    summary="products of matrices in eight formats on one array of 8-bit multipliers, over AXI4",
    source="GTA, sections 3 and 4: limbs, dataflows, lanes joined",
    config=GtaConfig,
    component="tilewright.hw.gta.gta:Gta",
    parts={"cluster": "tilewright.hw.gta.lane_cluster:LaneCluster"},
    jobs="tilewright.hw.spec.jobs.gta:job_spec",
)

UNITS = (GTA,)
