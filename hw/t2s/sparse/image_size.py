"""How many beats vectors take that lie one behind the other."""

from __future__ import annotations

from math import gcd

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.tokens import STEPS_BITS

__all__ = ["ImageSize"]


class ImageSize(wiring.Component):
    """Multiplies by a constant, a digit of it a cycle, and divides by a beat.

    ``beats = ceil(steps * vector_bytes / beat_bytes)``

    Parameters
    ----------
    vector_bytes: of a vector, at least 1
    beat_bytes: of a beat, a power of two

    Members
    -------
    start: pulse: count anew
    steps: the vectors
    counted: whether ``beats`` is there; some cycles behind ``start``
    beats: of the image, the last one perhaps in part
    """

    def __init__(self, vector_bytes: int, beat_bytes: int) -> None:
        common = gcd(vector_bytes, beat_bytes)
        self._vector, self._beat = vector_bytes // common, beat_bytes // common
        self._product_bits = STEPS_BITS + self._vector.bit_length()
        super().__init__(
            {
                "start": In(1),
                "steps": In(STEPS_BITS),
                "counted": Out(1),
                "beats": Out(self._product_bits - self._shift),
            }
        )

    @property
    def _shift(self) -> int:
        return self._beat.bit_length() - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        digits = Signal(self._vector.bit_length())
        total = Signal(self._product_bits, reset_less=True)
        added = Signal(self._product_bits, reset_less=True)
        m.d.comb += [self.counted.eq(digits == 0), self.beats.eq(total[self._shift :])]
        with m.If(self.start):
            # What is left over takes a beat, too.
            m.d.sync += [
                digits.eq(self._vector),
                added.eq(self.steps),
                total.eq(self._beat - 1),
            ]
        with m.Elif(~self.counted):
            m.d.sync += [
                digits.eq(digits >> 1),
                added.eq(added << 1),
                total.eq(total + Mux(digits[0], added, 0)),
            ]
        return m
