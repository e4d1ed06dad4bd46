"""Alignment of signed terms to a common window and their carry-save sum."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..pipeline import shift_right_sticky
from ..round import special_layout


class SpecialCases(wiring.Component):
    """Collects the special values of ``addend + sum(a * b)``.

    Combinational: the special cases of a fused dot product, before any finite arithmetic.

    Parameters
    ----------
    products: number of products
    operand: layout of an unpacked operand
    addend: layout of the unpacked addend

    Members
    -------
    a, b: the operands of the products
    addend: the addend
    o: see :func:`tilewright.hw.arith.round.special_layout`
    """

    verilog_parameters: ClassVar = {"OPERAND_BITS": "operand", "ADDEND_BITS": "addend"}

    def __init__(
        self, products: int, operand: data.StructLayout, addend: data.StructLayout
    ) -> None:
        self._products, self._operand, self._addend = products, operand, addend
        super().__init__(
            {
                "a": In(data.ArrayLayout(operand, products)),
                "b": In(data.ArrayLayout(operand, products)),
                "addend": In(addend),
                "o": Out(special_layout()),
            }
        )

    @property
    def products(self) -> int:
        return self._products

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._products
        invalid, infinite, sign, zero = (
            Signal(n, name=name) for name in ("invalid", "infinite", "sign", "zero")
        )
        for i in range(n):
            a, b = self.a[i], self.b[i]
            m.d.comb += [
                invalid[i].eq(a.nan | b.nan | (a.infinite & b.zero) | (a.zero & b.infinite)),
                infinite[i].eq(a.infinite | b.infinite),
                sign[i].eq(a.sign ^ b.sign),
                zero[i].eq(a.zero | b.zero),
            ]
        positive = Signal()
        negative = Signal()
        c = self.addend
        m.d.comb += [
            positive.eq((infinite & ~sign).any() | (c.infinite & ~c.sign)),
            negative.eq((infinite & sign).any() | (c.infinite & c.sign)),
            self.o.nan.eq(invalid.any() | c.nan | (positive & negative)),
            self.o.infinite.eq(positive | negative),
            self.o.negative.eq(negative),
            self.o.negative_zero.eq((zero & sign).all() & c.zero & c.sign),
        ]
        return m


class Align(wiring.Component):
    """Shifts a significand down within a window, and truncates it at the window's end.

    Combinational.

    Parameters
    ----------
    significand_bits: width of the term's significand
    window_bits: width of the window
    distance_bits: width of the distance
    coarse_first: whether large steps are before small ones

    Members
    -------
    significand: the term; with distance 0 its top bit is the window's top bit
    distance: bits to move down, unsigned; any distance is allowed
    window: the truncated term
    lost: set if a one was truncated
    """

    verilog_parameters: ClassVar = {
        "SIGNIFICAND_BITS": "significand_bits",
        "WINDOW_BITS": "window_bits",
        "DISTANCE_BITS": "distance_bits",
    }

    def __init__(
        self,
        significand_bits: int,
        window_bits: int,
        distance_bits: int,
        *,
        coarse_first: bool = False,
    ) -> None:
        self._significand_bits, self._distance_bits = significand_bits, distance_bits
        self._window_bits = window_bits
        self._coarse_first = coarse_first
        super().__init__(
            {
                "significand": In(significand_bits),
                "distance": In(distance_bits),
                "window": Out(window_bits),
                "lost": Out(1),
            }
        )

    @property
    def window_bits(self) -> int:
        return self._window_bits

    @property
    def coarse_first(self) -> bool:
        return self._coarse_first

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window, lost = shift_right_sticky(
            m,
            self.significand,
            self.distance,
            self._window_bits,
            name="moved",
            coarse_first=self._coarse_first,
        )
        m.d.comb += [self.window.eq(window), self.lost.eq(lost)]
        return m


def compress(
    m: Module, rows: Sequence[Value], ones: Sequence[Value], *, width: int, name: str
) -> tuple[Value, Value, Value]:
    """Reduce ``rows`` and the single bits ``ones`` to two rows and a carry.

    The returned ``(first, second, carry)`` have the sum of all rows and all bits, modulo
    ``2**width``. Every level turns three rows into two; each carry row leaves its lowest bit
    free, which takes one of ``ones``, and the last of them becomes ``carry``: there is room
    for ``len(rows) - 1`` of them.
    """
    if len(ones) > max(len(rows) - 1, 1):
        raise ValueError(f"`ones` must be at most {len(rows) - 1} bits, not {len(ones)}")
    waiting, level = list(ones), 0
    current = list(rows)
    while len(current) > 2:
        following: list[Value] = []
        for index in range(0, len(current) - 2, 3):
            a, b, c = current[index : index + 3]
            total = Signal(width, name=f"{name}_sum_{level}_{index // 3}")
            carry = Signal(width, name=f"{name}_carry_{level}_{index // 3}")
            majority = (a & b) | (a & c) | (b & c)
            slot = waiting.pop(0) if len(waiting) > 1 else C(0, 1)
            m.d.comb += [total.eq(a ^ b ^ c), carry.eq(Cat(slot, majority))]
            following += [total, carry]
        following += current[len(current) - len(current) % 3 :]
        current, level = following, level + 1
    current += [C(0, width)] * (2 - len(current))
    return current[0], current[1], waiting[0] if waiting else C(0, 1)


def head_bits(products: int) -> int:
    """``G`` such that ``products`` terms below 4 and one below 2 sum to less than ``2**G``."""
    return ceil(log2(4 * products + 2))


class AlignedSum(wiring.Component):
    """Aligns the products and the addend of a dot product, and adds them in carry-save form.

    Combinational. The window's lowest bit weighs ``2**(A - alignment_bits)`` with ``A`` the
    largest exponent of the terms. Every term is truncated toward zero to the window. The sum is
    relative to the addend: a product's ``negative`` says that its sign differs from the
    addend's, so that the addend itself is always added. (That spares its negation, and leaves
    just as many carry inputs as there are products.)

    Parameters
    ----------
    products: number of products
    product_bits: width of a product, whose binary point stands behind its two top bits
    addend_bits: width of the addend's significand, binary point behind the top bit
    alignment_bits: window below ``2**A``, in bits
    distance_bits: width of a distance

    Members
    -------
    significands, distances, negative: the products: value, ``A`` minus its exponent, sign
    addend, addend_distance: the same for the addend
    rows, carry: two rows and a bit whose sum modulo ``2**sum_bits`` is the signed total
    lost_positive, lost_negative: some positive (negative) term was truncated
    """

    def __init__(
        self,
        *,
        products: int,
        product_bits: int,
        addend_bits: int,
        alignment_bits: int,
        distance_bits: int,
    ) -> None:
        self._products = products
        self._product_bits = product_bits
        self._addend_bits = addend_bits
        self._alignment_bits = alignment_bits
        self._distance_bits = distance_bits
        super().__init__(
            {
                "significands": In(data.ArrayLayout(product_bits, products)),
                "distances": In(data.ArrayLayout(distance_bits, products)),
                "negative": In(products),
                "addend": In(addend_bits),
                "addend_distance": In(distance_bits),
                "rows": Out(data.ArrayLayout(self.sum_bits, 2)),
                "carry": Out(1),
                "lost_positive": Out(1),
                "lost_negative": Out(1),
            }
        )

    @property
    def sum_bits(self) -> int:
        """Width of the signed total."""
        return self._alignment_bits + head_bits(self._products) + 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window_bits = self._alignment_bits + 2
        # The addend's top bit weighs half of a product's, so it starts one place lower.
        m.submodules.align_addend = addend = Align(
            self._addend_bits, window_bits - 1, self._distance_bits
        )
        m.d.comb += [
            addend.significand.eq(self.addend),
            addend.distance.eq(self.addend_distance),
        ]
        rows: list[Value] = [addend.window]
        lost = Signal(self._products)
        for i in range(self._products):
            m.submodules[f"align_{i}"] = align = Align(
                self._product_bits, window_bits, self._distance_bits
            )
            m.d.comb += [
                align.significand.eq(self.significands[i]),
                align.distance.eq(self.distances[i]),
                lost[i].eq(align.lost),
            ]
            rows.append(self._signed_row(m, i, align.window))
        first, second, carry = compress(
            m, rows, list(self.negative), width=self.sum_bits, name="terms"
        )
        m.d.comb += [
            self.rows[0].eq(first),
            self.rows[1].eq(second),
            self.carry.eq(carry),
            self.lost_positive.eq(addend.lost | (lost & ~self.negative).any()),
            self.lost_negative.eq((lost & self.negative).any()),
        ]
        return m

    def _signed_row(self, m: Module, i: int, window: Value) -> Value:
        """Product ``i`` in ones' complement, its sign extension folded into a constant.

        A sign extension is ``-negative * 2**w``, which is ``~negative * 2**w - 2**w``. An even
        number of rows is written so; the sum of their constants fits above row 0's bits.
        """
        w = len(window)
        folded = self._products - self._products % 2
        negative = self.negative[i]
        row = Signal(self.sum_bits, name=f"row_{i}")
        ones_complement = window ^ negative.replicate(w)
        if i >= folded:
            upper: Value = negative.replicate(self.sum_bits - w)
        elif i == 0:
            constant = -folded % (1 << (self.sum_bits - w))
            upper = Cat(~negative, C(constant >> 1, self.sum_bits - w - 1))
        else:
            upper = ~negative
        m.d.comb += row.eq(Cat(ones_complement, upper))
        return row
