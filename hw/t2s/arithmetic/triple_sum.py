"""Sums of products of three operands in each lane."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from ...spec.t2s.parts import ElementPart
from ...spec.t2s.timing import timing_of, widens
from .lane_sum import LaneSumUnit
from .products import later, operand_members, widened

__all__ = ["TripleSum"]


class TripleSum(wiring.Component):
    """``o = c (+) (+) over lanes of the product of three operands``.

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
        """A lane's word of an operand, which may be the same for all."""
        number = lane % self._part.operand(name).lanes
        return words.word_select(number, self._part.arithmetic.element.container_bits)
