"""Pairs of limbs by diagonals, or limbs alone."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.jobs.gta_vector import OCTET
from ..vector_layouts import MOST_PLANES

__all__ = ["LimbPairs"]


class LimbPairs(wiring.Component):
    """Goes through the pairs i, j of limbs from 0 to ``top``: by diagonals i + j, the low one
    first, i ascending in each; or, unless ``square``, through i alone, each a diagonal.

    Members
    -------
    square, top: in; constant, but in the cycle of ``start``
    start: in; at the first pair from the next cycle on
    step: in; goes to the next pair; at the last one there is none
    flush: in; the next diagonal, which has no pairs
    i, j, diagonal: out; of the pair; ``diagonal`` is the number of the diagonal
    last: out; it is the last pair
    diagonal_ends: out; it is the last one of its diagonal
    """

    def __init__(self) -> None:
        limb = range(OCTET)
        super().__init__(
            {
                "square": In(1),
                "top": In(limb),
                "start": In(1),
                "step": In(1),
                "flush": In(1),
                "i": Out(limb),
                "j": Out(limb),
                "diagonal": Out(range(MOST_PLANES)),
                "last": Out(1),
                "diagonal_ends": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, j = self.i, self.j
        over = Signal(name="x_is_over")
        m.d.comb += [
            over.eq(i == self.top),
            self.last.eq(over & (~self.square | (j == self.top))),
            self.diagonal_ends.eq(over | (j == 0) | ~self.square),
        ]
        with m.If(self.start):
            m.d.sync += [i.eq(0), j.eq(0), self.diagonal.eq(0)]
        with m.Elif(self.step):
            m.d.sync += self.diagonal.eq(self.diagonal + self.diagonal_ends)
            with m.If(~self.square):
                m.d.sync += i.eq(i + 1)
            with m.Elif(over):
                m.d.sync += [i.eq(j + 1), j.eq(self.top)]
            with m.Elif(j == 0):
                m.d.sync += [i.eq(0), j.eq(i + 1)]
            with m.Else():
                m.d.sync += [i.eq(i + 1), j.eq(j - 1)]
        with m.Elif(self.flush):
            m.d.sync += self.diagonal.eq(self.diagonal + 1)
        return m
