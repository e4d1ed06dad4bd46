"""Configuration of the semiring matrix unit (SIMD2)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from .config import Config, Flag, IntRange, OneOf, SubsetOf, parameter
from .formats import FORMATS, FloatFormat, Format
from .matrix_unit import RESULT_FLAGS, Operation, matrix_operations
from .semirings import SEMIRINGS, Semiring
from .sidecar.operation import Compute, OperationEntry, ResultFlag
from .unit import Unit

__all__ = ["OP_BITS", "SIMD2", "UNITS", "Simd2Config", "compares"]

OP_BITS = 4
"""Width of the opcode: room for the nine semirings and seven more."""

_FORMATS = ("fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32")
_ACCUMULATORS = ("auto", "fp16", "bf16", "fp32", "fp64", "int32", "int64")
_DEFAULT_ACCUMULATORS = {"fp32": "fp64", "fp64": "fp64", "int8": "int32", "int16": "int32",
                         "int32": "int32"}  # fmt: skip


def _doc(row: Semiring) -> str:
    """Describes an operation and its rounding."""
    rounding = "sums of floats are exact within a window of `alignment_bits` bits and rounded once"
    if row.plus != "add":
        rounding = "each term is rounded to the format of c"
    return f"d = c (+) a (x) b with (+) {row.plus} and (x) {row.times}; {rounding}"


@dataclass(frozen=True, kw_only=True)
class Simd2Config(Config):
    """A square matrix unit that computes any of nine semirings, an operation a cycle."""

    golden_model: ClassVar[str] = "tilewright.sim.units.simd2:mixed_operations"
    known_operations: ClassVar[tuple[str, ...]] = tuple(SEMIRINGS)
    products: ClassVar[tuple[str, ...]] = ("mma",)
    default_product: ClassVar[str] = "mma"

    tile: int = parameter(
        4, allowed=IntRange(2, 16), doc="rows, columns and depth of an operation, in elements"
    )
    format: str = parameter("fp16", allowed=OneOf(_FORMATS), doc="format of a and b")
    accumulator: str = parameter(
        "auto",
        allowed=OneOf(_ACCUMULATORS),
        doc="format of c and d; auto: fp32, fp64 for fp32 and fp64, int32 for integers",
    )
    ops: tuple[str, ...] = parameter(
        tuple(SEMIRINGS), allowed=SubsetOf(SEMIRINGS), doc="semirings the unit is built with"
    )
    alignment_bits: int = parameter(
        0,
        allowed=IntRange(0, 160),
        doc="accumulation window below the largest term, in bits; 0: chosen by format",
    )
    shared: bool = parameter(
        True, allowed=Flag(), doc="one datapath for all semirings, or one for each (to compare)"
    )
    pipeline: int = parameter(
        9,
        allowed=IntRange(1, 9),
        doc="register stages; the last 7 follow the multipliers",
    )
    multiplier_bits: int = parameter(
        0,
        allowed=IntRange(0, 53),
        doc="width of a multiplier; 0: a whole significand; 12 with fp32: products in two steps",
    )
    sparsity: str = parameter(
        "none",
        allowed=OneOf(("none", "2:4")),
        doc="2:4: a holds two of every four elements of a row, with their positions",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.result.contains(self.element):
            fitting = [n for n in _ACCUMULATORS[1:] if FORMATS[n].contains(self.element)]
            raise ValueError(
                f"`accumulator` must be one of {', '.join(fitting)} for {self.format}, "
                f"not {self.accumulator!r}"
            )
        if 0 < self.alignment_bits < self.least_alignment_bits:
            raise ValueError(
                f"`alignment_bits` must be 0 or at least {self.least_alignment_bits} for "
                f"{self.format} with {self.result.name}, not {self.alignment_bits}"
            )
        self._check_multiplier()
        if self.sparsity != "none" and self.tile % 2:
            raise ValueError(f"`tile` must be even with sparsity {self.sparsity}, not {self.tile}")

    def _check_multiplier(self) -> None:
        whole = self.element.significand_bits if isinstance(self.element, FloatFormat) else 0
        allowed = {0: "0", whole: str(whole)}
        if self.format == "fp32":
            allowed[12] = "12"
        if self.multiplier_bits not in allowed:
            raise ValueError(
                f"`multiplier_bits` must be one of {', '.join(sorted(allowed.values(), key=int))} "
                f"for {self.format}, not {self.multiplier_bits}"
            )
        if self.multi_step and not self.shared:
            raise ValueError("`shared` must be true with multiplier_bits 12, not False")

    @property
    def element(self) -> Format:
        """Format of an element of a and b."""
        return FORMATS[self.format]

    @property
    def result(self) -> Format:
        """Format of an element of c and d."""
        if self.accumulator == "auto":
            return FORMATS[_DEFAULT_ACCUMULATORS.get(self.format, "fp32")]
        return FORMATS[self.accumulator]

    @property
    def is_float(self) -> bool:
        return isinstance(self.element, FloatFormat)

    @property
    def least_alignment_bits(self) -> int:
        """The smallest window that meets the numerics contract (0 for integers)."""
        if not isinstance(self.element, FloatFormat) or not isinstance(self.result, FloatFormat):
            return 0
        least = max(2 * self.element.significand_bits, self.result.significand_bits) + 2
        return max(least, 56) if self.format in ("fp32", "fp64") else least

    @property
    def window_bits(self) -> int:
        """The accumulation window in force.

        By default 56 bits, with which sums of 16-bit products in fp32 are nearly always correctly
        rounded, or ten more than a result has, with which sums are no less accurate than a chain
        of fused multiply-adds of the result's format.
        """
        if not isinstance(self.result, FloatFormat):
            return 0
        chosen = max(self.least_alignment_bits, self.result.significand_bits + 10, 56)
        return self.alignment_bits or chosen

    @property
    def semirings(self) -> tuple[Semiring, ...]:
        """The rows of the table that the unit is built with."""
        return tuple(SEMIRINGS[name] for name in self.ops)

    @property
    def multi_step(self) -> bool:
        """Returns whether a product takes two steps."""
        return self.format == "fp32" and self.multiplier_bits == 12

    @property
    def rows(self) -> int:
        """Rows of a and of d."""
        return self.tile

    @property
    def cols(self) -> int:
        """Columns of b and of d."""
        return self.tile

    @property
    def depth(self) -> int:
        """Elements of a row of a, which is the number of products of a result."""
        return self.tile

    @property
    def b_depth(self) -> int:
        """Rows of b: twice the products, if a is sparse."""
        return self.tile * (2 if self.sparsity == "2:4" else 1)

    @property
    def lane_bits(self) -> int:
        """Width of an element of a and b in bits."""
        return self.element.container_bits

    @property
    def accumulator_bits(self) -> int:
        """Width of a lane of c and d in bits; a narrower result sits in its low bits."""
        return max(32, self.result.container_bits)

    @property
    def op_bits(self) -> int:
        return OP_BITS

    @property
    def operations(self) -> dict[str, Operation]:
        return {
            row.name: Operation(
                name=row.name,
                opcode=row.opcode,
                element=self.element,
                result=self.result,
                operand_bits=self.element.container_bits,
                result_bits=self.result.container_bits,
                padding=row.padding_in(self.element),
                addend=row.identity_in(self.result),
                compute=Compute(kind="product", plus=row.plus, times=row.times, doc=_doc(row)),
            )
            for row in self.semirings
        }

    @property
    def stream_operations(self) -> tuple[OperationEntry, ...]:
        """Operations of the streams, for the sidecar, with the places of their operands."""
        return matrix_operations(self)

    @property
    def flags(self) -> tuple[ResultFlag, ...]:
        """Fields of a result that are no operand, for the sidecar."""
        return RESULT_FLAGS

    @property
    def opcodes(self) -> dict[str, int]:
        """The value of ``op`` for each semiring."""
        return {row.name: row.opcode for row in self.semirings}

    @property
    def initiation_interval(self) -> dict[str, int]:
        """Cycles between operations: 1, but 2 for products in two steps."""
        return {row.name: 2 if self.multi_step and row.multiplies else 1 for row in self.semirings}

    @property
    def difference_stage(self) -> bool:
        """Returns whether a register stage precedes the multipliers, because differences are
        squared."""
        return self.is_float and any(row.times == "square_difference" for row in self.semirings)

    @property
    def lane_cuts(self) -> tuple[str, ...]:
        """Register stages before the multipliers, in the order of the data."""
        wanted = {
            "aligned": self.pipeline >= 9,
            "prepared": self.difference_stage,
            "rounded": self.pipeline >= 8,
        }
        return tuple(cut for cut, there in wanted.items() if there and self.is_float)

    @property
    def latency(self) -> dict[str, int]:
        """Clock edges from the input transfer to the result's valid, without stalls."""
        fixed = 1 + self.difference_stage + self.pipeline
        return {name: fixed + n - 1 for name, n in self.initiation_interval.items()}

    def resolved(self) -> dict[str, object]:
        """Every parameter with the value in force: 0 and auto are replaced."""
        whole = self.element.significand_bits if isinstance(self.element, FloatFormat) else 0
        return super().resolved() | {
            "accumulator": self.result.name,
            "alignment_bits": self.window_bits,
            "multiplier_bits": self.multiplier_bits or whole,
        }


def compares(config: Simd2Config, semirings: Collection[Semiring]) -> bool:
    """Returns whether operands are compared while they are being loaded."""
    return config.is_float and any(row.times not in ("mul", "and") for row in semirings)


SIMD2 = Unit(
    name="simd2",
    summary="semiring matrix unit: mma, min-plus, max-min, or-and and five more, any format",
    source="SIMD2: hardware architecture",
    config=Simd2Config,
    component="tilewright.hw.simd2.simd2:Simd2",
)

UNITS = (SIMD2,)
