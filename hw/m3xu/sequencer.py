"""Warp-level matrix instructions over the multi-mode matrix unit."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arith.convert import FloatConvert
from ..spec.formats import FLOAT_FORMATS, FloatFormat
from ..spec.m3xu import OP_BITS
from ..spec.sequencer import SequencerConfig
from ..stream.matrix_unit import operation_layout
from ..stream.queue import Queue
from .m3xu import M3xu

__all__ = ["MmaSequencer"]

_FP16, _FP32 = FLOAT_FORMATS["fp16"], FLOAT_FORMATS["fp32"]


class MmaSequencer(wiring.Component):
    """Executes ``D = A * B + C`` on fragments of 16 x K, K x 8 and 16 x 8 elements.

    A fragment travels as tiles of the matrix unit's shape, one a transfer, each just once:
    ``i_a`` and ``i_b`` by k step and, within it, from the top or from the left; ``i_c`` and the
    result by rows of tiles. For every k step the sequencer walks the tiles of the result by
    rows through the unit. Partial sums stay inside, in fp32, each k step being one fused dot
    product a result element. In HMMA.16816.F16 C enters and D leaves in fp16, in the low bits
    of the elements; D is rounded from the fp32 sum at the end.

    An opcode whose mode the unit lacks takes no fragments and answers with one transfer of zero
    with ``error`` and ``last`` set, in its place among the results.

    An instruction takes as long as its unit operations, but a k step waits for the partial sums
    of the one before: see ``initiation_interval`` of the configuration.

    Source: M3XU, instruction set architecture.

    Parameters
    ----------
    config: see :class:`SequencerConfig`

    Members
    -------
    i: instructions (``op``)
    i_a, i_b, i_c: tiles of the fragments, laid out as in the matrix unit
    o: tiles of the result (``d``), ``error``, and ``last`` of an instruction
    """

    def __init__(self, config: SequencerConfig) -> None:
        self.config: Final = config
        operation = operation_layout(config.unit)
        self._accumulators = operation["c"].shape
        result = data.StructLayout({"d": self._accumulators, "error": 1, "last": 1})
        tiles = config.row_tiles * config.col_tiles
        self._tag = data.StructLayout(
            {"tile": max(1, (tiles - 1).bit_length()), "final": 1, "last": 1, "half": 1, "error": 1}
        )
        instruction = data.StructLayout({"op": OP_BITS})
        super().__init__(
            {
                "i": In(stream.Signature(instruction)),
                "i_a": In(stream.Signature(data.StructLayout({"a": operation["a"].shape}))),
                "i_b": In(stream.Signature(data.StructLayout({"b": operation["b"].shape}))),
                "i_c": In(stream.Signature(data.StructLayout({"c": self._accumulators}))),
                "o": Out(stream.Signature(result)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.unit = unit = M3xu(config.unit)
        m.submodules.tags = tags = Queue(self._tag, max(config.unit.latency.values()) + 2)
        legal, mode_opcode, half, last_k = self._decode(m)
        issue = Signal()
        k, row, col = self._walk(m, issue, last_k)
        tiles = config.row_tiles * config.col_tiles
        tile = Signal(self._tag["tile"].width)
        final = Signal()
        m.d.comb += [
            tile.eq(row * config.col_tiles + col),
            final.eq(k == last_k),
        ]

        # A partial sum has returned once fewer operations are in flight than there are tiles.
        under_way = Signal(range(tags.depth + 2))
        offered = Signal()
        operands = self.i_a.valid & ((row != 0) | self.i_b.valid)
        addend = Mux(k == 0, self.i_c.valid, under_way < tiles)
        m.d.comb += [
            offered.eq(self.i.valid & legal & operands & addend),
            issue.eq(offered & unit.i.ready & tags.i.ready),
            unit.i.valid.eq(offered & tags.i.ready),
            tags.i.valid.eq(Mux(legal, offered & unit.i.ready, self.i.valid)),
            tags.i.payload.tile.eq(tile),
            tags.i.payload.final.eq(final),
            tags.i.payload.last.eq(tile == tiles - 1),
            tags.i.payload.half.eq(half),
            tags.i.payload.error.eq(~legal),
            self.i.ready.eq(Mux(legal, issue & final & (tile == tiles - 1), tags.i.ready)),
            self.i_a.ready.eq(issue & (col == config.col_tiles - 1)),
            self.i_b.ready.eq(issue & (row == 0)),
            self.i_c.ready.eq(issue & (k == 0)),
            unit.i.payload.op.eq(mode_opcode),
            unit.i.payload.a.eq(self.i_a.payload.a),
            unit.i.payload.b.eq(self._b_tile(m, issue, row, col)),
        ]
        retired = tags.o.valid & tags.o.ready & ~tags.o.payload.error
        m.d.sync += under_way.eq(under_way + issue - retired)
        partial = self._results(m, unit, tags, tile)
        m.d.comb += unit.i.payload.c.eq(Mux(k == 0, self._addend(m, half), partial))
        return m

    def _decode(self, m: Module) -> tuple[Signal, Signal, Signal, Signal]:
        """Legality, the unit's opcode, fp16 accumulation and the number of the last k step."""
        legal = Signal()
        half = Signal()
        mode_opcode = Signal(OP_BITS)
        steps = [self.config.depth_tiles(row) for row in self.config.instructions]
        last_k = Signal(range(max(max(steps), 2)))
        with m.Switch(self.i.payload.op):
            for row in self.config.instructions:
                with m.Case(row.opcode):
                    m.d.comb += [
                        legal.eq(1),
                        half.eq(row.half),
                        mode_opcode.eq(row.mode.opcode),
                        last_k.eq(self.config.depth_tiles(row) - 1),
                    ]
        return legal, mode_opcode, half, last_k

    def _walk(self, m: Module, issue: Value, last_k: Signal) -> tuple[Signal, Signal, Signal]:
        """The counters: k step, then row of tiles, then tile of a row."""
        rows, cols = self.config.row_tiles, self.config.col_tiles
        k = Signal(len(last_k))
        row = Signal(range(max(rows, 2)))
        col = Signal(range(max(cols, 2)))
        with m.If(issue):
            m.d.sync += col.eq(col + 1)
            with m.If(col == cols - 1):
                m.d.sync += [col.eq(0), row.eq(row + 1)]
                with m.If(row == rows - 1):
                    m.d.sync += [row.eq(0), k.eq(Mux(k == last_k, 0, k + 1))]
        return k, row, col

    def _b_tile(self, m: Module, issue: Value, row: Value, col: Value) -> Value:
        """The tile of b: fresh in the first row of tiles, kept for the others."""
        fresh = self.i_b.payload.b.as_value()
        kept = Array(
            Signal(len(fresh), name=f"kept_b_{i}", reset_less=True)
            for i in range(self.config.col_tiles)
        )
        with m.If(issue & (row == 0)):
            m.d.sync += kept[col].eq(fresh)
        return Mux(row == 0, fresh, kept[col])

    def _addend(self, m: Module, half: Value) -> Value:
        """The tile of c in the unit's format."""
        if "fp16" not in self.config.modes:
            return self.i_c.payload.c.as_value()
        converted = self._convert(m, "c", _FP16, _FP32, self.i_c.payload.c)
        return Mux(half, converted, self.i_c.payload.c.as_value())

    def _convert(
        self,
        m: Module,
        name: str,
        source: FloatFormat,
        result: FloatFormat,
        tile: data.View[data.ArrayLayout],
    ) -> Value:
        """All elements of a tile in another format."""
        width = self.config.accumulator_bits
        elements = []
        for r in range(self.config.rows):
            for c in range(self.config.cols):
                m.submodules[f"convert_{name}_{r}_{c}"] = convert = FloatConvert(source, result)
                m.d.comb += convert.i.eq(tile[r][c])
                element = Signal(width, name=f"{name}_{r}_{c}")
                m.d.comb += element.eq(convert.o)
                elements.append(element)
        return Cat(*elements)

    def _results(self, m: Module, unit: M3xu, tags: Queue, tile: Value) -> Value:
        """Sends results on, or keeps them as partial sums; returns the partial sum of ``tile``."""
        tag = tags.o.payload
        d = unit.o.payload.d.as_value()
        tiles = self.config.row_tiles * self.config.col_tiles
        m.submodules.partial_sums = memory = Memory(shape=len(d), depth=tiles, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        result: Value = d
        if "fp16" in self.config.modes:
            result = Mux(tag.half, self._convert(m, "d", _FP32, _FP16, unit.o.payload.d), d)
        leaves = tag.final | tag.error
        m.d.comb += [
            read.addr.eq(tile),
            write.addr.eq(tag.tile),
            write.data.eq(d),
            write.en.eq(tags.o.valid & unit.o.valid & ~leaves),
            self.o.valid.eq(tags.o.valid & leaves & (tag.error | unit.o.valid)),
            self.o.payload.d.eq(Mux(tag.error, 0, result)),
            self.o.payload.error.eq(tag.error),
            self.o.payload.last.eq(tag.last | tag.error),
            unit.o.ready.eq(tags.o.valid & ~tag.error & (~tag.final | self.o.ready)),
            tags.o.ready.eq(Mux(leaves, self.o.ready, 1) & (tag.error | unit.o.valid)),
        ]
        partial: Value = read.data
        return partial
