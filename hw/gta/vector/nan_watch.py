"""Whether a float that comes byte by byte is a NaN."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LIMB_BITS, GtaConfig
from .exponent_bits import exponent_groups

__all__ = ["NanWatch"]


class NanWatch(wiring.Component):
    """Something in the fraction, and all of the exponent behind it.

    One bit is enough: the fraction sets it, the exponent, which comes later, clears it.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: in; bytes, from the lowest one up
    update: in; there is a byte
    first, last: in; of the bytes of a float; the last one has the sign
    exponent: in; of each of ``exponent_groups``, whether its bits belong to the exponent
    found: out; combinational; what is true up to this byte
    o: out; a register; it has no reset, as ``first`` begins it
    """

    def __init__(self, config: GtaConfig) -> None:
        self._groups = exponent_groups(config)
        self._config = config
        super().__init__(
            {
                "i": In(LIMB_BITS),
                "update": In(1),
                "first": In(1),
                "last": In(1),
                "exponent": In(len(self._groups)),
                "found": Out(1),
                "o": Out(1),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(reset_less=True)
        fraction, whole = [held & ~self.first], []
        for n, group in enumerate(self._groups):
            other, bits = ~self.exponent[n], Cat(self.i[bit] for bit in group.bits)
            if LIMB_BITS - 1 in group.bits:
                # In the last byte it is the sign, which is of neither.
                fraction.append(self.i[-1] & other & ~self.last)
                fraction.append(bits[:-1].any() & other)
            else:
                fraction.append(bits.any() & other)
            whole.append(bits.all() | other)
        m.d.comb += [
            self.found.eq(Cat(fraction).any() & Cat(whole).all()),
            self.o.eq(held),
        ]
        with m.If(self.update):
            m.d.sync += held.eq(self.found)
        return m
