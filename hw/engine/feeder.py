"""Brings operations and their operands together and feeds them to the matrix unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from ..spec.matrix_unit import Operation
from ..stream.matrix_unit import operation_layout
from .layouts import Sizes, job_layout, log2
from .result_scratchpad import tile_layout
from .sequencer import step_layout

__all__ = ["Feeder", "tag_layout"]


def tag_layout(config: EngineConfig) -> data.StructLayout:
    """Tag of an operation in flight: the tile of its result, and whether it ends its block."""
    return data.StructLayout({"tile": tile_layout(config), "block_end": 1})


class Feeder(wiring.Component):
    """Reads the tiles of an operation, pads them after the last k, and offers the operation to the
    unit.

    Lanes of A and B after the last k get the operation's padding, or where its format has none
    the lane of the first k: those operations are idempotent, so that the product it repeats
    changes nothing. Rows and columns outside the matrices are left as they are, as they are never
    stored. The first operation of a sum takes C, or the operation's neutral addend.

    One operation a cycle; one cycle from ``i`` to ``o``.

    Members
    -------
    job: the job; i: steps (see :func:`step_layout`)
    read: the tiles of ``i`` are to be read now
    a, b, c: the tiles that were read
    o: operations for the unit; tag: where their results belong, moves with ``o``
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        self._operation = operation = operation_layout(config.unit)
        c_row = data.ArrayLayout(sizes.c_bits, sizes.cols)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(step_layout(config))),
                "read": Out(1),
                "a": In(operation["a"].shape),
                "b": In(operation["b"].shape),
                "c": In(data.ArrayLayout(c_row, sizes.rows)),
                "o": Out(stream.Signature(operation)),
                "tag": Out(tag_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = Signal.like(self.i.payload)
        valid = Signal()
        m.d.comb += [
            self.i.ready.eq(~valid | self.o.ready),
            self.read.eq(self.i.valid & self.i.ready),
            self.o.valid.eq(valid),
            self.o.payload.op.eq(self.job.op),
            self.tag.tile.row.eq(step.row),
            self.tag.tile.col.eq(step.col),
            self.tag.tile.buffer.eq(step.block_buffer),
            self.tag.block_end.eq(step.block_end),
        ]
        with m.If(self.i.ready):
            m.d.sync += valid.eq(self.i.valid)
        with m.If(self.read):
            m.d.sync += step.eq(self.i.payload)
        self._operands(m, step)
        self._addends(m, step.first)
        return m

    def _chosen(self, of: dict[int, int]) -> Value:
        """A constant by opcode."""
        opcodes = self._config.unit.operations.values()
        patterns = {op.opcode: of[op.opcode] for op in opcodes}
        common = max(set(patterns.values()), key=list(patterns.values()).count)
        width = max(p.bit_length() for p in patterns.values()) or 1
        chosen: Value = Const(common, width)
        for opcode, pattern in patterns.items():
            if pattern != common:
                chosen = Mux(self.job.op == opcode, Const(pattern, width), chosen)
        return chosen

    def _operands(self, m: Module, step: data.View[data.StructLayout]) -> None:
        """Computes both operands, with the lanes after the last k padded."""
        sizes, unit = self._sizes, self._config.unit
        operations = list(unit.operations.values())
        repeats = Signal()
        without = [op.opcode for op in operations if op.padding is None]
        if without:
            m.d.comb += repeats.eq(Cat(self.job.op == n for n in without).any())
        for lane in range(sizes.depth):
            padded = Signal(name=f"padded_{lane}")
            pads = [
                self._chosen({op.opcode: _padding(op, unit.lane_bits, side, lane)
                              for op in operations})
                for side in range(2)
            ]  # fmt: skip
            if lane:
                last = self.job.k1[: log2(sizes.depth)]
                m.d.comb += padded.eq(step.cut & (last < lane))
            for row in range(sizes.rows):
                pad = Mux(repeats, self.a[row][0], pads[0]) if without else pads[0]
                m.d.comb += self.o.payload.a[row][lane].eq(Mux(padded, pad, self.a[row][lane]))
            for col in range(sizes.cols):
                pad = Mux(repeats, self.b[0][col], pads[1]) if without else pads[1]
                m.d.comb += self.o.payload.b[lane][col].eq(Mux(padded, pad, self.b[lane][col]))

    def _addends(self, m: Module, first: Value) -> None:
        neutral = Signal(self._sizes.c_bits)
        operations = self._config.unit.operations.values()
        m.d.comb += neutral.eq(self._chosen({op.opcode: op.addend or 0 for op in operations}))
        for row in range(self._sizes.rows):
            for col in range(self._sizes.cols):
                addend = Mux(first & ~self.job.use_c, neutral, self.c[row][col])
                m.d.comb += self.o.payload.c[row][col].eq(addend)


def _padding(operation: Operation, lane_bits: int, side: int, lane: int) -> int:
    """Computes the pattern that pads a lane of a (side 0) or b (side 1); 0 for operations without
    one."""
    if operation.padding is None:
        return 0
    lanes = max(1, operation.operand_bits // lane_bits)
    return operation.padding[side] >> lane % lanes * lane_bits & ((1 << lane_bits) - 1)
