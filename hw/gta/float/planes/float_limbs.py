"""Limbs of the floats of a column's rows, which lie by planes."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ....spec.formats import FLOAT_FORMATS
from ....spec.gta import LEFT_WORD_BYTES, LIMB_BITS, ROWS, GtaConfig, limbs
from ..headers import vector_mode
from .plane_operand import exponent_is_all, exponent_is_any

__all__ = ["FloatLimbs"]


class FloatLimbs(wiring.Component):
    """Puts the hidden bits into bytes of significands, which lie as they do in memory.

    A significand's lowest byte is the float's, so that the highest limb has as many bits of it as
    are left, the hidden one on top. Combinational; ``any`` has a register.

    x has no hidden bit if it is an infinity or a NaN, either: so its product with what is not 0
    tells which. For y ``any`` does.

    Parameters
    ----------
    config: of the accelerator, with floats
    second: whether these are y

    Members
    -------
    mode: in; see ``vector_mode``
    words: in; of the column's bank: two planes
    bytes: in; by row, that one of them that is multiplied, or 0
    high: in; it is the highest limb
    begins: in; (y) it is a product's first step
    o: out; by row
    any: out; (y) by row; in a product's last step: the fraction is not 0
    """

    def __init__(self, config: GtaConfig, *, second: bool) -> None:
        self._config, self._second = config, second
        rows = data.ArrayLayout(LIMB_BITS, ROWS)
        members: dict[str, Member] = {
            "mode": In(vector_mode()),
            "words": In(8 * LEFT_WORD_BYTES),
            "bytes": In(rows),
            "high": In(1),
            "o": Out(rows),
        }
        if second:
            members |= {"begins": In(1), "any": Out(ROWS)}
        super().__init__(members)

    @property
    def config(self) -> GtaConfig:
        return self._config

    @property
    def second(self) -> bool:
        return self._second

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(LIMB_BITS, name="hidden_place")
        fraction = Signal(LIMB_BITS, name="fraction_bits")
        m.d.comb += [
            place.eq(Mux(self.high, self._of_highest(lambda bits: 1 << bits), 0)),
            fraction.eq(Mux(self.high, self._of_highest(lambda bits: (1 << bits) - 1), 0xFF)),
        ]
        low, high = (self.words.word_select(n, 8 * ROWS) for n in (0, 1))
        formats, mode = self._config.floats, self.mode
        for r in range(ROWS):
            bits = Cat(low.word_select(r, LIMB_BITS), high.word_select(r, LIMB_BITS)[:-1])
            kept = Signal(LIMB_BITS, name=f"kept_{r}")
            hidden = Signal(name=f"hidden_{r}")
            if self._second:
                kept_bits = fraction & (~mode.one).replicate(LIMB_BITS)
                has_hidden = exponent_is_any(formats, mode, bits) | mode.one
                self._gather(m, r, kept)
            else:
                kept_bits = fraction
                special = exponent_is_all(formats, mode, bits)
                has_hidden = exponent_is_any(formats, mode, bits) & ~special
            m.d.comb += [
                hidden.eq(has_hidden),
                kept.eq(self.bytes[r] & kept_bits),
                self.o[r].eq(kept | (place & hidden.replicate(LIMB_BITS))),
            ]
        return m

    def _gather(self, m: Module, r: int, kept: Value) -> None:
        found: Value = kept.any()
        if max(limbs(name) for name in self._config.floats) > 1:
            before = Signal(name=f"any_before_{r}", reset_less=True)
            found = found | (before & ~self.begins)
            m.d.sync += before.eq(found)
        m.d.comb += self.any[r].eq(found)

    def _of_highest(self, value: Callable[[int], int]) -> Value:
        """A number of the format, of the bits that the fraction has in the highest limb."""
        found: Value = C(value(LIMB_BITS - 1), LIMB_BITS)
        for name in self._config.floats:
            bits = FLOAT_FORMATS[name].fraction_bits % LIMB_BITS
            if bits != LIMB_BITS - 1:
                found = Mux(self.mode[name], C(value(bits), LIMB_BITS), found)
        return found
