"""Configurations of the M3XU matrix unit and of the two units it is compared with."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from .config import Config, IntRange, OneOf, SubsetOf, parameter
from .formats import FLOAT_FORMATS, FloatFormat
from .matrix_unit import RESULT_FLAGS, Operation, matrix_operations
from .sidecar.operation import Compute, OperationEntry, ResultFlag
from .unit import Unit


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One operand format of the matrix unit.

    Parameters
    ----------
    opcode: the value of ``op`` that selects it
    element: the float format of an element (of each of its two parts, for fp32c)
    lanes: 16-bit lanes an element takes
    steps: passes over the narrow multipliers, which is the initiation interval in cycles
    results: fp32 words of a result (2: real and imaginary part)
    """

    name: str
    opcode: int
    element: FloatFormat
    lanes: int
    steps: int
    results: int = 1


def _mode(name: str, opcode: int, element: str, lanes: int, steps: int, results: int = 1) -> Mode:
    return Mode(
        name=name,
        opcode=opcode,
        element=FLOAT_FORMATS[element],
        lanes=lanes,
        steps=steps,
        results=results,
    )


MODES: dict[str, Mode] = {
    "fp16": _mode("fp16", 0, "fp16", lanes=1, steps=1),
    "bf16": _mode("bf16", 1, "bf16", lanes=1, steps=1),
    "tf32": _mode("tf32", 2, "tf32", lanes=2, steps=1),
    "fp32": _mode("fp32", 3, "fp32", lanes=2, steps=2),
    "fp32c": _mode("fp32c", 4, "fp32", lanes=4, steps=4, results=2),
}

_SINGLE_STEP = ("fp16", "bf16", "tf32")
OP_BITS = 3


_DOC = (
    "d = c + a b: for each element of d the exact products and c are summed within a window of "
    "`alignment_bits` bits below the largest term, and rounded once"
)


def _operation(mode: Mode, lane_bits: int) -> Operation:
    """Padding is a zero whose products are -0, the neutral element of a sum: -0 in a, +0 in b.

    No pair of zeros makes all four real products of an fp32c pair neutral: with these the real
    part's are, and one of the imaginary part's is +0.
    """
    parts = mode.results
    return Operation(
        name=mode.name,
        opcode=mode.opcode,
        element=mode.element,
        result=FLOAT_FORMATS["fp32"],
        complex=parts == 2,
        operand_bits=max(mode.element.container_bits * parts, lane_bits),
        result_bits=32 * parts,
        padding=(1 << (mode.element.container_bits - 1), 0),
        addend=1 << 31 if parts == 1 else 1 << 63 | 1 << 31,
        compute=Compute(kind="product", plus="add", times="mul", doc=_DOC),
    )


@dataclass(frozen=True, kw_only=True)
class GridUnitConfig(Config):
    """Base class of all matrix units: the shape of the grid and of its dot products."""

    golden_model: ClassVar[str] = "tilewright.sim.units.m3xu:mixed_operations"
    known_operations: ClassVar[tuple[str, ...]] = tuple(MODES)
    products: ClassVar[tuple[str, ...]] = tuple(MODES)
    default_product: ClassVar[str] = "fp32"

    rows: int = parameter(8, allowed=IntRange(1, 64), doc="rows of a and of d")
    cols: int = parameter(4, allowed=IntRange(1, 64), doc="columns of b and of d")
    depth: int = parameter(
        8, allowed=IntRange(1, 64), doc="operand lanes of a dot product, in elements of 16 bits"
    )

    alignment_bits: int = parameter(
        56, allowed=IntRange(26, 120), doc="accumulation window below the largest term, in bits"
    )
    pipeline: int = parameter(7, allowed=IntRange(1, 7), doc="register stages in the dot product")

    @property
    @abstractmethod
    def modes(self) -> tuple[str, ...]:
        """The operand formats of the unit."""

    @property
    def lane_bits(self) -> int:
        """Width of an operand lane in bits."""
        return 16

    @property
    def accumulator_bits(self) -> int:
        """Width of an element of c and d in bits."""
        return 32

    @property
    def op_bits(self) -> int:
        return OP_BITS

    @property
    def operations(self) -> dict[str, Operation]:
        return {mode: _operation(MODES[mode], self.lane_bits) for mode in self.modes}

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
        """The value of ``op`` for each mode."""
        return {mode: MODES[mode].opcode for mode in self.modes}

    @property
    def initiation_interval(self) -> dict[str, int]:
        """Cycles between operations, by mode."""
        return dict.fromkeys(self.modes, 1)

    @property
    def operand_stages(self) -> int:
        """Registers between the operand lanes and the multipliers."""
        return 1

    @property
    def latency(self) -> dict[str, int]:
        """Clock edges from the input transfer to the result's valid, without stalls, by mode."""
        fixed = self.operand_stages + self.pipeline
        return {mode: fixed + n - 1 for mode, n in self.initiation_interval.items()}


