"""Factors of a product, and the product, of the (x) ALU of a semiring unit."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from ...spec.formats import FloatFormat
from ..multiplier import Multiplier, joined_halves
from ..pipeline import Bundle
from .layouts import half_width

__all__ = ["multiply_in_two_steps", "round_difference", "square_exponent", "whole_products"]


def round_difference(m: Module, held: Value, squares: Value, *, bits: int) -> tuple[Value, Value]:
    """Rounds the held difference to its upper ``bits``, to nearest even; returns also whether that
    carried to the next power of two.

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


def multiply_in_two_steps(
    m: Module, a: Value, b: Value, *, partial: Value, accumulate: Value
) -> Value:
    """The product of a and b after the second step; the straight products side by side after
    the first one.

    Parameters
    ----------
    a, b: the factors, of one even width; they stand still for both steps
    partial: what the first step gave
    accumulate: the second step, in which high and low halves are multiplied across, not with
        each other, and added to ``partial``
    """
    half = len(a) // 2
    product = Signal(4 * half, name="product")
    products = {}
    for name, left, straight, crossed in (
        ("high", a[half:], b[half:], b[:half]),
        ("low", a[:half], b[:half], b[half:]),
    ):
        m.submodules[f"multiplier_{name}"] = multiplier = Multiplier(half)
        m.d.comb += [
            multiplier.a.eq(left),
            multiplier.b.eq(Mux(accumulate, crossed, straight)),
        ]
        products[name] = multiplier.o
    upper = Signal(3 * half, name="upper")
    completed = Cat(partial[:half], upper)
    m.d.comb += [
        upper.eq(partial[half:] + products["high"] + products["low"]),
        product.eq(Mux(accumulate, completed, Cat(products["low"], products["high"]))),
    ]
    return product


def whole_products(m: Module, bundle: Bundle, element: FloatFormat) -> Bundle:
    """Adds the products with both halves of a factor, ``upper_0`` and on to ``significand_0`` and
    on, where they come apart, see ``term_layout``."""
    result, half = dict(bundle), half_width(element)
    for name in [name for name in bundle if name.startswith("upper_")]:
        number = name.removeprefix("upper_")
        lower, upper = bundle[f"significand_{number}"], result.pop(name)
        product = Signal(len(lower), name=f"product_{number}")
        m.d.comb += product.eq(joined_halves(lower, upper, half))
        result[f"significand_{number}"] = product
    return result
