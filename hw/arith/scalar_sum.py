"""(+) of a semiring on two values, pipelined."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value
from amaranth.lib.wiring import In

from ..spec.formats import FloatFormat, Format
from ..spec.semirings import Semiring
from .add import FloatAdd
from .scalar_functions import choose, delay, is_true, truth
from .scalar_operator import ScalarOperator

__all__ = ["OptionalSum", "ScalarSum"]


class ScalarSum(ScalarOperator):
    """Computes ``o = a (+) b``: a sum, rounded once or modulo ``2**bits``, a minimum, a maximum, or
    a disjunction (0 or 1).

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose (+) it is
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the sum
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, plus, a, b = self._format, self._semiring.plus, self.a, self.b
        if plus == "add" and isinstance(fmt, FloatFormat):
            m.submodules.add = add = FloatAdd(fmt, stages=self._stages)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.advance.eq(self.advance)]
            m.d.comb += self.o.eq(add.o)
            return m
        result: Value
        if plus == "add":
            result = (a + b)[: fmt.bits]
        elif plus == "or":
            result = truth(is_true(a, fmt) | is_true(b, fmt), fmt)
        else:
            result = choose(m, a, b, fmt, maximum=plus == "max")
        m.d.comb += self.o.eq(delay(m, result, self._stages, self.advance, "result"))
        return m


class OptionalSum(ScalarOperator):
    """Computes ``a (+) b`` of two values that may be absent; a value without the other is
    unchanged.

    Timing as :class:`ScalarSum`.

    Parameters
    ----------
    semiring: whose (+) it is
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    a, b: the operands
    a_present, b_present: whether they count
    advance: enables all registers
    o: the sum; arbitrary if neither is present
    """

    def __init__(self, semiring: Semiring, format: Format, stages: int) -> None:
        super().__init__(semiring, format, stages, a_present=In(1), b_present=In(1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sum = total = ScalarSum(self._semiring, self._format, self._stages)
        alone = Mux(self.a_present, self.a, self.b)
        both = self.a_present & self.b_present
        kept = delay(m, alone, self._stages, self.advance, "alone")
        sums = delay(m, both, self._stages, self.advance, "both")
        m.d.comb += [
            total.a.eq(self.a),
            total.b.eq(self.b),
            total.advance.eq(self.advance),
            self.o.eq(Mux(sums, total.o, kept)),
        ]
        return m
