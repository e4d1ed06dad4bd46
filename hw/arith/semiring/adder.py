"""One adder for sums, differences, minima and maxima of two operands, once they are compared."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat
from ..fused.aligned_sum import Align
from ..pipeline import count_leading_zeros
from ..unpack import format_layout


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


class SelectingAdder(wiring.Component):
    """Computes ``a + b``, ``a - b`` or one of a and b, normalised but not rounded.

    Combinational, or with a stage of registers behind the alignment, which have no reset and move
    only while ``advance`` is set. Which operand comes first is decided beforehand: the larger
    magnitude of a sum, so that the smaller one is aligned and no difference is negative; of a
    minimum or maximum the result, which passes through the adder with nothing to add. Two factors
    pass through it side by side, the second one aligned to stand behind the first.

    A left shift by more than two places is only needed after operands of almost equal exponents
    were subtracted; such a difference is short, so the long shifts move its upper bits only.

    Parameters
    ----------
    format: format of the operands
    precision: bits of a result that can be rounded from ``significand``, at least as many as an
        operand has
    adds: whether there are sums and differences, or only choices
    register: whether there is a register stage

    Members
    -------
    a, b: the operands, see :func:`format_layout`
    advance: (register) enables the registers
    a_first: the order of the operands
    subtract: negate b
    select: the result is the first operand
    pair: both significands side by side, in any order; needs ``precision`` enough
    significand: ``precision`` bits from a leading one on; of a sum, a guard bit and a sticky bit
    exponent: weight of the leading one, less one; arbitrary for a zero
    sign, infinite, nan: class of the result
    """

    def __init__(
        self, format: FloatFormat, *, precision: int, adds: bool = True, register: bool = False
    ) -> None:
        self._format = format
        self._precision = precision
        self._adds, self._register = adds, register
        operand = format_layout(format)
        members = {
            "a": In(operand),
            "b": In(operand),
            "a_first": In(1),
            "significand": Out(precision + (2 if adds else 0)),
            "exponent": Out(signed(operand["exponent"].width + 1)),
            "sign": Out(1),
            "infinite": Out(1),
            "nan": Out(1),
        }
        if adds:
            members |= {"subtract": In(1), "select": In(1), "pair": In(1)}
        if register:
            members["advance"] = In(1)
        super().__init__(members)

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def precision(self) -> int:
        return self._precision

    @property
    def adds(self) -> bool:
        return self._adds

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, a_first = self.a, self.b, self.a_first
        bits, width = len(a.significand), len(a.exponent)
        first = Signal(bits)
        exponent = Signal(signed(width))
        m.d.comb += [
            first.eq(Mux(a_first, a.significand, b.significand)),
            exponent.eq(Mux(a_first, a.exponent, b.exponent)),
            self.infinite.eq(self._behind(m, "infinite", Mux(a_first, a.infinite, b.infinite))),
        ]
        if not self._adds:
            chosen = self._behind(m, "chosen", first)
            m.d.comb += [
                self.significand.eq(Cat(C(0, self._precision - bits), chosen)),
                self.exponent.eq(self._behind(m, "exponent", exponent) - 1),
                self.nan.eq(self._behind(m, "nan", a.nan | b.nan)),
                self.sign.eq(self._behind(m, "sign", Mux(a_first, a.sign, b.sign))),
            ]
            return m
        second = Signal(bits)
        distance = Signal(width)
        negate_b = Signal()
        opposed = Signal()
        # Both, so that the order selects between them and need not wait for a subtraction.
        behind = Mux(a_first, a.exponent - b.exponent, b.exponent - a.exponent)
        m.d.comb += [
            second.eq(
                (b.significand & (a_first & ~self.select).replicate(bits))
                | (a.significand & ~(a_first | self.select).replicate(bits))
            ),
            distance.eq(Mux(self.pair, bits, behind)),
            negate_b.eq(b.sign ^ self.subtract),
            opposed.eq((a.sign ^ negate_b) & ~(self.select | self.pair)),
        ]
        nan = a.nan | b.nan | (a.infinite & b.infinite & opposed)
        sign = self._behind(m, "sign", Mux(a_first, a.sign, negate_b))
        cancels = self._add(m, first, second, distance, exponent, opposed)
        m.d.comb += [
            self.nan.eq(self._behind(m, "nan", nan)),
            # Operands of opposite signs that cancel give +0.
            self.sign.eq(sign & ~cancels),
        ]
        return m

    def _behind(self, m: Module, name: str, value: Value) -> Value:
        """The value behind the register stage, if there is one."""
        if not self._register:
            return value
        register = Signal.like(value, name=f"aligned_{name}", reset_less=True)
        with m.If(self.advance):
            m.d.sync += register.eq(value)
        return register

    def _add(
        self,
        m: Module,
        first: Value,
        second: Value,
        distance: Value,
        exponent: Value,
        opposed: Value,
    ) -> Value:
        """Align, add or subtract, normalise; returns whether a difference is zero.

        Of a difference the upper bits have their borrow from whether anything lies below them,
        so that they need not wait for the lower bits.
        """
        bits, window = len(first), self._precision + 2
        m.submodules.align = align = Align(bits, window, len(distance))
        lower = window - bits
        below = Signal()
        borrow_free = Signal()
        carry = Signal()
        signed_window = Signal(window)
        low = Signal(lower)
        high = Signal(bits + 1)
        m.d.comb += [align.significand.eq(second), align.distance.eq(distance)]
        aligned, lost = self._behind(m, "window", align.window), self._behind(m, "lost", align.lost)
        first, opposed = self._behind(m, "first", first), self._behind(m, "opposed", opposed)
        m.d.comb += [
            signed_window.eq(aligned ^ opposed.replicate(window)),
            # Bits lost below the window make a difference one less, and sticky.
            borrow_free.eq(opposed & ~lost),
            low.eq(signed_window[:lower] + borrow_free),
            below.eq(aligned[:lower].any() | lost),
            carry.eq(opposed & ~below),
        ]
        sums = Signal(bits + 2)
        total = Signal(window + 1)
        m.d.comb += [
            sums.eq(Cat(carry, first) + Cat(carry, signed_window[lower:])),
            high.eq(Cat(sums[1:-1], sums[-1] & ~opposed)),
            total.eq(Cat(low, high)),
        ]
        shifted, zeros = self._normalise(m, total, bits + 2)
        m.d.comb += [
            self.significand.eq(Cat(shifted[:2].any() | lost, shifted[2:])),
            self.exponent.eq(self._behind(m, "exponent", exponent) - zeros),
        ]
        return ~shifted[-1] & opposed

    def _normalise(self, m: Module, total: Value, upper: int) -> tuple[Value, Value]:
        """The total with its leading one at the top, and how many zeros stood above it."""
        value, low = total, len(total) - upper
        zeros = count_leading_zeros(m, total[low:], name="zeros")
        for stage in reversed(range(len(zeros))):
            step = 1 << stage
            shifted = Signal(len(total), name=f"shifted_{step}")
            start = 0 if step <= 2 else low
            moving = value[start:]
            moved = moving.shift_left(step)[: len(moving)]
            m.d.comb += shifted.eq(Cat(value[:start], Mux(zeros[stage], moved, moving)))
            value = shifted
        return value, zeros
