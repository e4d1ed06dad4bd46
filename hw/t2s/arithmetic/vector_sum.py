"""Sums side by side: what a processing element adds where lanes are of the result."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring

from ...spec.t2s.parts import ElementPart
from ...spec.t2s.timing import timing_of, widens
from .lane_sum import LaneSumUnit
from .products import PlainSum, later, operand_members, widened


class TripleSum(wiring.Component):
    """Computes ``o = c (+) (+) over lanes of the product of three operands``.

    The product of the first two is rounded to the format of sums; integers are exact. What it is
    multiplied by, and added, is rounded once with all lanes, see :meth:`LaneSum.of_products`. An
    operation a cycle; it never waits.

    Parameters
    ----------
    part: of the element; nothing is factored out

    Members
    -------
    i_<operand>: words of all its lanes, or of one that is for all of them
    c: the sum so far, when :func:`timing_of` says
    o: the sum, likewise
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._part.arithmetic
        products, lead, last = config.of_products(), timing_of(part).lead, int(widens(part))
        first, second, third = part.inner
        m.submodules.total = total = LaneSumUnit(products)
        # It waits as it came, which takes fewer bits.
        waiting = later(m, third, getattr(self, f"i_{third}"), lead - last)
        wide = products.element
        for lane in range(config.lanes):
            m.submodules[f"pair_{lane}"] = pair = LaneSumUnit(replace(config, lanes=1), adds=False)
            word = widened(m, f"{third}_{lane}", self._word(third, waiting, lane), config, wide)
            m.d.comb += [
                pair.a[0].eq(self._word(first, getattr(self, f"i_{first}"), lane)),
                pair.b[0].eq(self._word(second, getattr(self, f"i_{second}"), lane)),
                total.a[lane].eq(pair.o[: wide.bits]),
                total.b[lane].eq(later(m, f"wide_{third}_{lane}", word, last)),
            ]
        m.d.comb += [total.c.eq(self.c), self.o.eq(total.o)]
        return m

    def _word(self, name: str, words: Value, lane: int) -> Value:
        """Returns a lane's word of an operand, which may be the same for all."""
        number = lane % self._part.operand(name).lanes
        return words.word_select(number, self._part.arithmetic.element.container_bits)


__all__ = ["VectorSum", "sum_of_products"]


class VectorSum(wiring.Component):
    """Computes ``o = c (+) product of all operands`` in each lane: a vector of sums.

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
    """Returns the unit that adds the product of all operands in each lane to a sum."""
    return TripleSum(part) if len(part.inner) == 3 else PlainSum(part)
