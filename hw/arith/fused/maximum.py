"""The largest exponent of a set of terms."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ExponentMaximum"]


class ExponentMaximum(wiring.Component):
    """Finds the largest exponent among the terms that count.

    Combinational, a tree of ``ceil(log2(count))`` comparisons.

    Parameters
    ----------
    count: number of exponents
    exponent_bits: width of an exponent, two's complement

    Members
    -------
    exponents: the exponents
    ignore: a bit for each; set for a term that is zero
    maximum: the largest exponent not ignored; the most negative number if all are
    """

    def __init__(self, count: int, exponent_bits: int) -> None:
        self._count = count
        self._exponent_bits = exponent_bits
        super().__init__(
            {
                "exponents": In(data.ArrayLayout(signed(exponent_bits), count)),
                "ignore": In(count),
                "maximum": Out(signed(exponent_bits)),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lowest = -(1 << (self._exponent_bits - 1))
        level = []
        for i in range(self._count):
            candidate = Signal(signed(self._exponent_bits), name=f"candidate_{i}")
            m.d.comb += candidate.eq(Mux(self.ignore[i], lowest, self.exponents[i]))
            level.append(candidate)
        depth = 0
        while len(level) > 1:
            following = []
            for i in range(0, len(level) - 1, 2):
                larger = Signal(signed(self._exponent_bits), name=f"larger_{depth}_{i // 2}")
                first, second = level[i], level[i + 1]
                m.d.comb += larger.eq(Mux(first > second, first, second))
                following.append(larger)
            level, depth = following + level[len(level) - len(level) % 2 :], depth + 1
        m.d.comb += self.maximum.eq(level[0])
        return m
