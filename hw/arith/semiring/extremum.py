"""The least or greatest of a set of floats."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Extremum", "candidate_layout"]


def candidate_layout(significand_bits: int, exponent_bits: int) -> data.StructLayout:
    """A float with a leading one at the top of its significand; a zero has none.

    The exponent of a zero or of an infinity is arbitrary.
    """
    return data.StructLayout(
        {
            "significand": significand_bits,
            "exponent": signed(exponent_bits),
            "infinite": 1,
            "sign": 1,
        }
    )


class Extremum(wiring.Component):
    """Computes IEEE 754-2019 ``minimum`` or ``maximum`` of normalised floats; -0 is less than +0.

    Combinational, a tree of ``ceil(log2(count + 1))`` comparisons; the last candidate, which may
    be wider, joins at the root.

    Parameters
    ----------
    count: number of terms
    term: layout of a term, see :func:`candidate_layout`
    last: layout of the last candidate, at least as wide

    Members
    -------
    terms, last: the candidates
    maximum: choose the greatest, not the least
    o: the chosen one, in the layout of ``last``
    """

    def __init__(self, count: int, term: data.StructLayout, last: data.StructLayout) -> None:
        self._count = count
        self._last = last
        super().__init__(
            {
                "terms": In(data.ArrayLayout(term, count)),
                "last": In(last),
                "maximum": In(1),
                "o": Out(last),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level = [self.terms[i] for i in range(self._count)]
        depth = 0
        while len(level) > 1:
            following = [
                self._better(m, level[i], level[i + 1], f"better_{depth}_{i // 2}")
                for i in range(0, len(level) - 1, 2)
            ]
            level, depth = following + level[len(level) - len(level) % 2 :], depth + 1
        m.d.comb += self.o.eq(self._better(m, self._widened(m, level[0]), self.last, "best"))
        return m

    def _widened(self, m: Module, term: Value) -> Value:
        wide = Signal(self._last, name="best_term")
        more = len(wide.significand) - len(term.significand)
        m.d.comb += [
            wide.significand.eq(Cat(C(0, more), term.significand)),
            wide.exponent.eq(term.exponent),
            wide.infinite.eq(term.infinite),
            wide.sign.eq(term.sign),
        ]
        return wide

    def _better(self, m: Module, a: Value, b: Value, name: str) -> Value:
        larger = Signal(name=f"{name}_larger")
        take_a = Signal(name=f"{name}_first")
        chosen = Signal(a.shape(), name=name)
        m.d.comb += [
            larger.eq(self._magnitude(a) > self._magnitude(b)),
            take_a.eq(Mux(a.sign ^ b.sign, ~a.sign, larger ^ a.sign) ^ ~self.maximum),
            chosen.eq(Mux(take_a, a, b)),
        ]
        return chosen

    def _magnitude(self, candidate: Value) -> Value:
        """A number that orders like the candidate's magnitude: infinity, not zero, exponent."""
        exponent, significand = candidate.exponent, candidate.significand
        return Cat(
            significand[:-1], exponent[:-1], ~exponent[-1], significand[-1], candidate.infinite
        )
