"""Squared differences: the difference is rounded to the operands' precision, then squared."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

__all__ = ["round_difference", "square_exponent"]


def round_difference(m: Module, held: Value, squares: Value, *, bits: int) -> tuple[Value, Value]:
    """The upper ``bits`` of what is held, to nearest even; and whether that carried to the next
    power of two.

    Parameters
    ----------
    held: a difference, its leading one at the top, or something else, which is cut
    squares: it is a difference
    bits: significand bits of an operand, at least one less than ``held`` has
    """
    kept = held[-bits:]
    half, low = held[-bits - 1], held[: -bits - 1].any()
    increment = Signal(name="difference_increment")
    rounded = Signal(bits + 1, name="difference")
    m.d.comb += [
        increment.eq(half & (low | kept[0]) & squares),
        rounded.eq(kept + increment),
    ]
    # All ones round up to the next power of two, whose lower bits are zero already.
    return Cat(rounded[: bits - 1], rounded[bits - 1] | rounded[-1]), rounded[-1]


def square_exponent(m: Module, exponent: Value, squares: Value, carry: Value) -> Value:
    """The exponent of a square, from that of the difference; any other as it is.

    Parameters
    ----------
    exponent: weight of a difference's leading one, less one
    squares: it is that of a difference
    carry: the difference was rounded to the next power of two
    """
    root = Signal.like(exponent, name="root_exponent")
    # One adder: the carry enters below the lowest bit.
    m.d.comb += root.eq((Cat(carry, exponent) + Cat(carry, C(1, len(exponent))))[1:])
    return Mux(squares, root.shift_left(1), exponent)