def _check_depth(config: GridUnitConfig, modes: tuple[str, ...]) -> None:
    lanes = max(MODES[mode].lanes for mode in modes)
    if config.depth % lanes:
        widest = next(mode for mode in modes if MODES[mode].lanes == lanes)
        raise ValueError(
            f"`depth` must be a multiple of {lanes} for mode {widest}, not {config.depth}"
        )


def _check_alignment(alignment_bits: int, modes: tuple[str, ...]) -> None:
    if alignment_bits < 56 and {"fp32", "fp32c"} & set(modes):
        raise ValueError(
            f"`alignment_bits` must be at least 56 with an fp32 mode, not {alignment_bits}"
        )


@dataclass(frozen=True, kw_only=True)
class M3xuConfig(GridUnitConfig):
    """The multi-mode unit: fp32 and complex fp32 in steps over 12-bit multipliers."""

    modes: tuple[str, ...] = parameter(
        tuple(MODES), allowed=SubsetOf(tuple(MODES)), doc="operand formats the unit is built with"
    )
    data_assignment: str = parameter(
        "combinational",
        allowed=OneOf(("combinational", "pipelined")),
        doc="operand multiplexers before the operand registers, or after an input register",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_depth(self, self.modes)
        _check_alignment(self.alignment_bits, self.modes)

    @property
    def accumulator_bits(self) -> int:
        return 64 if "fp32c" in self.modes else 32

    @property
    def multi_step(self) -> bool:
        """Returns whether the unit has a mode of more than one step."""
        return any(MODES[mode].steps > 1 for mode in self.modes)

    @property
    def significand_bits(self) -> int:
        """Width of a multiplier operand: half of an fp32 significand, or a whole narrow one."""
        if self.multi_step:
            return 12
        return max(MODES[mode].element.significand_bits for mode in self.modes)

    @property
    def initiation_interval(self) -> dict[str, int]:
        return {mode: MODES[mode].steps for mode in self.modes}

    @property
    def operand_stages(self) -> int:
        return 2 if self.data_assignment == "pipelined" else 1


@dataclass(frozen=True, kw_only=True)
class BaselineConfig(GridUnitConfig):
    """The 16-bit unit that M3XU extends: fp16, bf16 and tf32 on 11-bit multipliers.

    The default window is the smallest with which results are no less accurate than a chain of
    fp32 fused multiply-adds on every distribution tried, sums that cancel as a whole included.
    """

    alignment_bits: int = parameter(
        34, allowed=IntRange(26, 120), doc="accumulation window below the largest term, in bits"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_depth(self, _SINGLE_STEP)

    @property
    def modes(self) -> tuple[str, ...]:
        return _SINGLE_STEP


@dataclass(frozen=True, kw_only=True)
class WideConfig(BaselineConfig):
    """The brute-force unit: 24-bit multipliers, 32-bit lanes, fp32 at the fp16 rate."""

    alignment_bits: int = parameter(
        56, allowed=IntRange(56, 120), doc="accumulation window below the largest term, in bits"
    )

    def __post_init__(self) -> None:
        Config.__post_init__(self)  # any depth: an element takes one lane

    @property
    def modes(self) -> tuple[str, ...]:
        return (*_SINGLE_STEP, "fp32")

    @property
    def lane_bits(self) -> int:
        return 32


_SOURCE = "M3XU: multi-mode matrix unit, microarchitecture section"

M3XU = Unit(
    name="m3xu",
    summary="multi-mode matrix unit: fp16, bf16, tf32, fp32 and complex fp32, 12-bit products",
    source=_SOURCE,
    config=M3xuConfig,
    component="tilewright.hw.m3xu.m3xu:M3xu",
)

M3XU_BASELINE = Unit(
    name="m3xu_baseline",
    summary="the 16-bit unit M3XU extends: fp16, bf16 and tf32 on 11-bit multipliers",
    source=_SOURCE,
    config=BaselineConfig,
    component="tilewright.hw.m3xu.baseline:BaselineUnit",
)

M3XU_WIDE = Unit(
    name="m3xu_wide",
    summary="the brute-force alternative: fp32 at full rate on 24-bit multipliers",
    source=_SOURCE,
    config=WideConfig,
    component="tilewright.hw.m3xu.wide:WideUnit",
)

UNITS = (M3XU, M3XU_BASELINE, M3XU_WIDE)
