"""A plane of an octet to limbs of its elements."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, LIMB_BITS
from ...spec.jobs.gta_vector import OCTET

__all__ = ["PlaneLimbs"]


class PlaneLimbs(wiring.Component):
    """Picks one of the two planes of a word; its bytes are the limbs of the rows' elements.
    Combinational.

    Members
    -------
    word: in; of a bank
    upper: in; it is the word's second plane
    used: in; otherwise 0 is picked
    high: in; it has the highest limbs of integers, which are signed
    plane: out; the bytes as they are, by row
    o: out; the limbs, by row
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word": In(8 * LEFT_WORD_BYTES),
                "upper": In(1),
                "used": In(1),
                "high": In(1),
                "plane": Out(data.ArrayLayout(LIMB_BITS, OCTET)),
                "o": Out(data.ArrayLayout(signed(LIMB_BITS + 1), OCTET)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = LIMB_BITS * OCTET
        m.d.comb += self.plane.eq(Mux(self.upper, self.word[bits:], self.word[:bits]))
        for r in range(OCTET):
            byte = Signal(LIMB_BITS, name=f"byte_{r}")
            m.d.comb += [
                byte.eq(self.plane[r] & self.used.replicate(LIMB_BITS)),
                self.o[r].eq(Cat(byte, byte[-1] & self.high).as_signed()),
            ]
        return m
