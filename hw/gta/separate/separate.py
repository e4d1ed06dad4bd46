"""A lane with separate units for each number format."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import ClassVar, Final

from amaranth.hdl import C, Cat, Module, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.multiplier import Multiplier
from ...arith.multiply_add import FloatMultiplyAdd
from ...arith.pipeline import Pipeline
from ...spec.formats import FORMATS, FloatFormat, IntFormat
from ...spec.gta_lane.separate import (
    DATAPATH_BITS,
    WORD_BITS,
    GtaSeparateConfig,
    elements,
    sum_bits,
    sum_format,
)
from ...stream.valid_pipeline import ValidPipeline

INTEGER_CUTS: dict[int, tuple[str, ...]] = {0: (), 1: ("product",), 2: ("product", "sum")}
"""Places of a unit's registers, by its number of stages."""


class IntegerMultiplyAdd(wiring.Component):
    """Computes ``o = a * b + c`` modulo ``2**sum_bits``, signed.

    The sum is wide enough for every product, so both halves of one are there. Latency ``stages``
    cycles (0: combinational), an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    bits: width of a and b
    sum_bits: width of c and of the result, at least ``2 * bits``
    stages: register stages, 0..2, see :data:`INTEGER_CUTS`

    Members
    -------
    a, b, c: the operands
    advance: (with stages) enables all registers
    o: the result
    """

    verilog_parameters: ClassVar = {"BITS": "bits", "SUM_BITS": "sum_bits"}

    def __init__(self, bits: int, sum_bits: int, *, stages: int = 0) -> None:
        self._bits = bits
        self._sum_bits = sum_bits
        self._stages = stages
        if sum_bits < 2 * bits:
            raise ValueError(f"`sum_bits` must be at least {2 * bits}, not {sum_bits}")
        if stages not in INTEGER_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(INTEGER_CUTS)}, not {stages}")
        members = {"a": In(bits), "b": In(bits), "c": In(sum_bits), "o": Out(sum_bits)}
        super().__init__(members | ({"advance": In(1)} if stages else {}))

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def sum_bits(self) -> int:
        return self._sum_bits

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._stages else C(1)
        pipeline = Pipeline(m, self._stages, advance, INTEGER_CUTS)
        m.submodules.multiplier = multiplier = Multiplier(self._bits, signed=True)
        m.d.comb += [multiplier.a.eq(self.a), multiplier.b.eq(self.b)]
        bundle = pipeline.cut("product", {"product": multiplier.o, "addend": self.c})
        product = Signal(signed(self._sum_bits))
        total = Signal(self._sum_bits)
        m.d.comb += [product.eq(bundle["product"]), total.eq(product + bundle["addend"])]
        m.d.comb += self.o.eq(pipeline.cut("sum", {"total": total})["total"])
        return m


class FormatUnit(wiring.Component):
    """Computes ``o = a * b + c`` for every element of a format that fits the datapath.

    A cycle for all of them. The unit's last register is left to the user, who puts it behind ``o``:
    units of several formats share one. The others have no reset and move only while ``advance`` is
    set.

    Parameters
    ----------
    name: the format, of :data:`~tilewright.hw.spec.gta.FORMATS_OF_GTA`
    pipeline: register stages, the last one included, 1..3

    Members
    -------
    a, b: elements, the first one in the low bits
    c: their addends, likewise, ``sum_bits`` each
    advance: (if there are registers in here) enables all registers
    o: the results, likewise
    """

    def __init__(self, name: str, *, pipeline: int) -> None:
        self._name = name
        self._pipeline = pipeline
        width = elements(name) * sum_bits(name)
        members = {"a": In(DATAPATH_BITS), "b": In(DATAPATH_BITS), "c": In(width), "o": Out(width)}
        super().__init__(members | ({"advance": In(1)} if pipeline > 1 else {}))

    @property
    def name(self) -> str:
        return self._name

    @property
    def pipeline(self) -> int:
        return self._pipeline

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, wide = FORMATS[self._name].bits, sum_bits(self._name)
        for index in range(elements(self._name)):
            m.submodules[f"multiply_add_{index}"] = unit = self._unit()
            m.d.comb += [
                unit.a.eq(self.a[index * bits : (index + 1) * bits]),
                unit.b.eq(self.b[index * bits : (index + 1) * bits]),
                unit.c.eq(self.c[index * wide : (index + 1) * wide]),
                self.o[index * wide : (index + 1) * wide].eq(unit.o),
            ]
            if self._pipeline > 1:
                m.d.comb += unit.advance.eq(self.advance)
        return m

    def _unit(self) -> IntegerMultiplyAdd | FloatMultiplyAdd:
        operand, result = FORMATS[self._name], sum_format(self._name)
        if isinstance(operand, FloatFormat):
            assert isinstance(result, FloatFormat)
            # For fp16 the wider sum would cost more than normalisation.
            return FloatMultiplyAdd(
                result,
                operand,
                stages=self._pipeline,
                open_ended=True,
                normalise=2 * operand.emin >= result.emin,
            )
        assert isinstance(operand, IntFormat)
        return IntegerMultiplyAdd(operand.bits, sum_bits(self._name), stages=self._pipeline - 1)


class GtaSeparate(wiring.Component):
    """Computes ``d = a * b + c``, element by element, in the format of each operation.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        codes = self.config.opcodes.values()
        selects: Value = Cat(self.i.payload.format == code for code in codes)
        for stage in range(self.config.pipeline - 1):
            register = Signal(len(codes), name=f"selects_{stage}", reset_less=True)
            with m.If(advance):
                m.d.sync += register.eq(selects)
            selects = register
        return selects
