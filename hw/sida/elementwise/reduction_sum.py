"""Two values of a reduction to one."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arith.add import FloatAdd
from ...arith.compare import FloatMinMax
from ...arith.scalar_functions import delay, is_true, truth
from ...spec.formats import FloatFormat, Format
from .layouts import KINDS

__all__ = ["ReductionSum"]


class ReductionSum(wiring.Component):
    """The sum, minimum, maximum or disjunction of two values that may be absent: of one alone, that
    one unchanged.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset.

    Parameters
    ----------
    format: of the values
    stages: register stages, 1..3

    Members
    -------
    kind: in; number of the reduction, see ``KINDS``
    a, b: in; the values
    a_present, b_present: in; whether they count
    o: out; arbitrary if neither is present
    """

    def __init__(self, format: Format, stages: int) -> None:
        self._format, self._stages = format, stages
        super().__init__(
            {
                "kind": In(range(len(KINDS))),
                "a": In(format.bits),
                "b": In(format.bits),
                "a_present": In(1),
                "b_present": In(1),
                "o": Out(format.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, a, b = self._format, self.a, self.b
        both = self.a_present & self.b_present
        maximum = self.kind == KINDS.index("rmax")
        extreme: Value
        if isinstance(fmt, FloatFormat):
            m.submodules.choose = choose = FloatMinMax(fmt)
            m.d.comb += [choose.a.eq(a), choose.b.eq(b), choose.maximum.eq(maximum)]
            extreme = choose.o
        else:
            extreme = Mux((a.as_signed() < b.as_signed()) ^ maximum, a, b)
        alone = Signal(fmt.bits)
        with m.If(~both):
            m.d.comb += alone.eq(Mux(self.a_present, a, b))
        with m.Elif(self.kind == KINDS.index("ror")):
            m.d.comb += alone.eq(truth(is_true(a, fmt) | is_true(b, fmt), fmt))
        with m.Else():
            m.d.comb += alone.eq(extreme)
        adds = delay(m, both & (self.kind == KINDS.index("rsum")), self._stages, C(1), "adds")
        chosen = delay(m, alone, self._stages, C(1), "chosen")
        total: Value
        if isinstance(fmt, FloatFormat):
            m.submodules.add = add = FloatAdd(fmt, stages=self._stages)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.advance.eq(1)]
            total = add.o
        else:
            total = delay(m, (a + b)[: fmt.bits], self._stages, C(1), "total")
        m.d.comb += self.o.eq(Mux(adds, total, chosen))
        return m
