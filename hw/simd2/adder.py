"""One comparator and one adder for sums, differences, minima and maxima of two operands."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith.align import Align
from ..arith.unpacked import format_layout
from ..spec.formats import FloatFormat

__all__ = ["SelectingAdder"]


class SelectingAdder(wiring.Component):
    """``a + b``, ``a - b``, ``min(a, b)`` or ``max(a, b)``, normalised but not rounded.

    Combinational. The comparison that orders the magnitudes, so that the smaller operand is
    aligned and no difference is negative, also decides minimum and maximum: the chosen operand
    then passes through the adder, with nothing to add.

    A left shift by more than two places is only needed after operands of almost equal exponents
    were subtracted; such a difference is short, so the long shifts move its upper bits only.

    Parameters
    ----------
    format: format of the operands
    precision: bits of a result that can be rounded from ``significand``, at least as many as an
        operand has
    adds, selects: which kinds of operations there are

    Members
    -------
    a, b: the operands, see :func:`format_layout`
    subtract: negate b (adds)
    select, maximum: choose an operand, the larger one (selects)
    significand: ``precision`` bits from a leading one on; of a sum, a guard bit and a sticky bit
    exponent: weight of the leading one, less one; arbitrary for a zero
    sign, zero, infinite, nan: class of the result
    """

    def __init__(
        self, format: FloatFormat, *, precision: int, adds: bool = True, selects: bool = True
    ) -> None:
        self._format = format
        self._precision = precision
        self._adds = adds
        self._selects = selects
        operand = format_layout(format)
        super().__init__(
            {
                "a": In(operand),
                "b": In(operand),
                "subtract": In(1),
                "select": In(1),
                "maximum": In(1),
                "significand": Out(precision + (2 if adds else 0)),
                "exponent": Out(signed(operand["exponent"].width + 1)),
                "sign": Out(1),
                "zero": Out(1),
                "infinite": Out(1),
                "nan": Out(1),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def precision(self) -> int:
        return self._precision

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = self.a, self.b
        a_is_larger, a_first, differ = Signal(), Signal(), Signal()
        negate_b = Signal()
        select = self._select()
        m.d.comb += [
            a_is_larger.eq(self._magnitude(a) > self._magnitude(b)),
            negate_b.eq(b.sign ^ self.subtract if self._adds else b.sign),
            differ.eq(a.sign ^ negate_b),
        ]
        # Of two operands the larger magnitude is the larger number, unless it is negative.
        a_is_maximum = Mux(differ, ~a.sign, a_is_larger ^ a.sign)
        m.d.comb += a_first.eq(Mux(select, a_is_maximum ^ ~self.maximum, a_is_larger))

        bits, width = len(a.significand), len(a.exponent)
        first, second = Signal(bits), Signal(bits)
        exponent = Signal(signed(width))
        opposed = Signal()
        m.d.comb += [
            first.eq(Mux(a_first, a.significand, b.significand)),
            second.eq(Mux(a_first, b.significand, a.significand) & ~select.replicate(bits)),
            exponent.eq(Mux(a_first, a.exponent, b.exponent)),
            opposed.eq(differ & ~select),
            self.infinite.eq(Mux(a_first, a.infinite, b.infinite)),
            self.nan.eq(a.nan | b.nan | (a.infinite & b.infinite & opposed)),
        ]
        if self._adds:
            distance = Signal(width)
            m.d.comb += distance.eq(exponent - Mux(a_first, b.exponent, a.exponent))
            self._add(m, first, second, distance, exponent, opposed)
        else:
            m.d.comb += [
                self.significand.eq(Cat(C(0, self._precision - bits), first)),
                self.exponent.eq(exponent - 1),
                self.zero.eq(~first[-1]),
            ]
        # Operands of opposite signs that cancel give +0.
        m.d.comb += self.sign.eq(Mux(a_first, a.sign, negate_b) & ~(self.zero & opposed))
        return m

    def _select(self) -> Value:
        if self._adds and self._selects:
            return self.select
        return C(int(self._selects), 1)

    def _magnitude(self, operand: Value) -> Value:
        """A number that orders like the operand's magnitude."""
        exponent = operand.exponent
        return Cat(operand.significand, exponent[:-1], ~exponent[-1])

    def _add(
        self,
        m: Module,
        first: Value,
        second: Value,
        distance: Value,
        exponent: Value,
        opposed: Value,
    ) -> None:
        """Align, add or subtract, normalise."""
        bits, window = len(first), self._precision + 2
        m.submodules.align = align = Align(bits, window, len(distance))
        borrow_free = Signal()
        augend, addend = Signal(window + 1), Signal(window + 1)
        total = Signal(window + 1)
        m.d.comb += [
            align.significand.eq(second),
            align.distance.eq(distance),
            # What falls out of the window makes a difference one less, and sticky.
            borrow_free.eq(opposed & ~align.lost),
            augend.eq(Cat(borrow_free, C(0, window - bits), first)),
            addend.eq(Cat(borrow_free, align.window ^ opposed.replicate(window))),
        ]
        full = Signal(window + 2)
        m.d.comb += [
            full.eq(augend + addend),
            total.eq(Cat(full[1:-1], full[-1] & ~opposed)),
        ]
        shifted, zeros = self._normalise(m, total, bits + 2)
        m.d.comb += [
            self.significand.eq(Cat(shifted[:2].any() | align.lost, shifted[2:])),
            self.exponent.eq(exponent - zeros),
            self.zero.eq(~shifted[-1]),
        ]

    def _normalise(self, m: Module, total: Value, upper: int) -> tuple[Value, Value]:
        """The total with its leading one at the top, and how many zeros stood above it."""
        value, low = total, len(total) - upper
        counts: list[Value] = []
        for stage in reversed(range((upper - 1).bit_length())):
            step = 1 << stage
            empty = Signal(name=f"empty_{step}")
            shifted = Signal(len(total), name=f"shifted_{step}")
            start = 0 if step <= 2 else low
            moving = value[start:]
            m.d.comb += [
                empty.eq(~value[len(value) - step :].any()),
                shifted.eq(Cat(value[:start], Mux(empty, moving << step, moving))),
            ]
            counts.insert(0, empty)
            value = shifted
        return value, Cat(*counts)
