"""A limb out of a word."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, LIMB_BITS

__all__ = ["LimbPick"]


class LimbPick(wiring.Component):
    """Picks a byte of a word and gives it a sign. Combinational.

    Members
    -------
    word: in
    place: in; the byte's
    high: in; it is an element's highest, which is signed
    used: in; otherwise 0 is picked
    limb: out
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word": In(8 * LEFT_WORD_BYTES),
                "place": In(range(LEFT_WORD_BYTES)),
                "high": In(1),
                "used": In(1),
                "limb": Out(signed(LIMB_BITS + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        byte = Signal(LIMB_BITS)
        with m.Switch(self.place):
            for n in range(LEFT_WORD_BYTES):
                with m.Case(n):
                    m.d.comb += byte.eq(self.word.word_select(n, LIMB_BITS))
        m.d.comb += self.limb.eq(Mux(self.used, Cat(byte, byte[-1] & self.high), 0))
        return m
