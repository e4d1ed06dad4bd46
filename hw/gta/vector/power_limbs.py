"""Powers of two that shift, limb by limb."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LIMB_BITS
from ...spec.jobs.gta_vector import OCTET

__all__ = ["PowerLimbs"]

_PLACE = LIMB_BITS.bit_length() - 1
_LIMB = OCTET.bit_length() - 1
"""Bits of a bit's place in a limb, and of a limb's number."""


class PowerLimbs(wiring.Component):
    """Limb ``limb`` of 2 ** b of each row's byte b modulo an element's width w, or of
    2 ** (w - 1 - b). Combinational.

    Parameters
    ----------
    most: limbs of the longest elements, a power of two of at most 8

    Members
    -------
    amounts: in; b, by row
    used: in; otherwise b is 0
    inverted: in; w - 1 - b instead of b
    limb: in; which one
    limbs: in; an element's limbs less one; 0: the limb does not count
    o: out; by row
    """

    def __init__(self, most: int) -> None:
        self._most = most
        byte = data.ArrayLayout(LIMB_BITS, OCTET)
        super().__init__(
            {
                "amounts": In(byte),
                "used": In(1),
                "inverted": In(1),
                "limb": In(_LIMB),
                "limbs": In(_LIMB),
                "o": Out(byte),
            }
        )

    @property
    def most(self) -> int:
        return self._most

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = self._most.bit_length() - 1
        bits = _PLACE + numbers
        limb, limbs = self.limb[:numbers], self.limbs[:numbers]
        for r in range(OCTET):
            amount = Signal(bits, name=f"amount_{r}")
            here = Signal(name=f"here_{r}")
            used = self.amounts[r][:bits] & self.used.replicate(bits)
            m.d.comb += [
                amount.eq(used ^ self.inverted.replicate(bits)),
                here.eq(~((amount[_PLACE:] ^ limb) & limbs).any()),
                *(self.o[r][bit].eq(here & (amount[:_PLACE] == bit)) for bit in range(LIMB_BITS)),
            ]
        return m
