"""Sums side by side: what a processing element adds where lanes are of the result."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring

from ...spec.t2s.parts import ElementPart
from .products import PlainSum, operand_members
from .triple_sum import TripleSum

__all__ = ["VectorSum", "sum_of_products"]


class VectorSum(wiring.Component):
    """``o = c (+) product of all operands``, of a vector of sums: each lane has one of its own.

    An operation a cycle; it never waits.

    Parameters
    ----------
    part: of the element; nothing is factored out

    Members
    -------
    i_<operand>: words of all lanes, or one that is for all of them
    c: the sums so far, lane 0 in the low bits, when :func:`timing_of` says
    o: the sums, likewise
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._part
        bits, results = part.arithmetic.result.bits, list[Value]()
        for lane in range(part.vector):
            m.submodules[f"lane_{lane}"] = unit = sum_of_products(part.of_a_lane())
            for one in part.operands:
                if not one.starts:
                    words: Value = getattr(self, f"i_{one.name}")
                    port = getattr(unit, f"i_{one.name}")
                    m.d.comb += port.eq(words.word_select(lane % one.lanes, len(port)))
            m.d.comb += unit.c.eq(self.c.word_select(lane, bits))
            results.append(unit.o)
        m.d.comb += self.o.eq(Cat(results))
        return m


def sum_of_products(part: ElementPart) -> PlainSum | TripleSum:
    """What adds products of all operands in each lane to a sum."""
    return TripleSum(part) if len(part.inner) == 3 else PlainSum(part)
