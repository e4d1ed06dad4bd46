"""The operators that are chosen at run time, as a unit."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.sida.operators import SelectedOptional, SelectedProduct, identity, semiring_range
from tilewright.hw.spec.formats import Format
from tilewright.hw.spec.semirings import Semiring
from tilewright.hw.stream.valid_pipeline import ValidPipeline

__all__ = ["SelectedOperatorsUnit"]


class SelectedOperatorsUnit(wiring.Component):
    """(x), (+) and its identity of the same two values. An operation of another semiring
    waits until those that were begun have gone.

    Parameters
    ----------
    operators: the semirings
    format: of operands and results
    stages: register stages of each

    Members
    -------
    i: ``semiring``, ``a``, ``b``, and whether they count for a sum
    o: ``product``, ``sum``, ``identity``
    """

    def __init__(self, operators: Sequence[Semiring], format: Format, stages: int) -> None:
        self._operators, self._format, self._stages = tuple(operators), format, stages
        bits = format.bits
        operands = {
            "semiring": semiring_range(operators), "a": bits, "b": bits, "a_present": 1,
            "b_present": 1,
        }  # fmt: skip
        results = {"product": bits, "sum": bits, "identity": bits}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(operands))),
                "o": Out(stream.Signature(data.StructLayout(results))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, format, stages = self.i.payload, self._format, self._stages
        m.submodules.product = times = SelectedProduct(self._operators, format, stages)
        m.submodules.sum = plus = SelectedOptional(self._operators, format, stages)
        m.submodules.valid = valid = ValidPipeline(stages)
        chosen = Signal(semiring_range(self._operators))
        advance = Signal()
        empty = Signal()
        under_way = Signal(range(stages + 1))
        allowed = Signal()
        m.d.comb += [
            empty.eq(under_way == 0),
            advance.eq(self.o.ready | ~valid.o),
            allowed.eq(empty | (chosen == given.semiring)),
            self.i.ready.eq(advance & allowed),
            valid.i.eq(self.i.valid & allowed),
            valid.advance.eq(advance),
            self.o.valid.eq(valid.o),
            self.o.payload.product.eq(times.o),
            self.o.payload.sum.eq(plus.o),
            self.o.payload.identity.eq(identity(self._operators, format, chosen)),
            plus.a_present.eq(given.a_present),
            plus.b_present.eq(given.b_present),
        ]
        used: Value = Signal(semiring_range(self._operators), name="used")
        with m.If(empty):
            m.d.comb += used.eq(given.semiring)
            with m.If(self.i.valid):
                m.d.sync += chosen.eq(given.semiring)
        with m.Else():
            m.d.comb += used.eq(chosen)
        enters, leaves = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.sync += under_way.eq(under_way + enters - leaves)
        for part in (times, plus):
            m.d.comb += [
                part.semiring.eq(used),
                part.a.eq(given.a),
                part.b.eq(given.b),
                part.advance.eq(advance),
            ]
        return m
