"""The multiply-add units of one number format."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arith.multiply_add import FloatMultiplyAdd
from ...spec.formats import FORMATS, FloatFormat, IntFormat
from ...spec.gta_lane.widths import DATAPATH_BITS, elements, sum_bits, sum_format
from .integer_multiply_add import IntegerMultiplyAdd

__all__ = ["FormatUnit"]


class FormatUnit(wiring.Component):
    """``o = a * b + c`` for every element of a format that fits the datapath, side by side.

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
            # Of fp16 the wider sum would cost more than normalisation.
            return FloatMultiplyAdd(
                result,
                operand,
                stages=self._pipeline,
                open_ended=True,
                normalise=2 * operand.emin >= result.emin,
            )
        assert isinstance(operand, IntFormat)
        return IntegerMultiplyAdd(operand.bits, sum_bits(self._name), stages=self._pipeline - 1)
