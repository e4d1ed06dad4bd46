"""A lane with separate units for each number format."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta_lane.separate import GtaSeparateConfig
from ...spec.gta_lane.widths import DATAPATH_BITS, WORD_BITS, elements, sum_bits
from ...stream.valid_pipeline import ValidPipeline
from .format_unit import FormatUnit

__all__ = ["GtaSeparate"]


class GtaSeparate(wiring.Component):
    """``d = a * b + c``, element by element, in the format of each operation.

    What does the arithmetic in a lane of a usual vector unit: a multiplier and adder of its own for
    every element of every format. Operands of all formats are in the same bits, and results leave
    through the same register; nothing else is shared. All units compute every cycle.

    Initiation interval 1; latency ``pipeline`` cycles. While a result waits to be taken, all stages
    wait. Whatever lies above a format's elements is 0 in d, and not looked at in c.

    Source: GTA, sections 4.2 and 6.1: the lane that is compared with.

    Parameters
    ----------
    config: see :class:`GtaSeparateConfig`

    Members
    -------
    i: operations: ``format``; ``a`` and ``b``; ``c`` in words of 32 bits
    o: results, in the same order: ``d`` in words of 32 bits; ``error``: the format is none of the
        unit's, and d is 0
    """

    def __init__(self, config: GtaSeparateConfig) -> None:
        self._config = config
        sums = data.ArrayLayout(WORD_BITS, config.result_words)
        operation = data.StructLayout(
            {
                "format": config.format_bits,
                "a": DATAPATH_BITS,
                "b": DATAPATH_BITS,
                "c": sums,
            }
        )
        result = data.StructLayout({"d": sums, "error": 1})
        super().__init__({"i": In(stream.Signature(operation)), "o": Out(stream.Signature(result))})

    @property
    def config(self) -> GtaSeparateConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        advance = Signal()
        m.submodules.valid = valid = ValidPipeline(config.pipeline)
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(advance),
            valid.i.eq(self.i.valid),
            valid.advance.eq(advance),
            self.o.valid.eq(valid.o),
        ]
        selects = self._selects(m, advance)
        addends = self.i.payload.c.as_value()
        results: list[Value] = []
        for name, select in zip(config.formats, selects, strict=True):
            m.submodules[name] = unit = FormatUnit(name, pipeline=config.pipeline)
            m.d.comb += [
                unit.a.eq(self.i.payload.a),
                unit.b.eq(self.i.payload.b),
                unit.c.eq(addends[: elements(name) * sum_bits(name)]),
            ]
            if config.pipeline > 1:
                m.d.comb += unit.advance.eq(advance)
            results.append(unit.o & select.replicate(len(unit.o)))
        d = Signal(len(addends), reset_less=True)
        error = Signal(reset_less=True)
        with m.If(advance):
            m.d.sync += [d.eq(reduce(or_, results)), error.eq(~selects.any())]
        m.d.comb += [self.o.payload.d.eq(d), self.o.payload.error.eq(error)]
        return m

    def _selects(self, m: Module, advance: Value) -> Value:
        """A bit for each format of what is about to leave."""
        codes = self._config.opcodes.values()
        selects: Value = Cat(self.i.payload.format == code for code in codes)
        for stage in range(self._config.pipeline - 1):
            register = Signal(len(codes), name=f"selects_{stage}", reset_less=True)
            with m.If(advance):
                m.d.sync += register.eq(selects)
            selects = register
        return selects
