"""The warp-level matrix instructions, and the configuration of the sequencer that executes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from .config import IntRange, parameter
from .formats import FLOAT_FORMATS
from .m3xu import MODES, M3xuConfig, Mode
from .matrix_unit import RESULT_FLAGS, Lanes, matrix_operand, product_sizes
from .sidecar.operation import Compute, OperationEntry, ResultFlag
from .sidecar.placement import Setting, Transfers
from .unit import Unit

__all__ = ["INSTRUCTIONS", "M3XU_SEQUENCER", "UNITS", "Instruction", "SequencerConfig"]


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """A warp-level matrix instruction ``D = A * B + C`` on fragments of 16 x 8 x ``depth``.

    Parameters
    ----------
    name: the mnemonic: shape (M, N, K or the K of the 16-bit instruction it halves), formats
    opcode: the value of ``op`` that selects it
    mode: the matrix unit's mode
    depth: K, in elements of the mode
    half: c and d are fp16, in the low bits of the accumulators
    """

    name: str
    opcode: int
    mode: Mode
    depth: int
    half: bool = False

    @property
    def lanes(self) -> int:
        """K in 16-bit lanes."""
        return self.depth * self.mode.lanes


_INSTRUCTION_ROWS = (
    Instruction(name="HMMA.16816.F32", opcode=0, mode=MODES["fp16"], depth=16),
    Instruction(name="HMMA.16816.F16", opcode=1, mode=MODES["fp16"], depth=16, half=True),
    Instruction(name="HMMA.16816.F32.BF16", opcode=2, mode=MODES["bf16"], depth=16),
    Instruction(name="HMMA.1684.F32.TF32", opcode=3, mode=MODES["tf32"], depth=4),
    Instruction(name="HMMA.16416.F32.FP32", opcode=4, mode=MODES["fp32"], depth=8),
    Instruction(name="HMMA.16216.F32C.FP32C", opcode=5, mode=MODES["fp32c"], depth=4),
)

_DOC = (
    "d = c + a b: a chain of the matrix unit's operations over steps of K, each sum in fp32; "
    "where c and d are fp16 the last sum is rounded once more"
)

INSTRUCTIONS: dict[str, Instruction] = {row.name: row for row in _INSTRUCTION_ROWS}


@dataclass(frozen=True, kw_only=True)
class SequencerConfig(M3xuConfig):
    """Multi-mode matrix unit that a sequencer of warp-level instructions controls."""

    #: Rows and columns of a result fragment.
    FRAGMENT_ROWS: ClassVar[int] = 16
    FRAGMENT_COLS: ClassVar[int] = 8

    rows: int = parameter(
        8, allowed=IntRange(1, 16, power_of_two=True), doc="rows of a and of d, in the unit"
    )
    cols: int = parameter(
        4, allowed=IntRange(1, 8, power_of_two=True), doc="columns of b and of d, in the unit"
    )
    depth: int = parameter(
        8,
        allowed=IntRange(1, 8, power_of_two=True),
        doc="operand lanes of a dot product, in elements of 16 bits",
    )

    @property
    def unit(self) -> M3xuConfig:
        """Matrix unit that the sequencer controls."""
        return M3xuConfig(**{item.name: getattr(self, item.name) for item in self.parameters()})

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions whose mode the unit is built with."""
        return tuple(row for row in _INSTRUCTION_ROWS if row.mode.name in self.modes)

    @property
    def opcodes(self) -> dict[str, int]:
        return {row.name: row.opcode for row in self.instructions}

    @property
    def initiation_interval(self) -> dict[str, int]:
        """Cycles between instructions of one kind, with all streams ready."""
        tiles = self.row_tiles * self.col_tiles
        result = {}
        for row in self.instructions:
            # A k step waits for the partial sums of the one before.
            step = max(tiles * row.mode.steps, self.unit.latency[row.mode.name] + 1)
            last = tiles * row.mode.steps
            result[row.name] = step * (self.depth_tiles(row) - 1) + last
        return result

    @property
    def latency(self) -> dict[str, int]:
        """Clock edges from an instruction to its first result, with all streams ready."""
        result = {}
        for row in self.instructions:
            latency = self.unit.latency[row.mode.name]
            step = max(self.row_tiles * self.col_tiles * row.mode.steps, latency + 1)
            result[row.name] = step * (self.depth_tiles(row) - 1) + latency
        return result

    @property
    def stream_operations(self) -> tuple[OperationEntry, ...]:
        """Operations of the streams, for the sidecar: a fragment is cut into tiles, and each is a
        transfer."""
        return tuple(map(self._entry, self.instructions))

    @property
    def flags(self) -> tuple[ResultFlag, ...]:
        last = ResultFlag(stream="o", field="last", before_last=0, last=1, illegal=1)
        return (*RESULT_FLAGS, last)

    def _entry(self, row: Instruction) -> OperationEntry:
        operation = self.unit.operations[row.mode.name]
        if row.half:
            half = FLOAT_FORMATS["fp16"]
            operation = replace(operation, result=half, result_bits=16, addend=half.constant("-0"))
        lanes = Lanes(
            rows=self.rows,
            cols=self.cols,
            depth=self.depth,
            lane_bits=self.lane_bits,
            accumulator_bits=self.accumulator_bits,
            element_bits=operation.operand_bits,
            result_bits=operation.result_bits,
        )
        by_rows = Transfers(row=self.col_tiles, column=1)
        places = {
            "a": lanes.place("a", "i_a", Transfers(row=1, column=self.row_tiles)),
            "b": lanes.place("b", "i_b", by_rows),
            "c": lanes.place("c", "i_c", by_rows),
            "d": lanes.place("d", "o", by_rows),
        }
        return OperationEntry(
            name=row.name,
            select=(Setting(stream="i", field="op", value=row.opcode),),
            compute=Compute(kind="product", plus="add", times="mul", doc=_DOC),
            sizes=product_sizes(self.FRAGMENT_ROWS, self.FRAGMENT_COLS, row.depth),
            operands=tuple(
                matrix_operand(name, operation, place) for name, place in places.items()
            ),
        )

    @property
    def row_tiles(self) -> int:
        """Unit tiles down a result fragment."""
        return self.FRAGMENT_ROWS // self.rows

    @property
    def col_tiles(self) -> int:
        """Unit tiles across a result fragment."""
        return self.FRAGMENT_COLS // self.cols

    def depth_tiles(self, instruction: Instruction) -> int:
        """Unit operations along K."""
        return instruction.lanes // self.depth


M3XU_SEQUENCER = Unit(
    name="m3xu_sequencer",
    summary="warp-level HMMA instructions over the multi-mode matrix unit",
    source="M3XU: instruction set architecture, table of MMA instructions",
    config=SequencerConfig,
    component="tilewright.hw.m3xu.sequencer:MmaSequencer",
)

UNITS = (M3XU_SEQUENCER,)
